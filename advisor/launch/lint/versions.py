"""Words that one version has and the other has not: what makes a line of the one fail under the other."""

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.launch.lint.line import Line, Said
from advisor.launch.lint.wanted import Wanted

RANK_BY_5 = frozenset({"slot", "node", "fill", "span"})


_OF_4 = frozenset({"--quiet", "--do-not-resolve", "--display-devel-allocation", "--display-diffable-map"})


@dataclass(frozen=True)
class Missing:
    """A word that this version does not know."""

    id: str
    word: str
    why: str
    better: str


def missing(line: Line, want: Wanted) -> Iterator[Missing]:
    """Yield what this version of Open MPI does not know; nothing starts then."""
    for said in line.options:
        if line.family == "openmpi5":
            yield from _gone(said, want)
        elif line.family == "openmpi4":
            yield from _new(said)


def _gone(said: Said, want: Wanted) -> Iterator[Missing]:
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
        better = {"--prtemca": "--mca", "--display": "--report-bindings, --display-map"}.get(said.name, f"leave {said.name} out")
        yield Missing("only-in-5", word, f"{said.name} came with 5.x", better)
    elif said.written[0].lstrip("-") in ("mapby", "bindto", "rankby"):
        yield Missing("only-in-5", word, "that spelling is of PRRTE's development branch", f"{said.name} {said.values[0]}")
    elif said.name in ("--output", "--omca", "--with-ft", "--bind-to-none") or said.written[0] == "--bind-to-cores":
        better = {"--bind-to-none": "--bind-to none", "--bind-to-core": "--bind-to core", "--omca": "--mca"}.get(said.name, "")
        yield Missing("gone-in-4", word, f"{said.written[0]} is unknown to 4.x", better or f"leave {word} out")
    elif said.name == "--bysocket":
        yield Missing("gone-in-4", word, f"{said.name} was of 1.6 and is unknown to 4.x", "--map-by socket")
