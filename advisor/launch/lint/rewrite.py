"""The words of a line: those that one version of Open MPI has and the other lacks, and the line written again with others."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from advisor.launch.lint.command_line import HYPHENS, Words
from advisor.launch.lint.line import Line, Said, release_of
from advisor.launch.lint.option_tables import OPENMPI
from advisor.launch.lint.request import Request
from advisor.model.hardware.operating_system import Tool

Change = Callable[[Said], Sequence[str] | None]
"""Gives the words that stand for an option; None: as it is."""

BINDING = frozenset(
    {
        "--map-by",
        "--rank-by",
        "--bind-to",
        "--rankfile",
        "-rf",
        "--cpu-set",
        "--cpu-list",
        "--cpus-per-proc",
        "--cpus-per-rank",
        "-N",
        "--npernode",
        "--npersocket",
        "--pernode",
        "--bycore",
        "--bynode",
        "--byslot",
        "--bysocket",
        "--bind-to-core",
        "--bind-to-socket",
        "--bind-to-none",
        "--use-hwthread-cpus",
        "--hetero-nodes",
        "-bind-to",
        "-map-by",
        "--cpu-bind",
        "--distribution",
        "--cpus-per-task",
    }
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


def swapped(line: Line, said: Said, words: Sequence[str]) -> str:
    """Return the line with one option written otherwise; what said the same beside it before is left out."""
    beside = next((part.options for part in line.segments if any(each is said for each in part.options)), ())
    twice = [each for each in beside if each is not said and each.name == words[0]]
    return rewrite(line, lambda each: words if each is said else () if any(each is other for other in twice) else None)


def rebound(line: Line, words: Sequence[str]) -> str:
    """Return the line with all that says where ranks go replaced."""
    return rewrite(line, lambda said: () if said.name in BINDING else None, add=words)


def shown(word: str) -> str:
    """Return a word with its odd hyphens marked, so that they can be seen."""
    return "".join(f"<U+{ord(letter):04X}>" if letter in HYPHENS else letter for letter in word)


RANK_BY_5 = frozenset({"slot", "node", "fill", "span"})


_OF_4 = frozenset({"--quiet", "--do-not-resolve", "--display-devel-allocation", "--display-diffable-map"})


@dataclass(frozen=True)
class Missing:
    """A word that this version does not know."""

    id: str
    word: str
    why: str
    better: str


def missing(line: Line, want: Request) -> Iterator[Missing]:
    """Yield what this version of Open MPI does not know; nothing starts then."""
    for said in line.options:
        if said.known and "=" in said.written[0]:
            yield from _joined(said, line)
        elif line.family == "openmpi5":
            yield from _gone(said, want)
        elif line.family == "openmpi4":
            yield from _new(said)


def apart(said: Said) -> bool:
    """Whether 5.0.11 takes no sign of equality behind an option: of these, and where it has no value (observed)."""
    short = said.written[0].lstrip("-").startswith("c=")
    return short or said.name in ("--map-by", "--bind-to", "--rank-by") or not OPENMPI[said.name][0]


def _joined(said: Said, line: Line) -> Iterator[Missing]:
    """Yield an option that is one word with its value, where its version does not take that."""
    word, better = " ".join(said.written), " ".join((said.name, *said.values))
    if line.family == "openmpi4":
        yield Missing("value-apart", word, "4.x takes the value of an option as the next word, never after =", better)
    elif line.family == "openmpi5" and line.release == (5, 0, 11) and apart(said):
        better = better if OPENMPI[said.name][0] else said.name
        yield Missing("value-apart", word, f"5.0.11 takes no = after {said.name} (seen: an error, nothing starts)", better)


def _gone(said: Said, want: Request) -> Iterator[Missing]:
    word, text = " ".join(said.written), (said.values[-1] if said.values else "").lower()
    if said.name == "-rf":
        better = f"--map-by rankfile:file={said.values[0]}"
        yield Missing("rankfile-of-4", word, "-rf is gone in 5.x; rankfiles are a way of mapping there", better)
    elif said.name == "--map-by" and text.startswith("dist"):
        yield Missing(
            "dist-gone", word, "mapping by distance to a device is gone in 5.x", "--map-by pe-list=...:ordered, or a rankfile"
        )
    elif said.name in ("--map-by", "--bind-to") and text.startswith("board"):
        yield Missing("gone-in-5", word, "boards are gone in 5.x", f"{said.name} package")
    elif said.name == "--bind-to" and text.startswith(("cpu-list", "cpulist")):
        better = f"--map-by pe-list={want.cpus or '0,1,2,3'}:ordered"
        yield Missing("gone-in-5", word, "5.x binds to no list; it maps by one", better)
    elif said.name == "--rank-by" and text.partition(":")[0] not in RANK_BY_5:
        better = f"--rank-by {'fill' if text.startswith('core') or ':fill' in text else 'slot'}"
        yield Missing("gone-in-5", word, "5.x ranks by slot, node, fill or span, not by parts of the node", better)
    elif said.name in ("--novm", "--bysocket", "--bind-to-socket", "--bind-to-none"):
        better = {
            "--bysocket": "--map-by package",
            "--bind-to-socket": "--bind-to package",
            "--bind-to-none": "--bind-to none",
        }.get(said.name, f"leave {word} out")
        yield Missing("gone-in-5", word, f"{said.name} is gone in 5.x", better)
    elif said.written[0] == "--bind-to-cores" or said.name in _OF_4:
        better = "--bind-to core" if said.written[0] == "--bind-to-cores" else f"leave {word} out"
        yield Missing("gone-in-5", word, f"{said.written[0]} is unknown to 5.x", better)
    elif said.written[0] in ("-map-by", "-bind-to", "-rank-by"):
        why = f"5.0.11 takes {said.written[0]} with one hyphen for something else (seen: an error, nothing starts)"
        yield Missing("single-hyphen", word, why, f"{said.name} {said.values[0]}")


def _new(said: Said) -> Iterator[Missing]:
    word, text = " ".join(said.written), (said.values[-1] if said.values else "").lower()
    if said.name in ("--map-by", "--bind-to") and "package" in text:
        better = f"{said.name} {text.replace('package', 'socket')}"
        yield Missing("only-in-5", word, "4.x calls a package socket", better)
    elif said.name == "--map-by" and text.startswith("rankfile"):
        better = f"--rankfile {said.values[0].partition('file=')[2].partition(':')[0] or 'FILE'}"
        yield Missing("only-in-5", word, "4.x has no mapping by rankfile", better)
    elif said.name == "--map-by" and text.startswith("pe-list"):
        yield Missing("only-in-5", word, "4.x has no pe-list", "--rankfile FILE")
    elif said.name == "--rank-by" and text in ("fill", "span"):
        yield Missing("only-in-5", word, "4.x ranks by slot, node or parts of the node", "--rank-by core")
    elif said.name in ("--prtemca", "--display", "--rtos", "--runtime-options", "--hetero-nodes", "--pmixmca"):
        same = {"--prtemca": _as_mca(said), "--display": "--report-bindings, --display-map"}
        better = same.get(said.name, f"leave {said.name} out")
        yield Missing("only-in-5", word, f"{said.name} came with 5.x", better)
    elif said.written[0].lstrip("-") in ("mapby", "bindto", "rankby"):
        yield Missing("only-in-5", word, "that spelling is of PRRTE's development branch", f"{said.name} {said.values[0]}")
    elif said.name in ("--output", "--omca", "--with-ft", "--bind-to-none") or said.written[0] == "--bind-to-cores":
        same = {"--bind-to-none": "--bind-to none", "--bind-to-core": "--bind-to core", "--omca": _as_mca(said)}
        better = same.get(said.name, "")
        yield Missing("gone-in-4", word, f"{said.written[0]} is unknown to 4.x", better or f"leave {word} out")
    elif said.name == "--bysocket":
        yield Missing("gone-in-4", word, f"{said.name} was of 1.6 and is unknown to 4.x", "--map-by socket")


def _as_mca(said: Said) -> str:
    """Return a parameter as every version takes it, with its name and its value; in words where a blank is in them."""
    words = ("--mca", *said.values)
    return " ".join(words) if not any(" " in word for word in words) else "write --mca in its place"


_FIVE = re.compile(r"rankfile:|pe-list=|package|hwtcpus|fill", re.IGNORECASE)
_FOUR = re.compile(r"dist\b|board|cpu-?list:ordered", re.IGNORECASE)


def open_mpi_claim(words: Words, tools: frozenset[str]) -> int:
    """Return how surely a line is Open MPI's: by its words or the machine; where nothing tells, it is assumed."""
    own = ("--mca", "-mca", "--map-by", "--bind-to", "--report-bindings", "-x", "--host", "-rf", "--rankfile", "--npernode")
    said = any(word in own for word in words.rest) or any(name.startswith(("OMPI_", "PRTE_")) for name in words.environment)
    return 4 if said or "openmpi" in tools or words.launcher not in ("mpirun", "mpiexec") else 1


def which_open_mpi(words: Words, number: str | None, name: str | None, tools: Sequence[Tool]) -> tuple[str, str | None, str]:
    """Return which Open MPI it is: what was said, what the machine has, how the line is spelled, else the newer."""
    tool = next((tool for tool in tools if tool.name == "openmpi" and tool.version), None)
    if number or name:
        old = name == "openmpi4" or (release_of(number) or (5, 0, 0)) < (5, 0, 0)
        return "openmpi4" if old else "openmpi5", number, "--launcher-version"
    if words.launcher in ("prterun", "prun"):
        return "openmpi5", None, f"the word {words.launcher}"
    if tool:
        return "openmpi4" if (release_of(tool.version) or (5, 0, 0)) < (5, 0, 0) else "openmpi5", tool.version, "this machine"
    if words.launcher == "orterun":
        return "openmpi4", None, "the word orterun"
    rest = words.rest
    five = {"--prtemca", "--hetero-nodes", "--display", "--mapby", "--bindto", "--rtos", "--pmixmca"} & set(rest)
    if five or any(_FIVE.match(word) for word in rest) or any(each.startswith("PRTE_") for each in words.environment):
        return "openmpi5", None, "words that only Open MPI 5 knows"
    four = {"-rf", "--novm", "rmaps_dist_device", "rmaps_rank_file_physical", "--cpu-list", "--cpu-set", "--npernode"} & set(rest)
    if four or any(_FOUR.match(word) for word in rest) or any(each.startswith("OMPI_MCA_rmaps") for each in words.environment):
        return "openmpi4", None, "words of Open MPI 4"
    return "openmpi5", None, "nothing: the newest is assumed; say --launcher-version"
