"""A launch line read by the tables: its words, which launcher and version, which options, which command; and written again."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from advisor.errors import BadInput, BadValue
from advisor.jobs.launcher import OTHERS, Dialect, find, launchers, of_lines
from advisor.jobs.request import Binder, Line, Request, Said, Segment, Words, number, of_prrte, release_of
from advisor.jobs.scripts.expansion import words
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Tool

MOST_WORDS = 4096


MOST_LETTERS = 200_000
"""More than the kernel hands to a program in one argument; nothing that a person wrote is as long."""


HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
"""What word processors make of a hyphen."""


_ODD = re.compile(f"[{HYPHENS}]")


_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.DOTALL)


_ENDS = frozenset({"&", "&&", "||", "|", ";", ">", ">>", "2>", "2>&1", "<"})


_BINDERS = {
    name: kind
    for kind, names in (
        ("nodes", "-N --cpunodebind -c --cpubind"),
        ("cpus", "-C --physcpubind"),
        (
            "memory",
            "-m --membind -i --interleave -p --preferred -P --preferred-many -w --weighted-interleave",
        ),
    )
    for name in names.split()
}


_AROUND = ("numactl", "taskset")


_TASKSET = {"-c": "cpus", "--cpu-list": "cpus", "-ac": "cpus", "-ca": "cpus"}


_PASSING = ("env", "time", "nohup", "exec", "stdbuf", "nice")
"""Programs that start another where they are."""


_VALUED = {"env": ("-u", "-C", "-S"), "stdbuf": ("-i", "-o", "-e"), "time": ("-f", "-o"), "exec": ("-a",), "nice": ("-n",)}
"""Their options that are followed by a word of their own."""


_OTHER_BINDERS = ("hwloc-bind", "likwid-pin", "dplace", "omplace", "schedtool")


_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


_STARTS = re.compile(r'(?:(.*?);\s*)?(?:exec\s+)?((?:numactl|taskset)\s[^;|&<>`"\n]*)?"\$@"\s*', re.DOTALL)
"""A shell's text that starts the words behind it, perhaps by numactl, perhaps after something else."""


_IN_SHELL = re.compile(r"\b(numactl|taskset|hwloc-bind|likwid-pin|dplace|omplace)\b")


def take_apart(arguments: Sequence[str]) -> Words:
    """Return a line's parts; refuse what is too long or starts no launcher."""
    words = _split(arguments)
    odd = tuple(word for word in words if _ODD.search(word))
    plain = [hyphened(word) for word in words]
    ends = next((i for i, word in enumerate(plain) if word in _ENDS), len(plain))
    others = sum(1 for word in plain[ends:] if started_by(word.rpartition("/")[2]))
    environment: dict[str, str] = {}
    around: list[Binder] = []
    at = 0
    while at < ends:
        word = plain[at]
        name = word.rpartition("/")[2]
        if match := _VARIABLE.fullmatch(word):
            environment[match[1]] = match[2]
            at += 1
        elif name in _PASSING:
            at = _skip_options(plain, at + 1, ends)
        elif name in _AROUND:
            binder, at = read_binder(plain, at, ends)
            around.append(binder)
        elif started_by(name):
            return Words(environment, tuple(around), name, tuple(plain[at + 1 : ends]), others, odd, word)
        else:
            break
    if around and not around[-1].stray and at < ends and not _is_other(plain[at]):
        start = max(place for place in range(at) if plain[place].rpartition("/")[2] == around[-1].tool)
        return Words(environment, tuple(around[:-1]), around[-1].tool, tuple(plain[start + 1 : ends]), others, odd)
    raise _no_launcher(plain[at] if at < ends else "")


def _no_launcher(shown: str) -> BadInput:
    """Return the refusal of a line by the word that starts no launcher, or one whose lines are not read."""
    known = ", ".join(dict.fromkeys(program for spoken in of_lines().values() for program in spoken.programs))
    if _is_other(shown):
        return BadInput(f"{shown[:60]}: this launcher's lines are not supported", cure=f"supported: {known}")
    return BadInput(f"{shown[:60]!a} is not a launcher", cure=f"expected one of {known}")


def _is_other(word: str) -> bool:
    """Whether a word starts a launcher whose lines are not read here."""
    return word.rpartition("/")[2] in OTHERS


def started_by(program: str) -> tuple[str, ...]:
    """Return the launchers whose lines start with a program; mpiexec.name, as packages call it, is mpiexec too."""
    base, _, name = program.partition(".") if "." in program else program.partition("-")
    if "_" in program and not any(program in spoken.programs for spoken in of_lines().values()):
        base, _, name = program.partition("_")
    found = [each for each, spoken in of_lines().items() if program in spoken.programs]
    if name and any(name in (each.name, *each.aliases) for each in launchers().values()):
        found += [each for each, spoken in of_lines().items() if base in spoken.programs]
    return tuple(dict.fromkeys(found))


def hyphened(word: str) -> str:
    """Return a word with ASCII hyphens; a dash before a long name stands for two, as word processors have it."""
    plain = _ODD.sub("-", word)
    name = plain.lstrip("-").partition("=")[0]
    single = word[:1] in HYPHENS and word[:1] != "" and not plain.startswith("--")
    return f"-{plain}" if single and len(name) > 4 else plain


def _split(arguments: Sequence[str]) -> list[str]:
    if sum(map(len, arguments)) > MOST_LETTERS or len(arguments) > MOST_WORDS:
        raise BadInput(f"the line is longer than {MOST_LETTERS} characters or {MOST_WORDS} words", cure="refused as unsafe")
    words = list(arguments)
    if len(words) == 1 and " " in words[0]:
        try:
            words = shlex.split(words[0])
        except ValueError as error:
            raise BadInput(f"the line cannot be read: {error}", cure="close its quotes") from error
    if not words:
        raise BadInput("no line given", cure="write it after --: advisor check -- mpirun -np 4 ./a.out")
    if len(words) > MOST_WORDS:
        raise BadInput(f"the line has more than {MOST_WORDS} words", cure="refused as unsafe")
    return words


def _skip_options(words: Sequence[str], at: int, end: int) -> int:
    valued = _VALUED.get(words[at - 1].rpartition("/")[2], ())
    while at < end and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    return at


def read_binder(words: Sequence[str], at: int, end: int) -> tuple[Binder, int]:
    """Return the numactl or taskset that starts at a word, and where its program starts."""
    start, tool, everywhere, by = at, words[at].rpartition("/")[2], False, ""
    found: dict[str, str] = {}
    at += 1
    while at < end and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        at += 1
        short = re.fullmatch(r"(-[NCmipPcw])([\d+!].*)", name, re.ASCII)
        if short:
            name, equals, value = short[1], "=", short[2]
        kind = (_TASKSET if tool == "taskset" else _BINDERS).get(name)
        everywhere = everywhere or name in ("-a", "--all")
        if kind is None:
            continue
        if not equals and at < end:
            value, at = words[at], at + 1
        if kind in ("nodes", "cpus"):  # each is done when it is read: the last one holds
            found = {name: text for name, text in found.items() if name not in ("nodes", "cpus")}
        found[kind] = value
        by = name if kind == "memory" else by
    if tool == "taskset" and "cpus" not in found and at < end:
        found["mask"], at = words[at], at + 1
    stray = words[at] if at < end and re.match(r"(cpunodebind|membind|physcpubind|interleave)\b", words[at]) else None
    cpus = found.get("cpus") or _mask(found.get("mask"))
    written = " ".join(words[start : at + bool(stray)])
    return Binder(tool, written, found.get("nodes"), cpus, found.get("memory"), by, stray, everywhere), at


def _mask(text: str | None) -> str | None:
    digits = (text or "").removeprefix("0x")
    if not re.fullmatch(r"[0-9a-fA-F]{1,4096}", digits, re.ASCII):
        return None
    bits = int(digits, 16)
    return str(CpuSet(i for i in range(bits.bit_length()) if bits >> i & 1))


def binders(command: Sequence[str]) -> Iterator[Binder]:
    """Yield every numactl and taskset that a command starts with."""
    return (binder for binder, _ in bound(command))


def bound(command: Sequence[str]) -> Iterator[tuple[Binder, int]]:
    """Yield every numactl and taskset at a command's begin, behind env X=1 and time too, and where what each starts stands."""
    at = _passed(command, 0)
    while at < len(command):
        if command[at].rpartition("/")[2] in _AROUND:
            binder, at = read_binder(command, at, len(command))
        elif words := _in_shell(command, at):
            binder, at = read_binder(words, 0, len(words))[0], at + 4
        else:
            return
        at = _passed(command, at)
        yield binder, at


def _in_shell(command: Sequence[str], at: int) -> list[str] | None:
    """Return the words of the binder by which ``sh -c 'exec numactl ... "$@"' sh`` starts a program; [] where it has none.

    None where no shell stands there, or one whose text is more than that.
    """
    if len(command) < at + 5 or command[at].rpartition("/")[2] not in _SHELLS or command[at + 1] != "-c":
        return None
    text = _STARTS.fullmatch(command[at + 2])
    if text is None or _IN_SHELL.search(text[1] or ""):
        return None
    said = text[2] or ""
    by_number = re.match(r"taskset -c \$\(each [\d,\- ]{1,65536}\) ", said, re.ASCII)
    if said.startswith("taskset") and "$" in said and not by_number:
        # each_rank reads the CPUs of a rank's number from a list; whatever else a shell makes of it is not known.
        return None
    said = said[by_number.end() :] if by_number else said
    return re.findall(r"(?:\$\([^()]*(?:\([^()]*\))?[^()]*\)|\S)+", said)


def _passed(command: Sequence[str], at: int) -> int:
    """Return where the program stands that env, time, a shell and their like start."""
    while at < len(command):
        if command[at].rpartition("/")[2] in _PASSING:
            at = _skip_options(command, at + 1, len(command))
            while at < len(command) and _VARIABLE.fullmatch(command[at]):
                at += 1
        elif _in_shell(command, at) == []:
            at += 4
        else:
            break
    return at


def program_at(command: Sequence[str]) -> int:
    """Return where the program itself stands in a command, behind what sets variables, binds or measures it."""
    return max((at for _, at in bound(command)), default=_passed(command, 0))


def binds_itself(command: Sequence[str]) -> str | None:
    """Return the program of a command that sets CPUs in a way that is not predicted: likwid-pin, or another launcher."""
    at = program_at(command)
    program, *rest = (command[at].rpartition("/")[2], *command[at + 1 :]) if at < len(command) else ("",)
    if program in _OTHER_BINDERS or (program == "likwid-perfctr" and any(word.startswith("-C") for word in rest)):
        return program
    if program in _SHELLS:
        inside = _IN_SHELL.search(rest[1]) if len(rest) > 1 and rest[0].startswith("-") and rest[0].endswith("c") else None
        return inside[1] if inside else None
    return program if started_by(program) else None


_PAIRS = frozenset({"-genv", "-env"})


def parse(arguments: Sequence[str], version: str | None = None, tools: Sequence[Tool] = ()) -> Line:
    """Return what a line says; raise BadInput where it starts no launcher or the version is none."""
    words = take_apart(arguments)
    family, shown, known_from = _launcher(words, version, tools)
    stray: list[str] = []
    verb = _verb(words, of_lines()[family])
    segments = [_segment(part, family, stray) for part in _segments(words.rest[len(verb) :], family)]
    release = release_of(shown)
    inner = tuple(binders(segments[0].command))
    return Line(family, shown, release, known_from, words, tuple(segments), tuple(stray), inner, verb)


def _verb(words: Words, spoken: Dialect) -> tuple[str, ...]:
    """Return the word between the launcher's and the options; raise BadInput of a line that lacks the one it needs."""
    if not spoken.verbs or (words.rest[:1] and words.rest[0] in spoken.verbs):
        return words.rest[: bool(spoken.verbs)]
    written = " ".join((words.launcher, *words.rest[:1]))[:60]
    raise BadInput(f"{written}: this command is not supported", cure=f"use {words.launcher} {' or '.join(spoken.verbs)}")


def _segments(words: Sequence[str], family: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":" and parts[-1]:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts if len(parts) == 1 or parts[-1] or not of_lines()[family].parted else parts[:-1]


def _segment(words: Sequence[str], family: str, stray: list[str]) -> Segment:
    options: list[Said] = []
    spoken = of_lines()[family]
    table = spoken.options
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at] == "--":
            at += 1
            break
        name, value = _named(words[at], spoken)
        known = canonical(name, spoken)
        if known is None:
            options.append(Said("", (), (words[at],), known=False))
            at += 1
            continue
        given = () if value is None else (value,)
        count = max(0, table[known][0] - len(given))
        count -= known in _PAIRS and "=" in (*given, *words[at + 1 : at + 2], "")[0]  # -genv NAME=VALUE is as good as NAME VALUE
        values = (*given, *words[at + 1 : at + 1 + count])
        if len(values) < len(given) + count:
            raise BadInput(f"{words[at][:40]} needs a value after it", cure=f"give {count} more")
        end = at + 1 + count
        if (
            known == "-x"
            and values[0].endswith("=")
            and (end + 1 < len(words) and (not words[end].startswith("-")) and words[end + 1].startswith("-"))
        ):
            stray.append(words[end])
            values, end = (values[0] + words[end],), end + 1
        options.append(Said(known, values, tuple(words[at:end])))
        at = end
    if spoken.settle:
        options, at = spoken.settle(options, words, at)
    return Segment(tuple(options), tuple(words[at:]))


def canonical(name: str, spoken: Dialect) -> str | None:
    """Return an option's name as the launcher's table has it, None of one that is not in it."""
    known = (spoken.aliases.get(each, each) for each in spoken.spellings(name))
    return next((each for each in known if each in spoken.options), None)


def _named(word: str, spoken: Dialect) -> tuple[str, str | None]:
    """Return an option's name, and its value where both are one word."""
    if spoken.glued and (match := spoken.glued.fullmatch(word)) and not word.startswith("--"):
        return match[1], match[3]
    name, equals, value = word.partition("=")
    return (name, value) if equals and (word.startswith("--") or spoken.equals) else (word, None)


def _launcher(words: Words, version: str | None, tools: Sequence[Tool]) -> tuple[str, str | None, str]:
    """Return the launcher, its version and how they are known: what was said, the machine, the line's own words."""
    named, number = _said(version)
    owners = started_by(words.launcher)
    if named and named not in owners:
        raise BadInput(f"{words.launcher} does not belong to {(version or '')[:40]!a}", cure="name the launcher in the line")
    words = replace(words, rest=_before_program(words.rest, owners))
    have = frozenset(tool.name for tool in tools)
    name = named or max(owners, key=lambda each: of_lines()[each].claim(words, have))
    if which := of_lines()[name].which:
        return which(words, number, named, tools)
    if number:
        return name, number, "--launcher-version"
    tool = next((tool for tool in tools if tool.name in launchers()[name].tools), None)
    return name, tool.version if tool else None, "this machine" if tool and tool.version else f"the name {words.launcher}"


def which_of(arguments: Sequence[str], version: str | None, tools: Sequence[Tool] = ()) -> None:
    """Refuse a number alone where several launchers have such versions, and neither the line nor the machine says which."""
    words = take_apart(arguments)
    named, number = _said(version)
    owners = started_by(words.launcher)
    release = release_of(number)
    if named or release is None or len(owners) < 2 or not {"openmpi5", "mpich"} <= {*owners}:
        return
    words = replace(words, rest=_before_program(words.rest, owners))
    have = frozenset(tool.name for tool in tools)
    if max(of_lines()[each].claim(words, have) for each in owners) < 2:
        known = f"openmpi-{number} or mpich-{number}" if release[0] < 1000 else f"intelmpi-{number}"
        raise BadInput(
            f"{words.launcher} {number}: several launchers are called {words.launcher}", cure=f"--launcher-version {known}"
        )


def _said(version: str | None) -> tuple[str | None, str | None]:
    """Return the launcher and the number that --launcher-version names."""
    if not version:
        return None, None
    every = {name for each in launchers().values() if each.dialect for name in (each.name, *each.aliases)}
    known = sorted((name for name in every if re.fullmatch(r"[a-z]+\d?", name, re.ASCII)), key=lambda name: (-len(name), name))
    match = re.fullmatch(
        rf"(?:({'|'.join(known)})[ @:=-]*)?(?:v?(\d{{1,4}}(?:\.\d{{1,3}})?(?:\.\d{{1,3}})?\S{{0,20}})|(main|master))?",
        version.strip().lower(),
        re.ASCII,
    )
    if not match:
        raise BadInput(
            f"{version[:40]!a} is not a version of a launcher",
            cure=f"for example 5.0.6 or mpich-4.2; known: {', '.join(sorted(known))}",
        )
    number = match[3] or match[2]
    try:
        number = of_prrte(number) if match[1] == "prrte" and number else number
    except BadValue as error:
        raise BadInput(f"{version[:40]!a} is not a version of a launcher", cure=error.cure) from error
    return (find(match[1]).name if match[1] else None), number


def _before_program(words: Sequence[str], owners: Sequence[str]) -> tuple[str, ...]:
    """Return the options before the program: what stands behind it is the program's own, and shows no launcher."""
    spoken = [of_lines()[name] for name in owners]
    at = int(any(each.verbs and words[:1] and words[0] in each.verbs for each in spoken))
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, _ = words[at].partition("=")
        wants = next((each.options[known][0] for each in spoken if (known := canonical(name, each))), None)
        at += 1
        if wants == 2 and "=" in "".join(words[at : at + 1]):  # PALS's --env NAME=VALUE; Hydra's takes NAME VALUE
            wants = 1
        for _ in range(0 if equals else 1 if wants is None else wants):
            at += at < len(words) and (wants is not None or not words[at].startswith("-"))
    return tuple(words[:at])


def request_of(line: Line) -> Request:
    """Return what a line asks for."""
    exports = _exports(line)
    threads = number((exports.get("OMP_NUM_THREADS") or "").partition(",")[0])
    adapter = (exports.get("UCX_NET_DEVICES") or "").partition(",")[0].partition(":")[0].strip() or None
    told = Request(ranks=number(line.first.value("-n", "-np", "--ntasks")), exports=exports, threads=threads, adapter=adapter)
    own = of_lines()[line.family].request
    return own(line, told) if own else told


def _exports(line: Line) -> dict[str, str]:
    """Return the variables of the ranks: those before the line, and those that options give."""
    found = dict(line.words.environment)
    for said in line.first.options:
        if said.name == "-x" and line.family.startswith("openmpi"):
            name, equals, value = said.values[0].partition("=")
            found |= {name: value} if equals else {}
        elif said.name in ("-genv", "-env", "--env"):
            name, _, value = said.values[0].partition("=")
            found[name] = said.values[1] if len(said.values) > 1 else value
        elif said.name == "--export" and said.values:
            found |= {key: value for key, _, value in (word.partition("=") for word in said.values[0].split(",")) if value}
    return found


Change = Callable[[Said], Sequence[str] | None]
"""Gives the words that stand for an option; None: as it is."""


BINDING = words(
    "--map-by --rank-by --bind-to --rankfile -rf --cpu-set --cpu-list --cpus-per-proc --cpus-per-rank -N --npernode "
    "--npersocket --pernode --bycore --bynode --byslot --bysocket --bind-to-core --bind-to-socket --bind-to-none "
    "--use-hwthread-cpus --hetero-nodes -bind-to -map-by --cpu-bind --distribution --cpus-per-task"
)
"""Options that say where ranks go."""


def written(line: Line) -> str:
    """Return the line as it was understood, quoted for a shell."""
    return rewrite(line, lambda _: None)


def rewrite(line: Line, change: Change, *, add: Sequence[str] = (), command: Sequence[str] | None = None) -> str:
    """Return the line with options changed, and words added before the command of its first program."""
    words = [f"{name}={value}" for name, value in line.words.environment.items()]
    quoted = [_variable(word) for word in words]
    quoted += [binder.written for binder in line.words.around]
    quoted += (line.words.launcher, *line.verb)
    for position, segment in enumerate(line.segments):
        quoted += [":"] if position else []
        parts: list[str] = []
        for said in segment.options:
            new = change(said)
            parts += said.written if new is None else new
        parts += add if position == 0 else ()
        parts += segment.command if command is None or position else command
        quoted.append(shlex.join(parts))
    return " ".join(word for word in quoted if word)


def _variable(word: str) -> str:
    name, _, value = word.partition("=")
    return f"{name}={shlex.quote(value)}"


def replaced(line: Line, option: Said, words: Sequence[str]) -> Line:
    """Return the line with one option written otherwise; what said the same beside it before is left out."""

    def changed(segment: Segment) -> Segment:
        if not any(each is option for each in segment.options):
            return segment
        kept = (each for each in segment.options if each is option or each.name != words[0])
        return replace(segment, options=tuple(replace(each, written=tuple(words)) if each is option else each for each in kept))

    return replace(line, segments=tuple(map(changed, line.segments)))


def rebound(line: Line, words: Sequence[str]) -> str:
    """Return the line with all that says where ranks go replaced."""
    return rewrite(line, lambda said: () if said.name in BINDING else None, add=words)


def shown(word: str) -> str:
    """Return a word with its odd hyphens marked, so that they can be seen."""
    return "".join(f"<U+{ord(letter):04X}>" if letter in HYPHENS else letter for letter in word)
