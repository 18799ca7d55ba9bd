"""Kernels that run elsewhere: the script with them, the idle gate in it, and what comes back."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from advisor.machine.hosts.base import Ran
from advisor.machine.hosts.nodes import measure_script
from advisor.measure.contract import read_kernels
from advisor.measure.measurement import Task
from advisor.measure.run import recorded, results_on_node, template_values
from advisor.paths import template

LINE = b'{"contract": 1, "kernel": "membw", "variant": "triad", "unit": "bytes/s", "cpus": [0, 1], "values": [5e9, 5e9]}\n'
TASK = Task(
    name="membw/part/machine/triad",
    kernel="membw",
    purpose="part",
    variants=("triad",),
    part="machine",
    cpus=(0, 1),
    arguments=("--pattern", "it's; triad"),
    seconds=1.0,
)
KERNEL = b"""#!/bin/sh
[ "$1" = --list ] && exit 0
echo "$@" >&2
echo '{"contract": 1, "kernel": "membw", "variant": "triad", "unit": "bytes/s", "cpus": [0, 1], "values": [5e9, 5e9]}'
"""


def ran(folder: Path, kernel: bytes, *, busy: int = 0, busy_ok: bool = False) -> bytes:
    """Return what the script writes on a machine of two CPUs that used so many hundredths of a second while it looked."""
    (folder / "tmp").mkdir()
    script = measure_script(template("measure_on_node.sh.j2"), template_values([TASK], {"membw": kernel}, busy_ok=busy_ok))
    (folder / "stat").write_text("cpu  100 0 100 900 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n")
    (folder / "later").write_text(f"cpu  {100 + busy} 0 100 1000 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n")
    (folder / "sleep").write_text(f"#!/bin/sh\n[ $1 -gt 1 ] || cat {folder}/later >{folder}/stat\n")
    (folder / "sleep").chmod(stat.S_IRWXU)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "PATH": f"{folder}:{os.environ['PATH']}"}
    text = script.replace("/proc/stat", f"{folder}/stat").replace("&& kill -KILL", "&& : -KILL")
    done = subprocess.run(
        ["/bin/sh", "-s", "--", "-o", folder / "out"], input=text.encode(), env=environment, capture_output=True, check=False
    )
    assert list((folder / "tmp").glob("kernels*")) == [], done.stderr
    return (folder / "out").read_bytes() + done.stderr


@pytest.mark.parametrize(
    ("there", "status", "says"),
    [
        (KERNEL, 0, b""),
        (b"#!/bin/sh\n", 3, b"differs on this node from the program here\n"),
        (None, 3, b"is missing on this node"),
    ],
    ids=["the same", "another", "none"],
)
def test_a_program_that_ranks_start_must_be_the_same_on_the_node(
    tmp_path: Path, there: bytes | None, status: int, says: bytes
) -> None:
    """Before any rank starts: one that was built earlier and copied there is named."""
    place = tmp_path / "mbw mr"
    if there is not None:
        place.write_bytes(there)
        place.chmod(stat.S_IRWXU)
    values = template_values((), {}, busy_ok=True, sees=str(place), holds=KERNEL)
    script = measure_script(template("measure_on_node.sh.j2"), values).encode()
    done = subprocess.run(["/bin/sh", "-s", "--", "-o", tmp_path / "out"], input=script, capture_output=True, check=False)
    assert (done.returncode, says in done.stderr) == (status, True), done.stderr


def test_a_task_runs_with_its_own_words_and_comes_back(tmp_path: Path) -> None:
    """No word of it is read by the shell; nothing of the kernels stays."""
    found = recorded(ran(tmp_path, KERNEL))
    words = "--cpus 0,1 --pattern it's; triad\n"
    assert found.runs == {0: (Ran(err=words.encode()), LINE)}
    assert (found.looks, found.busy, found.whole) == (((0.0, 2), (0.0, 2)), (), True)
    outcome = results_on_node([TASK], found, read_kernels().sheets)
    assert ([(each.variant, each.median) for each in outcome.results], outcome.missing) == ([("triad", 5e9)], [])


def test_a_busy_node_is_not_measured(tmp_path: Path) -> None:
    """More than a twelfth of its CPUs were busy in the second before."""
    found = recorded(ran(tmp_path, KERNEL, busy=17))
    assert (found.runs, found.busy) == ({}, ("0.2 of 2 CPUs are busy",))


def test_a_busy_node_is_measured_where_that_is_wished_and_the_result_says_so(tmp_path: Path) -> None:
    """As advisor measure --busy-ok does."""
    found = recorded(ran(tmp_path, KERNEL, busy=50, busy_ok=True))
    assert (len(found.runs), found.busy) == (1, ("0.5 of 2 CPUs are busy",))


def test_a_kernel_that_does_not_start_is_said(tmp_path: Path) -> None:
    """A folder without the right to run programs, or a processor of another kind."""
    said = ran(tmp_path, b"#!/nowhere/sh\n")
    assert (b"does not start" in said, recorded(said).runs) == (True, {})


@pytest.mark.parametrize(
    ("status", "why"),
    [(1, "its result was wrong: no"), (3, "not possible on this machine: no"), (137, "membw was killed by signal 9: no")],
)
def test_a_kernel_that_fails_has_its_reason(status: int, why: str) -> None:
    """As it has here."""
    found = recorded(b"idle 0 2\ntask 0 %d 0 3\nno\n" % status)
    assert [each.why for each in results_on_node([TASK], found, {}).missing] == [why]


@pytest.mark.parametrize("data", [b"", b"junk\n", b"task 0 0 999 0\nshort", b"idle 0 2\ntask 0 0 5 0\njunk\n"])
def test_junk_is_no_result(data: bytes) -> None:
    """And what is cut short is none either."""
    outcome = results_on_node([TASK], recorded(data), read_kernels().sheets)
    assert (outcome.results, len(outcome.missing)) == ([], 1)
