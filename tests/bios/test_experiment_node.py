"""What is run on a node, and what its figure is."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from advisor.bios import experiment_server as module
from advisor.bios.experiment_plan import Program, Reads, ready_programs
from advisor.bios.experiment_server import Node
from advisor.errors import CannotWork
from advisor.machine.hosts.errands import Ended, Errand, Reply, Way


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a node whose ssh is a shell of this computer."""
    import subprocess

    def ask(nodes: tuple[str, ...], errand: Errand, way: Way, heard: object) -> None:
        assert way.timeout > 0
        with subprocess.Popen(["/bin/sh", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shell:
            assert shell.stdin
            assert shell.stdout
            assert shell.stderr
            shell.stdin.write(errand.script)
            shell.stdin.flush()
            out = shell.stdout.read()
            heard(Reply(nodes[0], out, shell.stderr.read(), shell.wait(), Ended.ITSELF))  # type: ignore[operator]

    monkeypatch.setattr(module, "ask_nodes", ask)
    return Node("n1")


def program(run: str, **more: object) -> Program:
    """Return a program."""
    return Program.model_validate({"name": "p", "run": run, **more})


RATE = {"metric": r"rate: (\S+)", "better": "high", "unit": "GB/s"}


def test_the_boot_and_the_place_are_the_nodes_own(here: Node) -> None:
    """As the kernel says; the words of the placement and the node's name are filled in."""
    assert here.boot() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert here.run(program("echo rate: {place}; test {node} = n1", **RATE), "42.5").figure == 42.5


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ("echo no; exit 3", "ended with status 3"),
        ("echo 'bad input' >&2; exit 1", "ended with status 1: bad input"),
        ("echo nothing", "its output does not contain the figure"),
        ("echo rate: 0", "its figure is 0: only positive figures can be compared"),
    ],
)
def test_a_failure_is_its_own_outcome(run: str, why: str, here: Node) -> None:
    """With its reason, never a figure."""
    found = here.run(program(run, **RATE), "")
    assert (found.figure, found.why) == (None, why)


def test_wall_time_is_the_nodes_own_clock(here: Node) -> None:
    """Without a metric, in seconds; where it is run is what the plan says."""
    found = here.run(program('sleep 0.2; test "$PWD" = /usr', folder="/usr"), "")
    assert found.why is None
    assert found.figure is not None
    assert found.figure >= 0.19


@pytest.mark.parametrize(("least", "said"), [(1e4, None), (-1.0, "CPUs were busy before the measurement")])
def test_a_node_is_waited_for_until_it_is_idle(
    least: float, said: str | None, here: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second at a time; who still works in the end is said, an idle node is not waited for."""
    monkeypatch.setattr(module, "_LOOKS", 1)
    monkeypatch.setattr(module, "LEAST", least)
    monkeypatch.setattr(module, "MOST", least)
    found = here.busy()
    assert (found is None, said is None or (found or "").endswith(said)) == (said is None, True)


def test_a_setting_of_the_kernel_is_written_and_seen(here: Node, tmp_path: Path) -> None:
    """Of a choice the one in brackets counts; of several files all must be alike, or it could not be put back."""
    one, two = tmp_path / "cpu0 x", tmp_path / "cpu1 x"
    one.write_text("always [madvise] never\n")
    assert here.read(str(one)) == "madvise"
    two.write_text("b\n")
    one.write_text("b\n")
    here.write(str(tmp_path / "cpu* x"), "a")
    assert (one.read_text(), two.read_text()) == ("a", "a")
    two.write_text("b")
    with pytest.raises(CannotWork, match="differs between CPUs"):
        here.read(str(tmp_path / "cpu* x"))


RESULTS = {
    "schema_version": 1,
    "advisor": "0",
    "machine": {},
    "conditions": {"started": "2026-11-23T00:00:00+00:00", "idle": True},
    "results": [],
}


def result(variant: str, value: float, part: str = "machine") -> dict[str, object]:
    """Return a result as advisor measure prints one."""
    where = {"part": part, "index": None, "cpus": [0], "memory": None, "distance": None}
    return {
        "task": f"membw/part/{part}/{variant}",
        "kernel": "membw",
        "purpose": "part",
        "variant": variant,
        "unit": "bytes/s",
        "values": [value] * 3,
        **where,
    }


def test_results_of_our_own_kernels_are_read(here: Node, tmp_path: Path) -> None:
    """Of regular and streaming stores the better; another part does not count; what is not there is said so."""
    place = tmp_path / "out.json"
    place.write_text(
        "A banner\n"
        + json.dumps({**RESULTS, "results": [result("triad", 100.0), result("triad-nt", 130.0), result("triad", 900.0, "core")]})
    )
    reads = Reads(purpose="part", variant="triad", part="machine")
    found = here.run(program(f"cat {place}", reads=reads, better="high", unit="bytes/s"), "")
    other = here.run(program(f"cat {place}", reads=Reads(purpose="hpl"), better="high", unit="flop/s"), "")
    none = here.run(program("echo hello", reads=reads, better="high", unit="bytes/s"), "")
    assert (found.figure, found.why) == (130.0, None)
    assert [other.why, none.why] == [
        "its output does not contain the expected result",
        "printed no results of advisor measure --json",
    ]


@pytest.mark.slow
def test_the_ready_program_for_memory_gives_its_figure_on_a_real_node(here: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the node's shell runs it, with the kernels built there; on a machine that others use, too."""
    if shutil.which("cc") is None:
        pytest.skip("no compiler is installed")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    membw = ready_programs()["membw"]
    ran = here.run(membw.model_copy(update={"run": f"{membw.run} --busy-ok"}), "")
    assert (ran.why, (ran.figure or 0) > 1e8) == (None, True)
