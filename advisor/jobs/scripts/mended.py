"""All faults of a script; the script with them cured, edits applied round by round, and the difference as a patch."""

from collections.abc import Mapping
from difflib import unified_diff

from advisor.jobs.scripts import gpu_faults, header_faults, step_faults
from advisor.jobs.scripts.fault import Edit, Fault, Known
from advisor.jobs.scripts.steps import Scripted, read

_ROUNDS = 12


def faults(script: Scripted, known: Known) -> list[Fault]:
    """Return every fault of a script, in the order of its lines; what a loop's turns say alike is said once."""
    found: dict[tuple[str, int], Fault] = {}
    for rule in (*header_faults.RULES, *step_faults.RULES, *gpu_faults.RULES):
        for fault in rule(script, known):
            found.setdefault((fault.id, fault.line), fault)
    return sorted(found.values(), key=lambda fault: (fault.line, fault.id))


def mended(text: str, known: Known, environment: Mapping[str, str] | None = None) -> tuple[str, list[Fault]]:
    """Return the corrected script, and the faults that stay for they have no one correction."""
    left: list[Fault] = []
    for _ in range(_ROUNDS):
        left = faults(read(text, environment), known)
        edits = _apart([fault for fault in left if fault.edits])
        if not edits:
            break
        new = _applied(text, edits)
        if new == text:
            break
        text = new
    return text, left


def _apart(found: list[Fault]) -> list[Edit]:
    """Return the edits of faults that do not touch each other's: of two that do, the next round sees to the second."""
    taken: list[Edit] = []
    for fault in found:
        if all(not _touch(edit, other) for edit in fault.edits for other in taken):
            taken += [edit for edit in fault.edits if edit not in taken]
    return taken


def _touch(one: Edit, other: Edit) -> bool:
    if one == other:
        return False
    return one.start <= other.end and other.start <= one.end


def _applied(text: str, edits: list[Edit]) -> str:
    data = text.encode(errors="surrogateescape")
    for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
        data = data[: edit.start] + edit.new.encode(errors="surrogateescape") + data[edit.end :]
    return data.decode(errors="surrogateescape")


def patch(before: str, after: str, name: str) -> str:
    """Return the difference of two scripts as a patch."""
    lines = unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (corrected)", lineterm="")
    return "\n".join(lines) + ("\n" if before != after else "")
