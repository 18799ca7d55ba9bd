"""Words of a shell script after its expansions: variables, arithmetic, tests, and what commands print where that is known."""

import fnmatch
import operator as op
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from advisor.jobs.scripts.grammar import parsed

if TYPE_CHECKING:
    from tree_sitter import Node


_OPEN, _CLOSE = "\ue000", "\ue001"
"""What is not known stands between these in a text, by its name; a script's own are taken out when it is read."""

_UNKNOWN = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def unknown(name: str) -> str:
    """Return what stands in a text for something that is not known."""
    return f"{_OPEN}{cleaned(name)}{_CLOSE}"


def cleaned(text: str) -> str:
    """Return a text without the signs by which unknown parts are known."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def is_known(text: str) -> bool:
    """Whether nothing in a text is unknown."""
    return _OPEN not in text


def names_in(text: str) -> list[str]:
    """Return the names of what is not known in a text."""
    return _UNKNOWN.findall(text)


def unknown_name(text: str) -> str | None:
    """Return the name of a text that is not known and nothing else; None of any other."""
    found = _UNKNOWN.fullmatch(text)
    return found[1] if found else None


def shown(text: str) -> str:
    """Return a text for a page: what is not known as the shell has it, $NAME."""

    def as_written(match: re.Match[str]) -> str:
        name = match[1]
        if re.fullmatch(r"\w+|[@*#?$!-]", name):
            return f"${name}"
        return f"${{{name}}}" if re.fullmatch(r"#?\w+\[[^]]*\]", name) else f"$({name})"

    return _UNKNOWN.sub(as_written, text)


def whole(text: str | None) -> int | None:
    """Return the number that a text is, None of anything else."""
    match = re.fullmatch(r"\s*([+-]?\d{1,12})\s*", text or "", re.ASCII)
    return int(match[1]) if match else None


@dataclass(frozen=True)
class Span:
    """A part of a script: its bytes, and the line that it begins in."""

    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Word:
    """A word of a command, after the shell's expansions."""

    text: str
    span: Span
    literal: bool = True
    """Whether the script has it as it is, so that another can be written where it stands."""
    variable: str | None = None
    """The variable that it comes from, where it is one's value whole or a part of it."""
    quoted: bool = False
    others: tuple[str, ...] = ()
    """What it is instead where its variable is set: branches differ."""


class Several(str):
    """An element of an array that may be several, or none: what a command prints, files that fit a pattern."""

    __slots__ = ()


@dataclass
class Variable:
    """A variable of the shell."""

    text: str
    exported: bool = False
    span: Span | None = None
    """Where it was set; None of one that the scheduler or the caller's shell gave."""
    others: tuple[str, ...] = ()
    """What it may be instead, where branches set it differently."""


@dataclass(frozen=True)
class Launch:
    """A command that starts ranks, or may."""

    words: tuple[Word, ...]
    """From the launcher on."""
    span: Span
    """The command with all before the launcher."""
    variables: Mapping[str, str]
    """What is exported to it."""
    plain: Mapping[str, tuple[str, Span | None]]
    """What is set and not exported."""
    before: tuple[str, ...] = ()
    """Words between the command's begin and the launcher: time, numactl, singularity exec x.sif."""
    beside: tuple[int, ...] = ()
    """Positions of launches that still run in the background."""
    background: bool = False
    repeated: bool = False
    """Whether it stands in a loop."""
    when: tuple[str, ...] = ()
    """The conditions that it stands under, as the script has them."""
    substituted: bool = False
    """Whether its output is what counts: x=$(srun hostname)."""
    turn: int = 0
    nested: bool = False
    """Whether it stands in a text of the script, such as sh -c's, whose places are not the script's."""

    @property
    def line(self) -> int:
        """The line that it begins in."""
        return self.span.line


@dataclass
class Script:
    """What reading a script found."""

    launches: list[Launch] = field(default_factory=list)
    modules: list[tuple[str, int]] = field(default_factory=list)
    """What is loaded (module, spack), with the line."""
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Files that it writes with a here document: their text, and the line where that begins."""
    sourced: list[tuple[str, int]] = field(default_factory=list)
    """Scripts that it reads or starts and that are not followed."""
    assigned: dict[str, list[tuple[str, Span, bool]]] = field(default_factory=dict)
    """What variables are set to, where, and whether they were exported then."""
    used: set[str] = field(default_factory=set)
    """Variables whose value is asked for."""
    bare: dict[str, list[Span]] = field(default_factory=dict)
    """Variables that are not set, and where their value is asked for without saying what stands for it."""
    commands: list[tuple[tuple[Word, ...], Span]] = field(default_factory=list)
    """Every other command."""
    odd_exports: list[tuple[str, str, Span]] = field(default_factory=list)
    """Words of an export that a blank cut off: the variable, the word, the place of both."""
    broken: int | None = None
    """The first line that the grammar does not know; None if it knows all."""
    exported: dict[str, str] = field(default_factory=dict)
    """What is exported at its end."""
    comments: list[str] = field(default_factory=list)
    uses_gpus: bool | None = None
    """Whether its modules and commands look as if GPUs were used; None before anybody looked."""
    abandoned: tuple[int, int] | None = None
    """Of steps that still run in the background when it ends: the last one's position among launches, and the byte where the
    statement ends that starts it; None if it waits for them, or may."""
    submitted: set[str] = field(default_factory=set)
    """Files that are handed to a scheduler."""


FIELDS = re.compile("(?:\ue000[^\ue001]*\ue001|[^\\s\ue000\ue001])+")
_NODEFILES = words("PBS_NODEFILE LSB_DJOB_HOSTFILE LSB_HOSTFILE PE_HOSTFILE OAR_NODEFILE COBALT_NODEFILE")


def is_node_file(text: str) -> bool:
    """Whether a text is the name of the file in which a job's slots stand."""
    return text in [unknown(name) for name in _NODEFILES]


class Expander(ABC):
    """Expands words by the variables that are known so far; `script` keeps what was asked for."""

    text: bytes
    line: int
    start: int
    variables: dict[str, Variable]
    arrays: dict[str, list[str] | None]
    sizes: Mapping[str, int | None]
    script: Script
    node_files: set[str]
    """Files that the node file was copied to."""
    last_background = -1
    substituted = 0
    shown_only = False
    """Whether a word is only printed."""

    @abstractmethod
    def inside(self, node: "Node") -> None:
        """Follow the statements in a node."""

    @abstractmethod
    def apart(self, action: Callable[[], None]) -> None:
        """Follow something in a shell of its own."""

    def put(self, name: str, text: str, node: "Node", *, exported: bool = False) -> str:
        """Set a variable; return its name."""
        before = self.variables.get(name)
        span = self.span(node)
        exported = exported or bool(before and before.exported)
        self.variables[name] = Variable(text, exported=exported, span=span)
        self.script.assigned.setdefault(name, []).append((text, span, exported))
        return name

    def words_of(self, node: "Node") -> list[Word]:
        """Return the words that an argument becomes: none, one or several."""
        span = self.span(node)
        if node.type == "brace_expression":
            return [Word(text, span, literal=False) for text in self._braces(node)]
        if (each := _EACH.fullmatch(self.source(node).strip())) and (items := self.arrays.get(each[1])) is not None:
            self.script.used.add(each[1])
            return [Word(text, span, literal=False, variable=each[1], quoted=True) for text in items]
        pieces = self.pieces(node)
        literal = all(piece[2] for piece in pieces)
        names = [self.source(each) for each in within(node, ("variable_name",))]
        variable = names[0] if len(names) == 1 and node.type in ("simple_expansion", "expansion", "string") else None
        result: list[str] = []
        is_open = False
        quoted = False
        for text, splits, _ in pieces:
            if not splits:
                quoted = True
                if is_open:
                    result[-1] += text
                else:
                    result.append(text)
                is_open = True
                continue
            parts = FIELDS.findall(text)
            if text[:1].isspace():
                is_open = False
            for at, part in enumerate(parts):
                if is_open and at == 0:
                    result[-1] += part
                else:
                    result.append(part)
                is_open = True
            if text[-1:].isspace():
                is_open = False
        held = self.variables.get(variable or "")
        others = held.others if held and not is_known(held.text) else ()
        return [Word(text, span, literal=literal, variable=variable, quoted=quoted, others=others) for text in result]

    def text_of(self, node: "Node | None") -> str:
        """Return the text of a value, which is not split."""
        return "" if node is None else "".join(text for text, _, _ in self.pieces(node))

    def pieces(self, node: "Node", *, quoted: bool = False) -> list[tuple[str, bool, bool]]:  # noqa: C901, PLR0912 - a case a kind of node
        """Return what a node's text is made of: each text, whether it is split at blanks, whether the script has it so."""
        kind = node.type
        source = self.source(node)
        if kind in _PLAIN:
            if any(child.type in ("expansion", "simple_expansion") for child in node.children):
                return [(self.with_expansions(node), False, False)]
            return [(re.sub(r"\\(.)", r"\1", source.replace("\\\n", ""), flags=re.DOTALL), False, True)]
        if kind == "raw_string":
            return [(source[1:-1], False, True)]
        if kind == "ansi_c_string":
            return [(source[2:-1], False, True)]
        if kind in ("string", "translated_string"):
            inner = self.with_expansions(node)
            return [(inner, False, not any(child.is_named and child.type != "string_content" for child in node.children))]
        if kind in ("concatenation", "command_name"):
            return [piece for child in node.children for piece in self.pieces(child, quoted=quoted)]
        if kind == "simple_expansion":
            self._here = self.span(node)
            return [(self._value(source.strip()[1:]), not quoted, False)]
        if kind == "expansion":
            return [(self._expansion(node), not quoted, False)]
        if kind == "arithmetic_expansion":
            return [(self._calculated_node(node), not quoted, False)]
        if kind == "command_substitution" and source.startswith("$((") and source.endswith("))"):  # inside ${...:-...}
            return [(self.calculated(source[3:-2]), not quoted, False)]
        if kind == "command_substitution":
            return [(self._substitution(node), not quoted, False)]
        if kind == "brace_expression":
            return [(" ".join(self._braces(node)), True, False)]
        if kind == "process_substitution":
            return [(unknown(source[:40]), False, False)]
        return [(source, False, True)]

    def with_expansions(self, node: "Node", *, keep: bool = False) -> str:
        """Return the text of a string or a here document with its expansions; ``keep``: what is not known stays as it is."""
        children = [child for child in node.children if child.type in _EXPANDED]
        at, end = node.start_byte, node.end_byte
        if node.type == "translated_string":
            at += 1
        if node.type in ("string", "translated_string"):
            at, end = at + 1, end - 1
        if node.type == "string" and self.text[node.start_byte : node.start_byte + 1] == b"$":
            at += 1
        found = ""
        for child in children:
            raw = self.source(child)
            blank = len(raw) - len(raw.lstrip())
            found += _unescaped(self.text[at : child.start_byte + blank].decode(errors="replace"))
            value = "".join(text for text, _, _ in self.pieces(child, quoted=True))
            found += raw.strip() if keep and not is_known(value) else value
            at = child.end_byte
        return found + _unescaped(self.text[at:end].decode(errors="replace"))

    def _value(self, name: str) -> str:
        """Return the value of $NAME."""
        self.script.used.add(name)
        if name in ("@", "*", "#", "?", "$", "-", "0"):
            return unknown(name)
        if name == "!":
            return unknown(f"!{self.last_background}")
        found = self.variables.get(name)
        if found is None:
            if not self.nested and not self.shown_only and self._here not in self.script.bare.setdefault(name, []):
                self.script.bare[name].append(self._here)
            return unknown(name)
        return found.text

    braces: Sequence[int] = ()
    """Where braces were put in that the script does not have."""
    _here = Span(0, 0, 0)
    """The place of the variable that is looked at now."""
    nested = False
    """Whether the text is a part of another, so that its places are not places of the script."""

    def _expansion(self, node: "Node") -> str:  # noqa: C901 - a case an operator
        """Return the value of ${...}."""
        self._here = self.span(node)
        source = self.source(node).strip()
        named = [child for child in node.children if child.type in ("variable_name", "special_variable_name", "subscript")]
        if not named:
            return unknown(source.strip("${}")[:40])
        name = self.source(named[0])
        operator = next((child.type for child in node.children if child.type in _OPERATORS), "")
        if named[0].type == "subscript":
            return self._element(named[0], source)
        if source.startswith("${#"):
            value = self._value(name)
            return str(len(value)) if is_known(value) else unknown(f"#{name}")
        if source.startswith("${!"):
            return unknown(name)
        if not operator:
            return self._value(name)
        behind = [
            child for child in node.children if child.start_byte > named[0].end_byte and child.type not in (_OPERATORS | {"}"})
        ]
        word = "".join(self.text_of(child) for child in behind)
        self.script.used.add(name)
        found = self.variables.get(name)
        there = found is not None and found.text != ""
        if operator in (":-", "-", ":=", "="):
            if there and found:
                return found.text
            if operator in (":=", "="):
                self.put(name, word, node)
            return word
        if operator in (":+", "+"):
            return word if there else ""
        if found is None or not is_known(found.text):
            return self._value(name) if operator in (":?", "?") else unknown(name)
        if operator in ("%", "%%", "#", "##") and is_known(word):
            return _trimmed(found.text, operator, word)
        return found.text if operator in (":?", "?") else unknown(name)

    def _element(self, node: "Node", source: str) -> str:
        name = self.source(node.child_by_field_name("name"))
        index = self.source(node.child_by_field_name("index"))
        self.script.used.add(name)
        items = self.arrays.get(name)
        if items is None:
            return unknown(f"{name}[{index}]")
        certain = next((at for at, item in enumerate(items) if isinstance(item, Several)), len(items))
        if index in ("@", "*"):
            if not source.startswith("${#"):
                return " ".join(items)
            hosts = len(items) == 1 and "scontrol show hostname" in items[0]
            size = str(len(items)) if certain == len(items) else self._size("nodes") if hosts else None
            return size or unknown(f"#{name}[@]")
        number = self.arithmetic(node.child_by_field_name("index"))
        low = -len(items) if certain == len(items) else 0
        return items[number] if number is not None and low <= number < certain else unknown(f"{name}[{index}]")

    def _braces(self, node: "Node") -> list[str]:
        numbers = [whole(self.source(child)) for child in node.children if child.type == "number"]
        if len(numbers) == 2 and None not in numbers:
            first, last = numbers[0] or 0, numbers[1] or 0
            if abs(last - first) < 1000:
                return [str(each) for each in (range(first, last + 1) if last >= first else range(first, last - 1, -1))]
        return [self.source(node)]

    # arithmetic and tests

    def _calculated_node(self, node: "Node") -> str:
        inner = [child for child in node.children if child.is_named]
        value = self.arithmetic(inner[0]) if len(inner) == 1 else None
        if value is not None:
            return str(value)
        text = self.with_expansions(node).strip()
        text = text.removeprefix("$((").removeprefix("$[").removesuffix("))").removesuffix("]").strip()
        return unknown(re.sub("[\ue000\ue001]", "", text)[:60])

    def calculated(self, text: str) -> str:
        """Return the value of an expression that is text."""
        if not is_known(text):
            return unknown(re.sub("[\ue000\ue001]", "", text)[:60])
        value = self._of_text(text)
        return str(value) if value is not None else unknown(text[:60])

    def _of_text(self, text: str) -> int | None:
        tree = parsed(f"$(({text}))".encode())
        found = next(within(tree.root_node, ("arithmetic_expansion",)), None)
        inner = [child for child in found.children if child.is_named] if found else []
        if len(inner) != 1:
            return None
        kept, self.text = self.text, f"$(({text}))".encode()
        try:
            return self.arithmetic(inner[0])
        finally:
            self.text = kept

    def arithmetic(self, node: "Node | None") -> int | None:  # noqa: C901 - a case a kind of node
        """Return the value of an arithmetic expression; None where something in it is not known."""
        if node is None:
            return None
        kind = node.type
        if kind == "number":
            return _integer(self.source(node))
        if kind in ("variable_name", "word"):
            name = self.source(node)
            self._here = self.span(node)
            return _integer(name) if name[:1].isdigit() else self._number_of(name)
        if kind in ("simple_expansion", "expansion", "string", "command_substitution", "concatenation", "arithmetic_expansion"):
            text = self.text_of(node)
            return self._of_text(text) if is_known(text) and not text.strip().isdigit() and text.strip() else whole(text)
        if kind in ("parenthesized_expression", "test_command", "compound_statement"):
            inner = [child for child in node.children if child.is_named]
            return self.arithmetic(inner[0]) if len(inner) == 1 else None
        if kind == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            operator = self.source(node.child_by_field_name("operator"))
            if operator.endswith("=") and operator not in ("==", "!=", "<=", ">="):
                return self._arithmetic_assign(left, operator, right)
            one, other = self.arithmetic(left), self.arithmetic(right)
            return None if one is None or other is None else _calculate(one, operator, other)
        if kind == "variable_assignment":
            return self._arithmetic_assign(node.child_by_field_name("name"), "=", node.child_by_field_name("value"))
        if kind == "unary_expression":
            operand = next((child for child in node.children if child.is_named and child.type != "test_operator"), None)
            value = self.arithmetic(operand)
            sign = self.source(node.children[0])
            return None if value is None else {"-": -value, "+": value, "!": int(not value), "~": ~value}.get(sign)
        if kind == "postfix_expression":
            name = self.source(node.children[0])
            value = self._number_of(name)
            new = None if value is None else value + (1 if self.source(node).endswith("++") else -1)
            self.put(name, unknown(name) if new is None else str(new), node)
            return value
        if kind == "ternary_expression":
            value = self.arithmetic(node.child_by_field_name("condition"))
            if value is None:
                return None
            return self.arithmetic(node.child_by_field_name("consequence" if value else "alternative"))
        return None

    def _arithmetic_assign(self, target: "Node | None", operator: str, value: "Node | None") -> int | None:
        name, number = self.source(target), self.arithmetic(value)
        if operator != "=" and number is not None:
            before = self._number_of(name)
            number = None if before is None else _calculate(before, operator[:-1], number)
        if target is not None:
            self.put(name, unknown(name) if number is None else str(number), target)
        return number

    def _number_of(self, name: str) -> int | None:
        text = self._value(name)
        return _integer(text) if is_known(text) else None

    def holds(self, node: "Node") -> bool | None:
        """Return whether a condition holds, None where that is not known."""
        kind = node.type
        if kind in ("test_command", "parenthesized_expression"):
            inner = [child for child in node.children if child.is_named]
            if not (node.children and node.children[0].type == "(("):
                return self.holds(inner[0]) if len(inner) == 1 else None
            kind = "compound_statement"
        if kind == "compound_statement":
            value = self.arithmetic(next((child for child in node.children if child.is_named), None))
            return None if value is None else bool(value)
        if kind == "unary_expression":
            return self._holds_unary(node)
        if kind == "negation_expression":
            holds = self.holds(node.children[-1])
            return None if holds is None else not holds
        if kind == "binary_expression":
            return self._holds_binary(node)
        return None

    def _holds_unary(self, node: "Node") -> bool | None:
        operator, operand = self.source(node.children[0]), node.children[-1]
        if operator == "!":
            inner = self.holds(operand)
            return None if inner is None else not inner
        if operator not in ("-n", "-z"):
            return None
        name = next((self.source(each) for each in within(operand, ("variable_name",))), None)
        if name:
            self.script.used.add(name)
        if name and name not in self.variables:
            return None
        text = self.text_of(operand)
        return None if not is_known(text) else (text != "") == (operator == "-n")

    def _holds_binary(self, node: "Node") -> bool | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = self.source(node.child_by_field_name("operator"))
        if left is None or right is None:
            return None
        if operator in ("&&", "||", "-a", "-o"):
            one, other = self.holds(left), self.holds(right)
            either = operator in ("||", "-o")
            if one is either or other is either:
                return either
            return None if one is None or other is None else not either
        one_text, other_text = self.text_of(left), self.text_of(right)
        if not (is_known(one_text) and is_known(other_text)):
            return None
        if operator in ("=", "==", "!="):
            return (one_text == other_text or fnmatch.fnmatchcase(one_text, other_text)) == (operator != "!=")
        names = {"-eq": "==", "-ne": "!=", "-lt": "<", "-gt": ">", "-le": "<=", "-ge": ">="}
        if operator in names or operator in names.values():
            first, second = whole(one_text), whole(other_text)
            return None if first is None or second is None else bool(_calculate(first, names.get(operator, operator), second))
        return None

    # what commands print

    def _substitution(self, node: "Node") -> str:
        """Return what a command prints, where that is known; launches in it are found too."""
        self.substituted += 1
        first = len(self.script.commands)
        self.apart(lambda: self.inside(node))
        del self.script.commands[first:]
        self.substituted -= 1
        found = self._printed(node)
        source = " ".join(self.source(node).strip("`").removeprefix("$(").removesuffix(")").split())
        return found if found is not None else unknown(source[:60])

    def _printed(self, node: "Node") -> str | None:
        stages = self._stages(node)
        words = [[word.text for word in stage] for stage in stages]
        if not words or not words[0]:
            return None
        flat = [word for stage in words for word in stage]
        programs = [stage[0].rpartition("/")[2] if stage else "" for stage in words]
        counted = any(stage[:1] == ["wc"] and any(re.fullmatch(r"-\w*l\w*", word) for word in stage) for stage in words)
        node_file = any(is_node_file(word) or word in self.node_files for word in flat) or any(
            name in self.source(node) for name in _NODEFILES
        )
        named = programs[0] == "scontrol" and any(word.startswith("hostname") for word in flat)
        if (node_file or named) and counted:
            unique = named or any(stage[0] == "uniq" or (stage[0] == "sort" and "-u" in stage) for stage in words if stage)
            return self._size("nodes" if unique else "slots")
        if node_file and any(stage[0] == "uniq" and "-c" in stage for stage in words if stage) and "head" in programs:
            return self._size("per_node")
        if node_file and any("NR" in word for word in flat) and "sort" not in programs and "uniq" not in programs:
            return None
        if programs[0] == "echo" and len(words) == 1:
            return " ".join(word for word in words[0][1:] if word != "-n")
        if programs[0] == "echo" and programs[-1] == "bc" and len(words) == 2:
            expression = " ".join(words[0][1:])
            value = self._of_text(expression) if re.fullmatch(r"[\d\s*+/()-]+", expression) else None
            return None if value is None or ("/" in expression and "-l" in words[1]) else str(value)
        if programs[0] == "expr" and len(words) == 1:
            return self.calculated(" ".join(words[0][1:])) if len(words[0]) > 3 else None
        if programs[0] == "seq" and len(words) == 1 and all(whole(word) is not None for word in words[0][1:]):
            return _sequence([whole(word) or 0 for word in words[0][1:]])
        if programs[:1] == ["flux"] and "{nnodes}" in flat:
            return self._size("nodes")
        return None

    def _size(self, name: str) -> str | None:
        value = self.sizes.get(name)
        return unknown(f"{name} of the job") if value is None else str(value)

    def _stages(self, node: "Node") -> list[list[Word]]:
        """Return the words of each command of a pipeline, node files named by <."""
        inner = [child for child in node.children if child.is_named]
        if len(inner) != 1:
            return []
        stages: list[list[Word]] = []
        for each in inner[0].children if inner[0].type == "pipeline" else inner:
            if not each.is_named:
                continue
            body = each
            while body.type == "redirected_statement":
                body = body.child_by_field_name("body") or body.children[0]
            if body.type != "command":
                return []
            words: list[Word] = []
            for child in body.children:
                if child.is_named and not child.type.endswith("redirect") and child.type != "variable_assignment":
                    words += self.words_of(child.children[0] if child.type == "command_name" and child.children else child)
            stages.append(words)
        return stages

    def source(self, node: "Node | None") -> str:
        """Return the text of a node as the script has it."""
        return "" if node is None else self.text[node.start_byte : node.end_byte].decode(errors="replace")

    def span(self, node: "Node") -> Span:
        """Return where a node stands in the script."""
        line = self.line + 1 if self.nested else self.line + node.start_point[0] + 1
        start, end = (at - bisect_left(self.braces, at) for at in (node.start_byte, node.end_byte))
        return Span(self.start + start, self.start + end, line)


_EACH = re.compile(r'"\$\{(\w+)\[@\]\}"', re.ASCII)
"""Every element of an array, each as a word."""
_PLAIN = words("word number variable_name extglob_pattern regex file_descriptor test_operator special_variable_name")
_EXPANDED = ("expansion", "simple_expansion", "command_substitution", "arithmetic_expansion")
_OPERATORS = words(":- - := = :+ + :? ? % %% # ## / // /# /% ^ ^^ , ,, @ :")


def _unescaped(text: str) -> str:
    r"""Return a part of a double-quoted string: \$ is $, a backslash before the line's end joins lines."""
    return re.sub(r"\\([$`\"\\\n])", lambda match: "" if match[1] == "\n" else match[1], text)


def _trimmed(text: str, operator: str, pattern: str) -> str:
    pattern = re.sub(r"\\(.)", r"\1", pattern)
    ends = range(len(text) + 1)
    cuts = [text[at:] for at in ends] if operator[0] == "%" else [text[:at] for at in ends]
    fitting = [cut for cut in cuts if fnmatch.fnmatchcase(cut, pattern)]
    if not fitting:
        return text
    cut = max(fitting, key=len) if len(operator) == 2 else min(fitting, key=len)
    return text[: len(text) - len(cut)] if operator[0] == "%" else text[len(cut) :]


def _integer(text: str) -> int | None:
    text = text.strip()
    match = re.fullmatch(r"([+-]?)(0[xX][0-9a-fA-F]{1,16}|\d{1,15})", text, re.ASCII)
    if not match:
        return None
    digits = match[2]
    value = int(digits, 16) if digits[:2].lower() == "0x" else int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits)
    return -value if match[1] == "-" else value


def _calculate(one: int, operator: str, other: int) -> int | None:
    if operator in ("/", "%"):
        if other == 0:
            return None
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return quotient if operator == "/" else one - quotient * other
    if operator in ("**", "<<", ">>"):
        if not 0 <= other <= 64 or abs(one) > 1 << 62:
            return None
        return one**other if operator == "**" and abs(one) < 1 << 16 else one << other if operator == "<<" else one >> other
    if operator in ("&&", "||"):
        return int(bool(one and other) if operator == "&&" else bool(one or other))
    return int(_CALCULATE[operator](one, other)) if operator in _CALCULATE else None


_CALCULATE: Mapping[str, Callable[[int, int], int]] = {
    "+": op.add, "-": op.sub, "*": op.mul, "==": op.eq, "=": op.eq, "!=": op.ne, "<": op.lt, ">": op.gt, "<=": op.le, ">=": op.ge,
    "&": op.and_, "|": op.or_, "^": op.xor,
}  # fmt: skip


def _sequence(numbers: Sequence[int]) -> str | None:
    first, step, last = (
        (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[1]) if len(numbers) == 2 else numbers[:3]
    )
    if step == 0 or abs(last - first) // abs(step) > 1000:
        return None
    return " ".join(map(str, range(first, last + (1 if step > 0 else -1), step)))


def within(node: "Node", kinds: Sequence[str]) -> "Iterator[Node]":
    """Yield the nodes of some kinds in a node, the outermost of each."""
    if node.type in kinds:
        yield node
        return
    for child in node.children:
        yield from within(child, kinds)
