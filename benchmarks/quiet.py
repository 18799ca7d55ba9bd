"""What every side-by-side benchmark shares: a gate that waits for a quiet machine, turns A B A B, medians, conditions."""

import os
import platform
import shutil
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep

BUSY = 0.08
"""Share of the CPUs' time that others may use in the second before a burst; above it figures drift by tens of percent."""
PATIENCE = 120.0
"""Seconds after which a burst starts on a busy machine all the same; how often that was stands in the conditions."""

_waited = {"bursts": 0, "busy": 0}


def wait_until_quiet() -> None:
    """Return when little else runs, or when patience is over."""
    _waited["bursts"] += 1
    end = monotonic() + PATIENCE
    while monotonic() < end:
        before = _spent()
        sleep(1.0)
        after = _spent()
        total = sum(after) - sum(before)
        # user, nice, system, idle, iowait, irq, softirq, steal: time that was stolen is somebody else's work too
        idle = after[3] + after[4] - before[3] - before[4]
        if total and 1 - idle / total < BUSY:
            return
    _waited["busy"] += 1


def _spent() -> list[int]:
    return [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]


def by_turns(sides: Mapping[str, Callable[[], float]], rounds: int, *, gate: bool = True) -> dict[str, list[float]]:
    """Return what each side gave in each round; the sides take turns, behind the gate, in an order that changes."""
    seen: dict[str, list[float]] = {name: [] for name in sides}
    for i in range(rounds):
        names = list(sides)
        for name in names[i % len(names) :] + names[: i % len(names)]:
            if gate:
                wait_until_quiet()
            seen[name].append(sides[name]())
    return seen


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def noise(values: Sequence[float]) -> float:
    """Return how far the lowest and the highest are apart, as a share of the median."""
    return (max(values) - min(values)) / statistics.median(values) if values else 0.0


def conditions() -> str:
    """Return the machine, the compilers and how quiet it was, one line each."""
    lines = [
        f"CPU: {_cpu()}, {os.cpu_count()} CPUs, kernel {platform.release()}",
        *(f"{name}: {_first_line(name)}" for name in ("gcc", "clang", "likwid-perfctr", "mpirun") if shutil.which(name)),
        (
            f"bursts: {_waited['bursts']}; {_waited['busy']} of them began while other processes used"
            f" more than {BUSY:.0%} of the CPUs"
        ),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _cpu() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    fields = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    model = f"family {named.get('cpu family', '?')} model {named.get('model', '?')}"
    return f"{named.get('model name', platform.machine())} ({model}{', virtual' if 'hypervisor' in text else ''})"


def _first_line(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    text = (done.stdout or done.stderr).strip().splitlines()
    return text[0] if text else "?"
