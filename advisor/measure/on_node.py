"""What measures a node from elsewhere: kernels and plan in one script, and what comes back read as if it had run here."""

import re
import tarfile
from base64 import encodebytes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from gzip import compress
from io import BytesIO
from shlex import quote
from typing import Final

from advisor.machine.hosts.base import Ran
from advisor.measure.idle_check import LEAST, MOST, SHARE
from advisor.measure.measurement import KernelSheet, Task
from advisor.measure.run import Outcome, limit_of, taken

_LINE: Final = re.compile(rb"(?:idle (\d{1,9}) (\d{1,6})|task (\d{1,4}) (\d{1,3}) (\d{1,9}) (\d{1,5}))\n")
_SIGNALS: Final = 128
END: Final = "advisor-kernels"


@dataclass(frozen=True)
class Recorded:
    """What a node wrote: how busy it was before and after, in CPUs, of how many; and what each kernel printed, by its task."""

    looks: tuple[tuple[float, int], ...]
    runs: Mapping[int, tuple[Ran, bytes]]
    whole: bool

    @property
    def busy(self) -> tuple[str, ...]:
        """Return in words what speaks against the results."""
        return tuple(f"{busy:.1f} of {cpus} CPUs are busy" for busy, cpus in self.looks if busy > _limit(cpus))


def _limit(cpus: int) -> float:
    return max(LEAST, min(SHARE * cpus, MOST))


def template_values(
    tasks: Sequence[Task],
    programs: Mapping[str, bytes],
    *,
    busy_ok: bool,
    sees: str | None = None,
    holds: bytes | None = None,
) -> dict[str, object]:
    """Return what the script is made from: the programs as an archive, the tasks as lines, the limits of the idle gate.

    With ``sees`` it only looks whether the node is idle and has a program at that path, which holds that where it is known.
    """
    lines = [
        " ".join([str(at), str(round(limit_of(task))), *map(quote, (task.kernel, *task.argv))]) for at, task in enumerate(tasks)
    ]
    limits = {"share": round(SHARE * 100), "most": round(MOST * 100), "least": round(LEAST * 100)}
    path = quote(sees) if sees else ""
    return {
        "programs": _archive(programs),
        "tasks": lines,
        "end": END,
        "busy_ok": busy_ok,
        "sees": path,
        "sum": "" if holds is None else cksum(holds),
        **limits,
    }


def cksum(data: bytes) -> str:
    r"""Return what POSIX's cksum prints of its input: the check value and the count of bytes.

    >>> cksum(b"hello\n")
    '3015617425 6'
    """
    check = 0
    length = len(data)
    for byte in (*data, *length.to_bytes((length.bit_length() + 7) // 8, "little")):
        check = (check << 8) & 0xFFFFFFFF ^ _CHECKS[check >> 24 ^ byte]
    return f"{check ^ 0xFFFFFFFF} {length}"


def _check(byte: int) -> int:
    value = byte << 24
    for _ in range(8):
        value = value << 1 ^ (_POLYNOMIAL if value >> 31 else 0)
    return value


_POLYNOMIAL: Final = 0x104C11DB7
"""Of CRC-32, as POSIX has it for cksum."""
_CHECKS: Final = tuple(map(_check, range(256)))


def _archive(programs: Mapping[str, bytes]) -> str:
    made = BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in sorted(programs.items()):
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(data), 0o755
            tar.addfile(about, BytesIO(data))
    return encodebytes(compress(made.getvalue(), mtime=0)).decode().rstrip("\n")


def recorded(data: bytes) -> Recorded:
    """Return what a node wrote; what is cut short ends there."""
    looks: list[tuple[float, int]] = []
    runs: dict[int, tuple[Ran, bytes]] = {}
    at = 0
    while match := _LINE.match(data, at):
        at = match.end()
        if match[1] is not None:
            looks.append((int(match[1]) / 100, int(match[2])))
            continue
        index, status, said, complained = (int(each) for each in match.groups()[2:])
        end = at + said + complained
        if end > len(data):
            return Recorded(tuple(looks), runs, whole=False)
        signal = status - _SIGNALS
        runs[index] = (Ran(err=data[at + said : end], status=-signal if signal > 0 else status), data[at : at + said])
        at = end
    return Recorded(tuple(looks), runs, whole=at == len(data))


def results_on_node(tasks: Sequence[Task], found: Recorded, kernels: Mapping[str, KernelSheet]) -> Outcome:
    """Return the results of what a node wrote, held against what the kernels declare as those of a run here are."""
    outcome = Outcome()
    for at, task in enumerate(tasks):
        if at not in found.runs:
            outcome.lacks(task, "not begun on the node")
            continue
        ran, text = found.runs[at]
        got = taken(task, ran, text, kernels.get(task.kernel))
        if isinstance(got, str):
            outcome.lacks(task, got)
        else:
            outcome.results += got
    return outcome
