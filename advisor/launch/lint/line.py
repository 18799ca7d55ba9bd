"""A launch line read by the tables: which launcher, which version, which options, which command."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from advisor.errors import BadInput
from advisor.launch.lint.command_line import Binder, Words, binders, take_apart
from advisor.launch.lint.option_tables import TABLES, Family, canonical
from advisor.launch.mpirun import MAIN, Release
from advisor.model.hardware.operating_system import Tool

NAMES: dict[str, Family] = {
    "openmpi": "openmpi5",
    "ompi": "openmpi5",
    "prrte": "openmpi5",
    "openmpi4": "openmpi4",
    "openmpi5": "openmpi5",
    "mpich": "mpich",
    "hydra": "mpich",
    "mvapich": "mpich",
    "intelmpi": "intelmpi",
    "impi": "intelmpi",
    "intel": "intelmpi",
    "slurm": "srun",
    "srun": "srun",
    "pals": "pals",
}
_VERSION = re.compile(
    r"(?:(?!v\d|(?:main|master)$)([a-z]+[45]?)[ @:=-]*)?(?:v?(\d{1,4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?\S{0,20}|(main|master))?",
    re.ASCII,
)
_SRUN_SHORT = re.compile(r"(-[nNcwxmBpAqtJCGDoei])(=?)([^-=].*)", re.DOTALL)
_HYDRAS: frozenset[Family] = frozenset({"mpich", "intelmpi"})
"""Their words may have any number of hyphens, and their values may follow a sign of equality."""
_PAIRS = frozenset({"-genv", "-env"})
_PALS = frozenset({"--cpu-bind", "--mem-bind", "--gpu-bind", "--depth", "--no-transfer", "--line-buffer", "--procinfo-file"})
"""Options of PALS's mpiexec that no other mpiexec has; Intel's -cpu-bind has one hyphen."""
_COUNTED = re.compile(r"-bind-to \S*user:|-(?:bind-to|map-by) (?:core|hwthread|socket|numa|l[1-3]cache):\d", re.ASCII)
"""An object and a count: Hydra's alone."""
_FIVE = re.compile(r"rankfile:|pe-list=|package|hwtcpus|fill", re.IGNORECASE)
_FOUR = re.compile(r"dist\b|board|cpu-?list:ordered", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """One option."""

    name: str
    """As the table calls it; "" of one that is not in it."""
    values: tuple[str, ...]
    written: tuple[str, ...]
    known: bool = True


@dataclass(frozen=True)
class Segment:
    """What starts one program: most lines have one, ``:`` starts another."""

    options: tuple[Said, ...]
    command: tuple[str, ...]

    def value(self, *names: str) -> str | None:
        """Return the last value given to an option; "" for one without a value."""
        found = [said for said in self.options if said.name in names]
        return (found[-1].values[-1] if found[-1].values else "") if found else None

    def has(self, *names: str) -> bool:
        """Whether an option is there."""
        return any(said.name in names for said in self.options)


@dataclass(frozen=True)
class Line:
    """A line as it was understood."""

    family: Family
    version: str | None
    release: Release | None
    """The numbers of the version; None where it is not known."""
    known_from: str
    words: Words
    segments: tuple[Segment, ...]
    stray: tuple[str, ...] = ()
    """Values that a blank cut off their ``-x NAME=``."""
    inner: tuple[Binder, ...] = field(default=())
    """numactl and taskset between the launcher and the program."""

    @property
    def first(self) -> Segment:
        """The first segment, on which predictions are made."""
        return self.segments[0]

    @property
    def options(self) -> list[Said]:
        """The options of all segments."""
        return [said for segment in self.segments for said in segment.options]


def parse(arguments: Sequence[str], version: str | None = None, tools: Sequence[Tool] = ()) -> Line:
    """Return what a line says; raise BadInput where it starts no launcher or the version is none."""
    words = take_apart(arguments)
    family, shown, known_from = _launcher(words, version, tools)
    stray: list[str] = []
    segments = [_segment(part, family, stray) for part in _segments(words.rest, family)]
    release = _release(shown)
    inner = tuple(binders(segments[0].command))
    return Line(family, shown, release, known_from, words, tuple(segments), tuple(stray), inner)


def _segments(words: Sequence[str], family: Family) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":" and parts[-1]:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts if len(parts) == 1 or parts[-1] or family == "srun" else parts[:-1]


def _segment(words: Sequence[str], family: Family, stray: list[str]) -> Segment:
    options: list[Said] = []
    table = TABLES[family][0]
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at] == "--":
            at += 1
            break
        name, value = _named(words[at], family)
        known = canonical(name, family)
        if known is None:
            options.append(Said("", (), (words[at],), known=False))
            at += 1
            continue
        given = () if value is None else (value,)
        count = max(0, table[known][0] - len(given))
        count -= known in _PAIRS and "=" in (*given, *words[at + 1 : at + 2], "")[0]  # -genv NAME=VALUE is as good as NAME VALUE
        values = (*given, *words[at + 1 : at + 1 + count])
        if len(values) < len(given) + count:
            raise BadInput(f"{words[at][:40]} is the last word", cure=f"it wants {count} more")
        end = at + 1 + count
        if known == "-x" and values[0].endswith("=") and _cut_off(words, end):
            stray.append(words[end])
            values, end = (values[0] + words[end],), end + 1
        options.append(Said(known, values, tuple(words[at:end])))
        at = end
    if family == "mvapich":
        options, at = _placed(options, words, at)
    return Segment(tuple(options), tuple(words[at:]))


def _placed(options: list[Said], words: Sequence[str], at: int) -> tuple[list[Said], int]:
    """Return the options of mpirun_rsh with the hosts and the variables that stand after them as options too."""
    total = next((said.values[-1] for said in options if said.name == "-np"), "")
    if not any(said.name == "-hostfile" for said in options) and re.fullmatch(r"\d{1,4}", total, re.ASCII):
        names = [word for word in words[at : at + int(total)] if "=" not in word]
        if len(names) == int(total) and len(words) > at + len(names):
            options = [*options, Said("-hosts", (",".join(names),), tuple(names))]
            at += len(names)
    while at < len(words) and re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[at], re.ASCII):
        name, _, value = words[at].partition("=")
        options = [*options, Said("-env", (name, value), (words[at],))]
        at += 1
    return options, at


def _named(word: str, family: Family) -> tuple[str, str | None]:
    """Return an option's name, and its value where both are one word."""
    if family == "srun" and (match := _SRUN_SHORT.fullmatch(word)) and not word.startswith("--"):
        return match[1], match[3]
    name, equals, value = word.partition("=")
    return (name, value) if equals and (word.startswith("--") or family in _HYDRAS) else (word, None)


def _cut_off(words: Sequence[str], at: int) -> bool:
    """Whether the word after ``NAME=`` is its value: another option comes after it."""
    return at + 1 < len(words) and not words[at].startswith("-") and words[at + 1].startswith("-")


def _release(version: str | None) -> Release | None:
    if version in ("main", "master"):
        return MAIN
    match = re.match(r"v?(\d{1,4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?", version or "", re.ASCII)
    return (int(match[1]), int(match[2] or 0), int(match[3] or 0)) if match else None


def _launcher(words: Words, version: str | None, tools: Sequence[Tool]) -> tuple[Family, str | None, str]:
    """Return the launcher, its version and how they are known: what was said, the machine, the line's own words."""
    named, number = _said(version)
    if words.launcher == "mpirun_rsh" and "mvapich" in (version or "mvapich").lower():
        return "mvapich", number, "the word mpirun_rsh"
    if named and ((named == "srun") != (words.launcher == "srun") or words.launcher == "mpirun_rsh"):
        raise BadInput(f"{words.launcher} is not started by {(version or '')[:40]!a}", cure="name the launcher of the line")
    words = replace(words, rest=_before_program(words.rest))
    family = named or _by_words(words, tools)
    if family in ("openmpi4", "openmpi5"):
        return _open_mpi(words, number, version, tools, sure=named == "openmpi4")
    if number:
        return family, number, "--launcher-version"
    wanted = {"srun": "slurm"}.get(family, family)
    tool = next((tool for tool in tools if tool.name == wanted), None)
    return family, tool.version if tool else None, "this machine" if tool and tool.version else f"the word {words.launcher}"


def _said(version: str | None) -> tuple[Family | None, str | None]:
    """Return the launcher and the number that --launcher-version names."""
    if not version:
        return None, None
    match = _VERSION.fullmatch(version.strip().lower())
    if not match or (match[1] and match[1] not in NAMES):
        known = ", ".join(NAMES)
        raise BadInput(
            f"{version[:40]!a} is not a version of a launcher", cure=f"expected such as 5.0.6 or mpich-4.2; known: {known}"
        )
    number = match[5] or (re.sub(r"^[^\d]*", "", version.strip()) if match[2] else None)
    if match[1] == "prrte" and match[2]:
        number = _of_prrte((int(match[2]), int(match[3] or 0), int(match[4] or 0)))
    return (NAMES[match[1]] if match[1] else None), number


def _of_prrte(own: Release) -> str:
    """Return the Open MPI that does as a PRRTE of this number: 3.0 is that of 5.0, 3.0.7 that of 5.0.6; 4.0 came after."""
    return "main" if own >= (3, 1, 0) else "5.0.6" if own >= (3, 0, 7) else "5.0.5"


def _before_program(words: Sequence[str]) -> tuple[str, ...]:
    """Return the options before the program: what stands behind it is the program's own, and shows no launcher."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, _ = words[at].partition("=")
        kinds: tuple[Family, ...] = ("openmpi5", "mpich", "pals", "mvapich")
        family = next((each for each in kinds if canonical(name, each)), None)
        wants = TABLES[family][0][canonical(name, family) or ""][0] if family else 1
        at += 1
        for _ in range(0 if equals else wants):
            at += at < len(words) and (family is not None or not words[at].startswith("-"))
    return tuple(words[:at])


def _by_words(words: Words, tools: Sequence[Tool]) -> Family:
    """Return the launcher by its word, by words that one alone takes, and by what is on the machine."""
    text = " ".join((*words.environment, *words.rest))
    have = {tool.name for tool in tools}
    if words.launcher in ("srun", "mpirun_rsh"):
        return "srun" if words.launcher == "srun" else "mvapich"
    if _PALS & {word.partition("=")[0] for word in words.rest} or any(name.startswith("PALS_") for name in words.environment):
        return "pals"
    if "I_MPI_" in text or words.launcher.endswith(("impi", "intel")):
        return "intelmpi"
    if words.launcher.endswith("mpich"):
        return "mpich"
    hydra = {"-genv", "-ppn", "-perhost", "-hosts", "-genvall", "-env", "-f", "-launcher", "-bootstrap", "-rankmap"}
    if words.launcher.endswith("hydra") or hydra & set(words.rest) or _COUNTED.search(text):
        return "intelmpi" if "intelmpi" in have and "mpich" not in have else "mpich"
    if words.launcher in ("mpirun", "mpiexec") and "openmpi" not in have and not _open_words(words):
        return "intelmpi" if "intelmpi" in have else "mpich" if "mpich" in have else "openmpi5"
    return "openmpi5"


def _open_words(words: Words) -> bool:
    own = ("--mca", "-mca", "--map-by", "--bind-to", "--report-bindings", "-x", "--host", "-rf", "--rankfile", "--npernode")
    return any(word in own for word in words.rest) or any(name.startswith(("OMPI_", "PRTE_")) for name in words.environment)


def _open_mpi(
    words: Words, number: str | None, version: str | None, tools: Sequence[Tool], *, sure: bool
) -> tuple[Family, str | None, str]:
    """Return which Open MPI it is: what was said, what the machine has, how the line is spelled, else the newer."""
    tool = next((tool for tool in tools if tool.name == "openmpi" and tool.version), None)
    if number or version:
        old = sure or (_release(number) or (5, 0, 0)) < (5, 0, 0)
        return "openmpi4" if old else "openmpi5", number, "--launcher-version"
    if words.launcher in ("prterun", "prun"):
        return "openmpi5", None, f"the word {words.launcher}"
    if tool:
        return "openmpi4" if (_release(tool.version) or (5, 0, 0)) < (5, 0, 0) else "openmpi5", tool.version, "this machine"
    if words.launcher == "orterun":
        return "openmpi4", None, "the word orterun"
    rest = words.rest
    five = {"--prtemca", "--hetero-nodes", "--display", "--mapby", "--bindto", "--rtos", "--pmixmca"} & set(rest)
    if five or any(_FIVE.match(word) for word in rest) or any(name.startswith("PRTE_") for name in words.environment):
        return "openmpi5", None, "words that only Open MPI 5 knows"
    four = {"-rf", "--novm", "rmaps_dist_device", "rmaps_rank_file_physical", "--cpu-list", "--cpu-set", "--npernode"} & set(rest)
    if four or any(_FOUR.match(word) for word in rest) or any(name.startswith("OMPI_MCA_rmaps") for name in words.environment):
        return "openmpi4", None, "words of Open MPI 4"
    return "openmpi5", None, "nothing: the newest is supposed; say --launcher-version"
