"""What is exported in tests, and the programs that read it: a machine, a fleet, hostile words. EVERY VALUE IS INVENTED."""

import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from advisor.advice.model.findings import Audit
from advisor.exports.export import ExportOptions, ExportSubject, built_in
from advisor.fleet.fleet import Drift, Fleet, Incident, Kind, Silent, Slow, Wrong
from advisor.machine.hardware import Cpu
from advisor.machine.machine import Kernel
from tests.know.listed import HOSTILE
from tests.render import audits, made, measurements

CACHE: Final = Path(os.environ.get("ADVISOR_EXPORTS_CACHE") or Path.home() / ".cache" / "advisor-exports")
"""Where `sh prepare.sh exports` puts the programs."""
OPTIONS: Final = ExportOptions("1.2.3", 1763789000.0)


def machine() -> ExportSubject:
    """Return two EPYC 7702 at NPS4 with an adapter and a card, their audit and what was measured."""
    return _machine()


@cache
def _machine() -> ExportSubject:
    kernel = Kernel(thp="always", numa_balancing=1, swappiness=10, zone_reclaim_mode=0, clocksource="tsc")
    cpu = Cpu(governors=("performance",), smt_control="on")
    rome = made.machine(
        made.topology(made.Shape(nodes=4, l3=4, cache=16 << 20)),
        name="node001",
        architecture="x86_64",
        kernel=kernel,
        cpu=cpu,
        pci=(made.card("0000:a1:00.0", "hca", 1),),
        hcas=(made.hca("mlx5_0", "0000:a1:00.0", 1),),
        gpus=(),
    )
    return ExportSubject(rome, made.layout(), audits.audit(), measurements.whole(), 1763788000.0)


def fleet() -> ExportSubject:
    """Return two kinds of hardware, with something wrong, drifted, slow and silent."""
    about: dict[str, Any] = {"severity": "high", "kind": "A", "title": "NPS below the best", "fix": "set NPS4"}
    found = Fleet(
        asked=6,
        answered=5,
        silent=(Silent(node="n006", why="timed out"),),
        kinds=(
            Kind(name="A", hardware="Dell C6525, 2 x EPYC 7702", nodes="n[001-004]", count=4),
            Kind(name="B", hardware="Dell R7425, 2 x EPYC 7601", nodes="login", count=1),
        ),
        wrong=(
            Wrong(rule="numa-nps-below-best", nodes="n[002-003]", count=2, of=4, claim="NPS1", **about),
            Wrong(rule="os-swappiness", severity="info", kind="B", nodes="login", count=1, of=1, claim="60"),
        ),
        drift=(
            Drift(fact="kernel.thp", kind="A", majority="always", nodes="n004", count=1, value="never", of=4),
            Drift(fact="kernel.thp", kind="A", majority="always", nodes="n003", count=1, value="madvise", of=4),
        ),
        slow=(Slow(figure="membw triad machine", node="n001", value=1e11, median=2e11, z=-9, kind="A", unit="bytes/s"),),
        incidents=(
            Incident(
                id="A/port-down/mlx5_0", action="drain", severity="high", kind="A", nodes="n001", count=1, of=4, text="port down"
            ),
            Incident(id="A/kernel.thp/", action="watch", severity="low", kind="A", nodes="n[003-004]", count=2, of=4, text="thp"),
            Incident(id="/silent/timed out", action="drain", severity="high", nodes="n006", count=1, text="no answer: timed out"),
        ),
        ended="2026-01-31T06:12:00Z",
    )
    kinds = {"A": machine().machine, "B": made.naples()}
    return ExportSubject(fleet=found, kinds={name: each for name, each in kinds.items() if each}, read=1769839920.0)


def hostile() -> ExportSubject:
    """Return a machine in whose audit every text from outside tries to break out."""
    told = HOSTILE + '\x07 \ud800 ]]> & \\ "'
    whole = machine()
    assert whole.audit is not None
    changes = {"subject": told, "claim": told, "title": told, "advice": told, "why": told, "waived": told}
    rows = tuple(row.model_copy(update={"current": told, "wanted": told, "term": told}) for row in whole.audit.settings)
    findings = tuple(each.model_copy(update=changes) for each in whole.audit.findings)
    audit: Audit = whole.audit.model_copy(update={"findings": findings, "settings": rows, "platform": told})
    return replace(whole, audit=audit)


def text_of(name: str, subject: ExportSubject, options: ExportOptions = OPTIONS) -> str:
    """Return the only file of a format."""
    return "".join(built_in()[name].files(subject, options).values())


def program(name: str, how: str = "sh prepare.sh exports, or test-packages, brings it") -> str:
    """Return where a program is, on PATH or in the cache; skip the test where it is neither."""
    found = shutil.which(name) or next((str(each) for each in (CACHE / name, CACHE / "venv/bin" / name) if each.is_file()), None)
    if found is None:
        pytest.skip(f"{name} is not there: {how}")
    return found


def python_with(module: str) -> str:
    """Return a Python of the cache that has a module; skip the test where none has."""
    folder = CACHE / "venv"
    if not next(folder.glob(f"lib/python*/site-packages/{module}"), None):
        pytest.skip(f"{module} is not there: sh prepare.sh exports brings it")
    return str(folder / "bin/python")


def said(*words: str | Path, given: str = "", **environment: str) -> tuple[int, str]:
    """Return how a program ends, and all that it says."""
    done = subprocess.run(
        [str(word) for word in words],
        input=given,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout
