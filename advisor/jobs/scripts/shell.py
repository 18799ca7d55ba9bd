"""Reads a shell script with tree-sitter's grammar and follows it without running anything: what is set, what is started.

What depends on something that only a run would tell stays unknown, and so does what depends on that. Branches whose condition
is not known are all followed; loops over what is known are followed turn by turn.
"""

import fnmatch
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.jobs.scripts.expansion import (
    FIELDS,
    Expander,
    Launch,
    Script,
    Several,
    Variable,
    Word,
    cleaned,
    is_known,
    is_node_file,
    names_in,
    unknown,
    unknown_name,
    whole,
    within,
)
from advisor.jobs.scripts.expansion import words as words_in
from advisor.jobs.scripts.grammar import LARGEST, parsed

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_STEPS = 60_000
_MOST_TURNS = 64
_MOST_ELEMENTS = 10_000
_DEEPEST = 24
_MOST_LAUNCHES = 2000

_PLACEHOLDER = re.compile(rb"(?<![<\w$(])<[A-Za-z][^<>\n&|;]{0,60}>(?![&>(])")
"""What a template leaves to be filled in, <input file>: the shell would take it for redirections."""
_GLUED = re.compile(rb"(?<=[\w}/._:=,%+@-])\$([A-Za-z_]\w*)(?=[./:,%+@=-])")
_AROUND = words_in(
    "singularity apptainer shifter podman podman-hpc docker charliecloud ch-run enroot udocker "
    "scan mustrun nsys ncu perf vtune aps tau_exec hpcrun valgrind"
)
"""Containers and tools that a launcher may stand behind, with any options of theirs before it."""
_ENVIRONMENTS = words_in("uv conda mamba micromamba pixi poetry pdm pipenv hatch rye")
"""Programs whose word run starts a command in an environment."""
_PASSED = {
    "time": ("-f", "-o"), "nohup": (), "exec": ("-a",), "env": ("-u", "-C", "-S"), "nice": ("-n",), "stdbuf": ("-i", "-o", "-e"),
    "command": (), "builtin": (), "timeout": ("-k", "-s"), "sudo": (), "strace": ("-o", "-e", "-p"),
    "setsid": (), "ionice": ("-c", "-n"),
    "numactl": ("-N", "-C", "-m", "-i", "-p", "-c", "-P", "-w"), "taskset": (), "ddt": (), "map": (),
    "perf-report": (),
    "/usr/bin/time": ("-f", "-o"), "scalasca": (), "catchsegv": (), "hwloc-bind": (),
}  # fmt: skip
"""Programs that start the command behind them, with those of their options that a word follows."""
_SHELLS = words_in("sh bash dash ksh zsh csh tcsh")
_OF_MODULES = words_in("load purge list use swap unload reset")
_PRINTING = ("echo", "printf", "print")
_INSTANT = words_in(
    "echo printf print date true : exit return cd pwd hostname whoami set unset setenv alias umask touch module ml "
    "sacct squeue seff uptime"
)
"""Commands that no step in the background gets time by."""
_COUNTED = {"timeout": 1, "taskset": 0}
"""Words of these that stand before the command, beside options."""


_GIVEN = (unknown("@"), unknown("*"))
"""All that a function was given."""
_OLD = re.compile(rb"`((?:[^`\\\n]|\\[^`\n])*)`")


def _filled(match: re.Match[bytes]) -> bytes:
    return b"_" + re.sub(rb"[^\w./-]", b"_", match[0][1:-1]) + b"_"


def _braced(text: bytes) -> tuple[bytes, list[int]]:
    """Return a text with ${C} for $C inside a word, and where braces were put in: of $A/b$C.d the grammar makes two words."""
    added: list[int] = []
    for match in _GLUED.finditer(text):
        added += [match.start(1) + len(added), match.end(1) + len(added) + 1]
    return _GLUED.sub(rb"${\1}", text), added


def _modern(text: bytes, added: Sequence[int]) -> tuple[bytes, list[int]]:
    """Return a text with $(a) for `a`, whose quotes the grammar may lose, and all places where something was put in."""
    starts = [match.start() for match in _OLD.finditer(text)]
    moved = [at + bisect_left(starts, at) for at in added] + [at + number for number, at in enumerate(starts)]
    return _OLD.sub(rb"$(\1)", text), sorted(moved)


def _ends_hidden(text: bytes) -> bytes:
    """Return a text without the lines EOF2 that the grammar takes for the end of a here document that EOF ends."""
    for name in re.findall(rb"<<-?[ \t]*['\"\\\\]?(\w+)", text):
        text = re.sub(rb"(?m)^" + name + rb"(?=\w+$)", b"_" * len(name), text)
    return text


def _starts_others(program: str, texts: Sequence[str]) -> bool:
    """Whether a command of a tool, a container or an environment starts the one that stands in it; docker build does not."""
    if program in _ENVIRONMENTS:
        return "run" in texts[1:3]
    return program in _AROUND and not {"build", "pull", "push", "import", "create"} & set(texts[1:2])


class _EndedError(Exception):
    """The script, or a branch of it, ends here."""


class Follower(Expander):
    """Follows a script; `script` is what it found."""

    def __init__(
        self,
        text: str,
        variables: Mapping[str, str],
        sizes: Mapping[str, int | None],
        is_launcher: Callable[[str], bool],
        *,
        line: int = 0,
        start: int = 0,
        script: Script | None = None,
        depth: int = 0,
    ) -> None:
        """Take a script's text, the variables that it is started with and the sizes of its job: nodes, slots, per_node."""
        self.text, self.braces = _braced(cleaned(text).encode(errors="replace"))
        if len(self.text) > LARGEST:
            raise BadInput(f"the script is longer than {LARGEST >> 20} MiB", cure="refused as unsafe")
        self.line, self.start, self.depth = line, start, depth
        self.variables = {name: Variable(value, exported=True) for name, value in variables.items()}
        self.sizes, self.is_launcher = sizes, is_launcher
        self.script = script or Script()
        self.functions: dict[str, Node] = {}
        self.arrays: dict[str, list[str] | None] = {}
        self.node_files: set[str] = set()
        self.running: list[int] = []
        self.loops = 0
        self.turn = 0
        self.substituted = 0
        self.conditions: list[str] = []
        self.calls = 0
        self.passed: tuple[list[Word], Node] | None = None
        """What the function that is followed was given, and where."""
        self.steps = 0
        self.last_background = -1
        self.left = False
        """Whether nothing that takes time came after the last step that was put into the background."""
        self.top = self.left_top = 0
        """Where the script's statement ends that is followed, and the one that this step was started in."""
        self.root: Node | None = None
        self.trapped = False
        """Whether a command is set that runs at the end: it may wait."""

    def follow(self) -> Script:
        """Read the whole script."""
        try:
            root = parsed(self.text).root_node
            if root.has_error:
                self.text = _PLACEHOLDER.sub(_filled, self.text)
                root = parsed(self.text).root_node
            if root.has_error and not (again := parsed(hidden := _ends_hidden(self.text)).root_node).has_error:
                self.text, root = hidden, again
            modern, places = _modern(self.text, self.braces) if root.has_error else (self.text, self.braces)
            if root.has_error and not (again := parsed(modern).root_node).has_error:
                self.text, self.braces, root = modern, places, again
            self.root = root
            if root.has_error and self.depth == 0:
                self.script.broken = min((self.span(each).line for each in _errors(root)), default=1)
            self.inside(root)
        except _EndedError:
            pass
        except RecursionError:
            raise BadInput("the script is nested too deeply", cure="refused as unsafe") from None
        if self.depth == 0 and self.running and self.left and not self.trapped:
            self.script.abandoned = (max(self.running), self.left_top)
        self.script.exported = {name: each.text for name, each in self.variables.items() if each.exported and each.text}
        return self.script

    # statements

    def inside(self, node: "Node") -> None:
        """Follow the statements in a node; & behind one puts it into the background."""
        children = node.children
        for at, child in enumerate(children):
            behind = children[at + 1].type if at + 1 < len(children) else ""
            if node == self.root:
                self.top = self.span(child).end
            self._statement(child, background=behind == "&")

    def _statement(self, node: "Node", *, background: bool = False) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS or len(self.script.launches) > _MOST_LAUNCHES:
            raise BadInput(
                "the script runs more commands than advisor can follow",
                cure=f"the limit is {_MOST_STEPS} commands, counting loop iterations",
            )
        kind = node.type
        if background and kind not in ("command", "redirected_statement"):
            first, left = len(self.script.launches), self.left
            self.apart(lambda: self._statement(node))
            self.left = left
            self._put_behind(first)
            return
        handler = getattr(self, f"_{kind}", None)
        if kind in ("command", "redirected_statement"):
            self._command(node, background=background)
        elif handler:
            handler(node)
        elif kind == "ERROR":
            self.inside(node)
        elif kind == "comment":
            self.script.comments.append(self.source(node))
        elif node.is_named and kind != "heredoc_body":
            self.inside(node)

    def _all_of(self, body: "Sequence[tuple[Node, bool]]") -> None:
        for each, background in body:
            self._statement(each, background=background)

    def _put_behind(self, first: int) -> None:
        for at in range(first, len(self.script.launches)):
            self.script.launches[at] = replace(self.script.launches[at], background=True)
            self.running.append(at)
            self.last_background = at
            self.left, self.left_top = True, self.top

    def apart(self, action: Callable[[], None]) -> None:
        """Follow something in a shell of its own: what it sets is gone afterwards."""
        kept = {name: replace(each) for name, each in self.variables.items()}, dict(self.arrays)
        with suppress(_EndedError):
            action()
        self.variables, self.arrays = kept

    def _branches(self, actions: Sequence[tuple[str, Callable[[], None]]], *, maybe_none: bool) -> None:
        """Follow several ways of which one is taken, none perhaps; afterwards what differs among them is not known."""
        start = {name: replace(each) for name, each in self.variables.items()}
        ends = [start] if maybe_none else []
        arrays = dict(self.arrays)
        ended = 0
        for condition, action in actions:
            self.variables = {name: replace(each) for name, each in start.items()}
            self.conditions.append(condition)
            try:
                action()
                ends.append(self.variables)
            except _EndedError:
                ended += 1
            finally:
                self.conditions.pop()
        if not ends:
            self.variables = start
            raise _EndedError
        self.variables = _merged(ends)
        self.arrays = {name: value if arrays.get(name) == value else None for name, value in self.arrays.items()}

    def _if_statement(self, node: "Node") -> None:
        ways: list[tuple[str, Callable[[], None]]] = []
        open_end = True
        for condition, body in self._ways(node):
            known = True if condition is None else self.holds(condition)
            if known is False:
                continue
            text = "" if condition is None else self.source(condition)
            ways.append((text[:80], partial(self._all_of, body)))
            if known:
                open_end = False
                break
        if not ways:
            return
        if len(ways) == 1 and not open_end:
            ways[0][1]()
            return
        self._branches(ways, maybe_none=open_end)

    def _ways(self, node: "Node") -> "Iterator[tuple[Node | None, list[tuple[Node, bool]]]]":
        """Yield the conditions of an if with what each leads to; the last one's is None where it is else."""
        condition: Node | None = None
        body: list[tuple[Node, bool]] = []
        inside = False
        for at, child in enumerate(node.children):
            amp = at + 1 < len(node.children) and node.children[at + 1].type == "&"
            if child.type in ("elif_clause", "else_clause"):
                if inside:
                    yield condition, body
                    inside = False
                if child.type == "else_clause":
                    yield None, [(each, False) for each in child.children if each.is_named]
                else:
                    yield from self._ways(child)
            elif child.type == "then":
                inside = True
            elif inside and child.is_named:
                body.append((child, amp))
            elif child.is_named and condition is None:
                condition = child
        if inside:
            yield condition, body

    def _case_statement(self, node: "Node") -> None:
        value = self.text_of(node.child_by_field_name("value"))
        ways: list[tuple[str, Callable[[], None]]] = []
        default = False
        for item in node.children:
            if item.type != "case_item":
                continue
            patterns = [self.source(each) for each in item.children_by_field_name("value")]
            if is_known(value) and not any(fnmatch.fnmatchcase(value, _unquoted(each)) for each in patterns):
                continue
            values = {each.id for each in item.children_by_field_name("value")}
            body = [each for each in item.children if each.is_named and each.id not in values]
            default = default or "*" in patterns
            label = "|".join(patterns)[:60]
            ways.append((label, partial(self._all_of, [(each, False) for each in body])))
            if is_known(value):
                ways[-1][1]()
                return
        if ways:
            self._branches(ways, maybe_none=not default)

    def _for_statement(self, node: "Node") -> None:
        name = self.source(node.child_by_field_name("variable"))
        items: list[str] = []
        for each in node.children_by_field_name("value"):
            items += [word.text for word in self.words_of(each)]
        body = node.child_by_field_name("body")
        if not body:
            return
        known = bool(items) and all(map(is_known, items)) and len(items) <= _MOST_TURNS and not any("*" in each for each in items)
        self._loop(body, (partial(self.put, name, item, node) for item in (items if known else [unknown(name)])))
        if not known:
            self._forget_arrays(body)

    def _loop(self, body: "Node", turns: Iterator[Callable[[], object]]) -> None:
        self.loops += 1
        first = len(self.script.launches)
        outer = self.turn
        try:
            for number, start in enumerate(turns):
                self.turn = outer * 1000 + number + 1
                start()
                if self.steps > _MOST_STEPS // 2:
                    break
                self.inside(body)
        except _EndedError:
            pass
        self.turn = outer
        self.loops -= 1
        for at in range(first, len(self.script.launches)):
            self.script.launches[at] = replace(self.script.launches[at], repeated=True)

    def _c_style_for_statement(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        start, condition, update = (node.child_by_field_name(each) for each in ("initializer", "condition", "update"))
        if body is None:
            return
        self.arithmetic(start)
        self._loop(body, self._while_turns(body, lambda: self.arithmetic(condition), lambda: self.arithmetic(update)))

    def _while_turns(
        self, body: "Node", condition: Callable[[], int | bool | None], update: Callable[[], object]
    ) -> Iterator[Callable[[], object]]:
        for number in range(_MOST_TURNS):
            if number:
                update()
            holds = condition()
            if holds is None or (number == _MOST_TURNS - 1 and holds):
                yield lambda: self._forget(body)
                return
            if not holds:
                return
            yield lambda: None

    def _forget(self, body: "Node") -> None:
        """Take what a loop changes for unknown: how often it runs is not known."""
        for name in _assigned_in(body):
            if name in self.variables:
                self.variables[name] = replace(self.variables[name], text=unknown(name))
        self._forget_arrays(body)

    def _forget_arrays(self, body: "Node") -> None:
        self.arrays |= {name: None for name in _assigned_in(body) if name in self.arrays}

    def _while_statement(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        condition = node.child_by_field_name("condition")
        self.left = False  # it may be what waits
        if body is None or condition is None:
            self.inside(node)
            return
        until = node.children[0].type == "until"

        def holds() -> bool | None:
            known = self.holds(condition)
            return known if known is None else known != until

        self._statement(condition) if condition.type in ("command", "pipeline") else None
        self._loop(body, self._while_turns(body, holds, lambda: None))

    def _function_definition(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body:
            self.functions[self.source(name)] = body

    def _compound_statement(self, node: "Node") -> None:
        if node.children and node.children[0].type == "((":
            for each in node.children:
                if each.is_named:
                    self.arithmetic(each)
            return
        self.inside(node)

    def _subshell(self, node: "Node") -> None:
        self.apart(lambda: self.inside(node))

    def _list(self, node: "Node") -> None:
        left, right = node.children[0], node.children[-1]
        operator = next((each.type for each in node.children if each.type in ("&&", "||")), "&&")
        known = self.holds(left) if left.type in ("test_command", "compound_statement") else None
        self._statement(left)
        if known is not None and known != (operator == "&&"):
            return
        if known is None and (operator == "||" or left.type in ("test_command", "compound_statement")):
            self._branches([(self.source(left)[:80], lambda: self._statement(right))], maybe_none=True)
        else:
            self._statement(right)

    def _pipeline(self, node: "Node") -> None:
        for child in node.children:
            if child.is_named:
                self.apart(partial(self._statement, child))

    def _negated_command(self, node: "Node") -> None:
        self.inside(node)

    def _test_command(self, node: "Node") -> None:
        for each in within(node, ("simple_expansion", "expansion", "command_substitution")):
            self.pieces(each, quoted=True)

    def _variable_assignment(self, node: "Node") -> None:
        self._assign(node)

    def _variable_assignments(self, node: "Node") -> None:
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child)

    def _unset_command(self, node: "Node") -> None:
        for child in node.children:
            if child.type in ("variable_name", "word"):
                name = self.source(child)
                self.variables[name] = Variable("", exported=False, span=self.span(node))
                self.arrays.pop(name, None)

    def _declaration_command(self, node: "Node") -> None:
        exports = node.children[0].type == "export" or any(
            child.type == "word" and re.fullmatch(r"-\w*x\w*", self.source(child)) for child in node.children
        )
        named: str | None = None
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                named = self._assign(child, exported=exports)
            elif child.type in ("variable_name", "word", "concatenation", "string", "number"):
                text = self.text_of(child)
                name = text.partition("=")[0]
                if exports and named and text and not text.startswith("-") and self.variables[named].text.endswith(","):
                    self.script.odd_exports.append((named, text, self.span(node)))
                elif exports and "=" in text and re.fullmatch(r"\w+", name):
                    named = self.put(name, text.partition("=")[2], node, exported=True)
                elif exports and re.fullmatch(r"\w+", text, re.ASCII):
                    before = self.variables.get(text)
                    if before:
                        before.exported = True

    # assignments

    def _assign(self, node: "Node", *, exported: bool = False) -> str:
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.source(target)
        if target is not None and target.type == "subscript":
            name = self.source(target.child_by_field_name("name"))
            self.arrays[name] = None
            return self.put(name, unknown(name), node, exported=exported)
        if value is not None and value.type == "array":
            named = [each for each in value.children if each.is_named and each.type != "comment"]
            items = [_element(word, self.source(each)) for each in named for word in self.words_of(each)]
            if any(child.type == "+=" for child in node.children):
                there = self.arrays.get(name, [])
                items = [*there, *items] if there is not None else []
                self.arrays[name] = None if there is None or len(items) > _MOST_ELEMENTS else items
            else:
                self.arrays[name] = items if len(items) <= _MOST_ELEMENTS else None
            return self.put(name, items[0] if items else "", node, exported=exported)
        text = self.text_of(value) if value is not None else ""
        if any(child.type == "+=" for child in node.children):
            before = self.variables.get(name)
            text = (before.text if before else "") + text
        self.arrays.pop(name, None)
        return self.put(name, text, node, exported=exported)

    # commands

    def _command(self, node: "Node", *, background: bool) -> None:  # noqa: C901 - a case a kind of child
        outer, redirects = node, []
        while node.type == "redirected_statement":
            redirects += node.children_by_field_name("redirect")
            body = node.child_by_field_name("body")
            if body is None:
                return
            node = body
        written = self._redirected(redirects)
        # of <<EOF & the grammar makes an error inside the redirection
        background = background or any(each.type == "ERROR" and each.text == b"&" for part in redirects for each in part.children)
        if node.type != "command":
            self._statement(node, background=background)
            return
        given: dict[str, str] = {}
        words: list[Word] = []
        heads: tuple[str, ...] = ()
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                given[self.source(name)] = self.text_of(value) if value else ""
            elif child.type == "command_name":
                words += self.words_of(child.children[0] if child.children else child)
                heads = self._alternatives(child)
            elif child.type.endswith("redirect"):
                self._redirected([child])
            elif child.is_named:
                self.shown_only = bool(words) and words[0].text in _PRINTING
                words += self.words_of(child)
        self.shown_only = False
        if not words:
            return
        if written and len(words) == 2 and words[0].text == "cat" and is_node_file(words[1].text):
            self.node_files.add(written)
        if heads and not is_known(words[0].text):
            for text in heads:
                again = [Word(each, words[0].span, literal=False, variable=words[0].variable) for each in FIELDS.findall(text)]
                self._run([*again, *words[1:]], given, outer, background=background)
            return
        self._run(words, given, outer, background=background)

    def _alternatives(self, node: "Node") -> tuple[str, ...]:
        names = [self.source(each) for each in within(node, ("variable_name",))]
        variable = self.variables.get(names[0]) if len(names) == 1 else None
        return variable.others if variable else ()

    def _redirected(self, redirects: "Sequence[Node]") -> str | None:
        """Return the file that output goes to; keep what a here document writes to it."""
        target: str | None = None
        body: Node | None = None
        quoted = False
        for each in redirects:
            if each.type == "file_redirect" and not any(child.type.startswith("<") for child in each.children):
                destination = each.child_by_field_name("destination")
                target = self.text_of(destination) if destination else target
            elif each.type == "heredoc_redirect":
                for child in each.children:
                    if child.type == "heredoc_start":
                        quoted = self.source(child)[:1] in "'\"\\"
                    elif child.type == "heredoc_body":
                        body = child
                    elif child.type == "file_redirect":
                        target = self._redirected([child]) or target
                    elif child.type in ("command", "pipeline"):
                        self._statement(child)
        if body is not None:
            text = self.source(body) if quoted else self.with_expansions(body, keep=True)
            self.script.files[target or f"<{self.span(body).line}>"] = (text, self.span(body).line)
        return target

    def _run(self, words: list[Word], given: Mapping[str, str], node: "Node", *, background: bool) -> None:  # noqa: C901 - a case a kind of command
        words, before = self._peeled(words, given := dict(given))
        if self.passed is not None and words:  # f() { time "$@"; }
            given_on, called = self.passed
            node = called if words[0].text in _GIVEN or (words[0].text == "eval" and words[-1].text in _GIVEN) else node
            spliced = [each for word in words for each in (given_on if word.text in _GIVEN else [word])]
            words, more = self._peeled(spliced, given) if words[0].text in _GIVEN else (spliced, ())
            before += more
        if not words:
            return
        program = words[0].text.rpartition("/")[2]
        if not background and program not in _INSTANT and program not in self.functions:
            self.left = False
        if program == "flux" and (len(words) < 2 or words[1].text not in ("run", "submit")):
            self._within_flux(words, node)
            return
        if self.is_launcher(program) or self.is_launcher(words[0].text):
            self._launch(words, before, given, node, background=background)
            return
        if program in self.functions and self.calls < _DEEPEST:
            self._call(program, words, node, background=background)
            return
        if self._builtin(program, words, node):
            return
        if program in ("module", "ml", "spack") or (program == "source" and len(words) > 1):
            self._load(program, words, node)
        elif program in _SHELLS and len(words) > 1:
            self._shell(words, node, background=background)
        elif program in ("sbatch", "qsub", "bsub"):
            self.script.submitted |= {word.text for word in words[1:]}
        elif program == "." or "/" in words[0].text or program.endswith(".sh"):
            named = words[1].text if program == "." and len(words) > 1 else words[0].text
            self.script.sourced.append((named, self.span(node).line))
        self.script.commands.append((tuple(words), self.span(node)))
        if background:
            return

    def _peeled(self, words: list[Word], given: dict[str, str]) -> tuple[list[Word], tuple[str, ...]]:  # noqa: C901 - a case a kind of program
        """Return a command without what only starts it: time, env X=1, numactl, singularity exec image."""
        before: list[str] = []
        while words:
            match = re.fullmatch(r"(\w+)=(.*)", words[0].text, re.DOTALL | re.ASCII)
            program = words[0].text.rpartition("/")[2]
            if match and before:
                given[match[1]] = match[2]
                words = words[1:]
            elif program.startswith("python") and (at := _agent_module(words)):
                before += [word.text for word in words[:at]]
                agent = [replace(words[at], text=each) for each in _AGENT_MODULES[words[at].text]]
                words = [*agent, *words[at + 1 :]]
            elif _starts_others(program, [word.text for word in words]):
                names = [word.text.rpartition("/")[2] for word in words]
                launches = [
                    self.is_launcher(name) or (name[:6] == "python" and _agent_module(words[at:]))
                    for at, name in enumerate(names)
                ]
                at = next((at for at in range(1, len(words)) if launches[at]), 0)
                if not at:
                    break
                before += [word.text for word in words[:at]]
                words = words[at:]
            elif program in _PASSED and len(words) > 1:
                valued, at = _PASSED[program], 1
                while at < len(words) and words[at].text.startswith("-") and len(words[at].text) > 1:
                    if words[at].text == "--":
                        at += 1
                        break
                    taken = 2 if words[at].text in valued else 1
                    if program == "taskset" and "c" in words[at].text:
                        taken = 2
                    at += taken
                if program == "taskset" and not any("c" in word.text for word in words[1:at] if word.text.startswith("-")):
                    at += 1
                at += _COUNTED.get(program, 0)
                if program == "hwloc-bind":
                    at = next((at for at, word in enumerate(words) if word.text == "--"), len(words)) + 1
                before += [word.text for word in words[:at]]
                words = words[at:]
            else:
                break
        return words, tuple(before)

    def _launch(
        self, words: Sequence[Word], before: tuple[str, ...], given: Mapping[str, str], node: "Node", *, background: bool
    ) -> None:
        exported = {name: each.text for name, each in self.variables.items() if each.exported and each.text != ""}
        plain = {name: (each.text, each.span) for name, each in self.variables.items() if not each.exported and each.span}
        for name in given:
            plain.pop(name, None)
        self.script.launches.append(
            Launch(
                words=tuple(words),
                span=self.span(node),
                variables={**exported, **given},
                plain=plain,
                before=before,
                beside=tuple(self.running),
                background=background,
                repeated=self.loops > 0,
                when=tuple(each for each in self.conditions if each),
                substituted=self.substituted > 0,
                turn=self.turn,
                nested=self.nested,
            )
        )
        if background:
            self.last_background = len(self.script.launches) - 1
            self.running.append(self.last_background)
            self.left, self.left_top = True, self.top
        at = next((at for at, word in enumerate(words) if word.text.rpartition("/")[2] == "flux"), None)
        if at is not None and at + 1 < len(words) and words[at + 1].text == "start":
            self._within_flux(words[at:], node)

    def _within_flux(self, words: Sequence[Word], node: "Node") -> None:
        """Follow the script that flux start is given in one word."""
        if len(words) > 2 and words[1].text == "start" and " " in words[-1].text.strip():
            self._nested(words[-1].text, node)

    def _call(self, name: str, words: Sequence[Word], node: "Node", *, background: bool) -> None:
        passed, self.passed = self.passed, (list(words[1:]), node)
        kept = {str(at): self.variables.get(str(at)) for at in range(10)}
        self._positions(words[1:])
        first, left = len(self.script.launches), self.left
        self.calls += 1
        try:
            self._statement(self.functions[name])
        except _EndedError:
            pass
        finally:
            self.calls -= 1
            self.passed = passed
        for position, before in kept.items():
            if before is None:
                self.variables.pop(position, None)
            else:
                self.variables[position] = before
        if background:
            self.left = left
            self._put_behind(first)

    def _positions(self, words: Sequence[Word]) -> None:
        """Set $1 and the others."""
        for at in range(1, 10):
            self.variables[str(at)] = Variable(words[at - 1].text if at <= len(words) else "")

    def _shell(self, words: Sequence[Word], node: "Node", *, background: bool) -> None:
        """Follow what sh -c starts; name the script that is handed to a shell."""
        at = next((at for at, word in enumerate(words) if re.fullmatch(r"-\w*c", word.text)), None)
        if at is None or at + 1 >= len(words):
            self.script.sourced += [(word.text, self.span(node).line) for word in words[1:2]]
            return
        self._nested(words[at + 1].text, node, background=background)

    def _nested(self, text: str, node: "Node", *, background: bool = False) -> None:
        if self.depth > 3:
            return
        variables = {name: each.text for name, each in self.variables.items() if each.exported}
        inner = Follower(
            as_shell(text),
            variables,
            self.sizes,
            self.is_launcher,
            script=self.script,
            depth=self.depth + 1,
            line=self.span(node).line - 1,
        )
        inner.nested = True
        first = len(self.script.launches)
        inner.running, inner.substituted, inner.loops = list(self.running), self.substituted, self.loops
        inner.follow()
        for at in range(first, len(self.script.launches)):
            self.script.launches[at] = replace(self.script.launches[at], span=self.span(node))
        if background:
            self._put_behind(first)

    def _load(self, program: str, words: Sequence[Word], node: "Node") -> None:
        texts = [word.text for word in words[1:] if not word.text.startswith("-")]
        line = self.span(node).line
        if program == "source":
            self.script.sourced.append((texts[0] if texts else "", line))
        elif program == "ml" and texts and texts[0] not in _OF_MODULES:
            self.script.modules += [(text, line) for text in texts]
        elif texts and texts[0] in ("load", "add", "swap", "switch", "try-load"):
            self.script.modules += [(text, line) for text in texts[1:]]

    # commands of the shell

    def _builtin(self, program: str, words: Sequence[Word], node: "Node") -> bool:  # noqa: C901, PLR0912 - a case a command
        """Follow a command of the shell itself; return whether it is one that counts."""
        texts = [word.text for word in words[1:]]
        match program:
            case "exit" | "return":
                if program == "exit" and self.top == self.left_top:
                    self.left_top = -1  # a line behind the statement is never reached
                raise _EndedError
            case "wait":
                self._wait(texts, node)
            case "trap":
                self.trapped = True
            case "setenv":
                if texts:
                    self.put(texts[0], texts[1] if len(texts) > 1 else "", node, exported=True)
            case "set":  # csh's: set x = 5, set x=5; bash's changes nothing that counts here
                if found := re.fullmatch(r"([A-Za-z_]\w*)\s*=\s*(.*)", " ".join(texts), re.DOTALL):
                    self.put(found[1], found[2].strip("()").strip(), node)
            case "let":
                for text in texts:
                    if found := re.fullmatch(r"([A-Za-z_]\w*)\s*=(?!=)(.*)", text, re.DOTALL):
                        self.put(found[1], self.calculated(found[2]), node)
            case "unset":
                self.variables |= {text: Variable("", span=self.span(node)) for text in texts}
            case "shift":
                if self.passed is not None:
                    left = self.passed[0][(whole(texts[0]) or 1) if texts else 1 :]
                    self.passed = (left, self.passed[1])
                    self._positions(left)
            case "eval":
                self._nested(" ".join(texts), node)
            case "read":
                for text in texts:
                    if re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII):
                        self.put(text, unknown(text), node)
                        self.arrays |= {text: None} if text in self.arrays else {}
            case "readarray" | "mapfile":
                self.arrays[words[-1].text] = None
                self.put(words[-1].text, unknown(words[-1].text), node)
            case _:
                return program == "alias"
        return True

    def _wait(self, texts: Sequence[str], node: "Node") -> None:
        again = self.loops or (node.parent is not None and node.parent.type == "while_statement")
        named = {int(name[1:]) for text in texts for name in names_in(text) if re.fullmatch(r"!\d+", name)}
        one = "-n" in texts and not again  # wait -n ends with the first step that ends
        self.running = self.running[1:] if one else [at for at in self.running if at not in named] if named else []
        if one and self.running:
            self.left, self.left_top = True, self.top


_AGENT_MODULES = {
    "torch.distributed.run": ("torchrun",), "torch.distributed.launch": ("torchrun",),
    "accelerate.commands.launch": ("accelerate", "launch"), "deepspeed.launcher.runner": ("deepspeed",),
}  # fmt: skip
"""Modules of Python that are what a program is."""


def _agent_module(words: Sequence[Word]) -> int | None:
    """Return where the module stands in a command such as python -m torch.distributed.run."""
    return next((at for at in range(1, len(words)) if words[at - 1].text == "-m" and words[at].text in _AGENT_MODULES), None)


def as_shell(text: str) -> str:
    """Return a text whose unknown parts are variables, or what a command prints, again."""

    def again(match: re.Match[str]) -> str:
        if re.fullmatch(r"\w+", match[1]):
            return f"${{{match[1]}}}"
        return f"$({re.sub(_UNSAFE, '', match[1])})"

    return re.sub("\ue000([^\ue001]*)\ue001", again, text)


_UNSAFE = r"[^\w\s$./*+%:=,@|-]"


def _unquoted(text: str) -> str:
    return text.strip("'\"")


def _merged(ends: Sequence[dict[str, Variable]]) -> dict[str, Variable]:
    """Return the variables after branches: those that differ are not known, but what they may be is."""
    found: dict[str, Variable] = {}
    for name in dict.fromkeys(name for each in ends for name in each):
        every = [each.get(name) for each in ends]
        there = [each for each in every if each is not None]
        texts = list(dict.fromkeys(each.text for each in there))
        exported = any(each.exported for each in there)
        if len(texts) == 1 and len(there) == len(every):
            found[name] = replace(there[0], exported=exported)
        else:
            others = tuple(dict.fromkeys(text for each in there for text in (each.text, *each.others) if is_known(text) and text))
            mixed = tuple(text for text in texts if text and text not in others and not text.startswith("\ue000" + name))
            found[name] = Variable(unknown(name), exported, there[-1].span, (*others, *mixed))
    return found


def _errors(node: "Node") -> "Iterator[Node]":
    """Yield what the grammar does not know, or misses."""
    if node.type == "ERROR" or node.is_missing:
        yield node
    for child in node.children if node.has_error else ():
        yield from _errors(child)


def _element(word: Word, source: str) -> str:
    """Return an element of an array; one that the script writes without quotes may become several."""
    name = unknown_name(word.text)
    unsure = name is not None and (not word.quoted or name in ("@", "*") or name.endswith("[@]"))
    many = unsure or re.fullmatch(r"[^\"'$`\\]*[*?][^\"'$`\\]*", source)
    return Several(word.text) if many else word.text


def _assigned_in(node: "Node") -> set[str]:
    names: set[str] = set()
    for each in within(node, ("variable_assignment", "postfix_expression")):
        target = each.child_by_field_name("name") or (each.children[0] if each.children else None)
        if target is not None and target.text:
            names.add(target.text.decode(errors="replace"))
    return names
