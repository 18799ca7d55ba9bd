"""Small files made to fill the memory: each is refused in one line, and takes less than 544 MiB."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples import a_third

LIMIT = 544 << 10
"""KiB, as the kernel counts them."""


def cores(text: Callable[[int], str]) -> str:
    """Return a Machine whose cores name their CPUs so."""
    return '{"topology":{"cores":[' + ",".join(f'{{"os_index":0,"cpuset":"{text(n)}"}}' for n in range(22000)) + "]}}"


def ranks(rest: Callable[[int], str]) -> str:
    """Return a plan whose ranks go on so."""
    return '{"schema":"advisor-plan/1","ranks":[' + ",".join(f'{{"rank":{n},{rest(n)}}}' for n in range(80000)) + "]}"


MACHINE, PLAN = ["topology", "--from", "{}"], ["verify", "--plan", "{}", "--", "mpirun", "{{}}"]
MEASURED = ["measure", "show", "{}"]
HOSTILE = {
    "a blank after the number": (MACHINE, cores(lambda n: f"0-{1048575 - n} "), "would fill the memory"),
    "an escaped digit": (MACHINE, cores(lambda n: f"0-10{n:04}\\u0035"), "would fill the memory"),
    "objects without their keys": (MACHINE, '{"pci":[' + "{}," * 370000 + "1]}", "not a Machine"),
    "wrong values under many names": (
        MACHINE,
        '{"bios":{"attributes":{' + ",".join(f'"{n}":[]' for n in range(250000)) + "}}}",
        "an object has 250000 entries",
    ),
    "numbers without end": (MACHINE, '{"pci":[' + "1," * 3000000 + "1]}", "would exhaust the memory"),
    "lists nested too deeply": (MACHINE, '{"topology":' + "[" * 300000, "nested too deeply"),
    "short texts": (MACHINE, '{"pci":[' + '"ab",' * 390000 + "1]}", "not a Machine"),
    "a plan's CPUs": (PLAN, ranks(lambda n: f'"cpus":"0-{1048575 - n}"'), "would fill the memory"),
    "a plan's memory": (PLAN, ranks(lambda _: '"cpus":"0","memory":"0-1048575"'), "more than the 1024"),
    "a plan without ranks": (PLAN, '{"ranks":[' + "{}," * 3000000 + "1]}", "objects that are not ranks"),
    "a plan of texts": (PLAN, '{"ranks":[' + '"ab",' * 5800000 + "1]}", "not a rank"),
    "more measurements than any": (
        MEASURED,
        '{"schema_version":1,"conditions":{},"results":[' + "{}," * 2000000 + "1]}",
        "or too many",
    ),
    "measurements": (MEASURED, '{"schema_version":1,"conditions":{},"results":[' + "{}," * 140000 + "1]}", "no Measurements"),
}


BESIDE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, state, usage = os.wait4(process.pid, 0)
open(sys.argv[1], "w").write(f"{os.waitstatus_to_exitcode(state)} {usage.ru_maxrss}")
"""
"""The kernel counts what a process had before it became another program: it is started by one that has little."""


def peak(arguments: list[str], folder: Path) -> tuple[int, int, str]:
    """Return the status of a command, the KiB that it took, and what it said."""
    command = [sys.executable, "-c", BESIDE, str(folder / "usage"), sys.executable, "-m", "advisor", *arguments]
    with (folder / "said").open("w+") as said:
        subprocess.run(command, stdout=said, stderr=said, check=True)
        said.seek(0)
        code, kib = (folder / "usage").read_text().split()
        return int(code), int(kib), said.read()


@pytest.mark.parametrize("case", a_third(HOSTILE))
def test_refused_in_one_line(case: str, tmp_path: Path) -> None:
    """A hostile document is refused in one line that says why, and took little memory."""
    command, text, why = HOSTILE[case]
    file = tmp_path / "hostile.json"
    file.write_text(text)
    code, kib, said = peak([word.format(file) for word in command], tmp_path)
    assert (code, said.count("\n"), why in said, kib < LIMIT) == (2, 1, True, True), f"{said[:300]} {kib >> 10} MiB"


@pytest.mark.slow
def test_observed_sets_are_bounded(tmp_path: Path) -> None:
    """Lines of a probe that name a million CPUs each take no more than the sets of a document may."""
    line = "ADVISOR-RANK rank={0} size=- local=- host=a pid=1 cpus=0-{1} mems=0 policy=- last=- ucx=- omp=- gpu=-\n"
    (tmp_path / "lines").write_text("".join(line.format(n, 1048575 - n) for n in range(20000)))
    (tmp_path / "plan.json").write_text(json.dumps({"ranks": [{"rank": 0, "cpus": "0"}]}))
    code, kib, _ = peak(["verify", "--plan", str(tmp_path / "plan.json"), "--observed", str(tmp_path / "lines")], tmp_path)
    assert (code, kib < LIMIT) == (1, True)


@pytest.mark.slow
def test_sets_of_a_capture_are_bounded(tmp_path: Path) -> None:
    """The CPU lists of a captured /sys are bounded as those of a document are."""
    for cpu in range(4000):
        folder = tmp_path / f"root/sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"0-{1048575 - cpu}\n")
        (folder / "core_cpus_list").write_text(f"0-{1048575 - cpu}\n")
    (tmp_path / "root/sys/devices/system/cpu/online").write_text("0-3999\n")
    _, kib, said = peak(["topology", "--from", str(tmp_path / "root")], tmp_path)
    assert (kib < LIMIT, "Traceback" in said) == (True, False)
