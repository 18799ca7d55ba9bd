"""What an audit measures before it judges: fakes stand in for the kernels, the machine is this one. EVERY VALUE IS INVENTED."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.errors import CannotWork
from advisor.jobs.started import benchmark as network_run
from advisor.jobs.started import hpl as efficiency_run
from advisor.machine.machine import Machine
from advisor.machine.observer import Observer
from advisor.machine.read import read_machine
from advisor.measure import task as measuring
from advisor.measure.plan import Request
from advisor.measure.task import Measured, read_measurements
from tests.machines.catalogue import write_archive
from tests.measuring import one_result, one_run

Capture = pytest.CaptureFixture[str]
OWN = os.uname().nodename


def measured(machine: Machine, kernel: str, **more: Any) -> Measured:
    """Return one value of a kernel."""
    return Measured(one_run([one_result(**{"kernel": kernel, "values": (1e10,) * 3, **more})], machine), machine=machine)


HPL: dict[str, Any] = {
    "purpose": "hpl",
    "variant": "lu",
    "unit": "flop/s",
    "values": (97.5e9,),
    "task": "hpl/hpl/machine/lu-9000-192",
}
HPL["details"] = {"n": 9000, "nb": 192, "p": 1, "q": 2, "ranks": 2, "threads": 1, "program": "hpl"}
SENT: dict[str, Any] = {"purpose": "network", "variant": "mbw_mr", "bytes": 8, "task": "mbw_mr/network/any/machine"}
SENT["details"] = {"hosts_named": f"{OWN},n2", "launcher": "openmpi4", "across": 2, "pairs": 2, "messages": 1.25e9}


@dataclass
class Fakes:
    """What stands in for the three measurements, and what they were asked."""

    wishes: list[str] = field(default_factory=list)
    hows: list[measuring.MeasureOptions] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    hpl: Callable[[], None] = lambda: None
    network: Callable[[], None] = lambda: None

    def own(self, machine: Machine, wish: Request, how: measuring.MeasureOptions, _: Observer) -> Measured:
        """Return what the kernels would bring."""
        self.wishes.append(wish.what)
        self.hows.append(how)
        return measured(machine, "membw")

    def of_hpl(self, made: Any, **_: Observer) -> Measured:
        """Return what HPL would bring."""
        self.asked.append(made)
        self.hpl()
        return measured(made.machine, "hpl", **HPL)

    def of_network(self, made: Any, _: Observer) -> Measured:
        """Return what messages would bring."""
        self.asked.append(made)
        self.network()
        return measured(made.machine, "mbw_mr", **SENT)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """Put fakes in the places of what measures, away from any job, with a cache of its own."""
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Fakes()
    monkeypatch.setattr(measuring, "measure", made.own)
    monkeypatch.setattr(efficiency_run, "measure", made.of_hpl)
    monkeypatch.setattr(network_run, "measure", made.of_network)
    return made


def kept(tmp_path: Path) -> list[str]:
    """Return the kernels of which the cache has results."""
    return [each.kernel for each in read_measurements([tmp_path / "advisor" / "measured.json"]).results]


def test_hpl_and_messages_are_added(fakes: Fakes, tmp_path: Path, capsys: Capture) -> None:
    """All three are measured, kept together and named to the commands that follow; the tables stand below."""
    assert status(["audit", "--hpl", "--network", f"{OWN},n2", "--width", "120"]) == 0
    said = capsys.readouterr()
    assert (fakes.wishes, kept(tmp_path)) == (["quick"], ["membw", "hpl", "mbw_mr"])
    assert ("97.5" in said.out, f"{OWN} and n2" in said.out) == (True, True)
    assert said.out.index("MORE  ") < said.out.index("Many pairs")
    assert f"measure show {tmp_path}/advisor/measured.json" in " ".join(
        said.out.replace("\\\n", " ").split()
    )  # a long path is a line of its own


def test_it_says_beforehand_how_long_it_takes(fakes: Fakes, capsys: Capture) -> None:
    """The first line names what will be measured with its time and the whole; each later part has a line when it begins."""
    assert status(["audit", "--hpl", "--network", f"{OWN},n2"]) == 0
    first, *others = capsys.readouterr().err.splitlines()
    wanted = (
        "bandwidth, latency and peak for about",
        "HPL for about 60 s",
        f"messages between {OWN} and n2 for about",
        " in all",
    )
    assert [words for words in wanted if words not in first] == []
    assert [line.partition(",")[0] for line in others] == ["advisor: 2/3: HPL", f"advisor: 3/3: messages between {OWN} and n2"]


def test_without_a_wish_the_quick_set_is_all(fakes: Fakes, tmp_path: Path, capsys: Capture) -> None:
    """An audit measures what it did, and shows no table of it."""
    assert status(["audit"]) == 0
    assert (fakes.asked, kept(tmp_path), "GFLOP/s" in capsys.readouterr().out) == ([], ["membw"], False)


def test_full_is_everything(fakes: Fakes, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """In a job of two hosts --full takes all kernels, HPL of most of the memory on this host alone, and messages to the other."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", f"{OWN},n2,n3")
    assert status(["audit", "--full"]) == 0
    hpl, network = fakes.asked
    assert (fakes.wishes, hpl.options.full, hpl.job_hosts.hosts.names, network.job_hosts.hosts.names) == (
        ["full"],
        True,
        (OWN,),
        (OWN, "n2"),
    )


def test_full_without_a_second_host_says_so(fakes: Fakes, capsys: Capture) -> None:
    """Alone, --full leaves messages out and names the option."""
    assert status(["audit", "--full"]) == 0
    assert (
        "not measured: messages between hosts, because no second host is known; name two with --network A,B"
        in capsys.readouterr().err
    )
    assert len(fakes.asked) == 1


def test_what_cannot_be_had_is_one_line(fakes: Fakes, tmp_path: Path, capsys: Capture) -> None:
    """Without an MPI the audit goes on with the rest."""

    def absent() -> None:
        raise CannotWork("nothing was measured: mpirun is not installed here; load the MPI's module")

    fakes.hpl = absent
    assert status(["audit", "--hpl", "--network", f"{OWN},n2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "advisor: HPL not measured: mpirun is not installed here; load the MPI's module" in lines
    assert kept(tmp_path) == ["membw", "mbw_mr"]


def test_ctrl_c_keeps_what_is_done(fakes: Fakes, tmp_path: Path, capsys: Capture) -> None:
    """Ctrl-C in HPL leaves the rest out, the audit has what there is, and the status is 130."""

    def stopped() -> None:
        raise KeyboardInterrupt

    fakes.hpl = stopped
    assert status(["audit", "--hpl", "--network", f"{OWN},n2"]) == 130
    said = capsys.readouterr()
    assert ("the measurement was interrupted; the results so far are used" in said.err, "CHECKS  " in said.out) == (True, True)
    assert (kept(tmp_path), len(fakes.asked)) == (["membw"], 1)


def test_files_and_hpl_go_together(fakes: Fakes, tmp_path: Path) -> None:
    """--measurements stands for the quick set, and --hpl adds to it."""
    assert status(["audit"]) == 0
    file = tmp_path / "quick.json"
    (tmp_path / "advisor" / "measured.json").rename(file)
    assert status(["audit", "--measurements", str(file), "--hpl"]) == 0
    assert (fakes.wishes, kept(tmp_path)) == (["quick"], ["membw", "hpl"])


def test_hosts_that_are_not_this_machine_are_told(fakes: Fakes, capsys: Capture) -> None:
    """Two other hosts count as machines like this one, and it says so."""
    assert status(["audit", "--network", "n1,n2"]) == 0
    assert "neither n1 nor n2 is the name of this machine" in capsys.readouterr().err


def test_a_busy_machine_is_measured_where_that_is_wished(fakes: Fakes) -> None:
    """--busy-ok reaches all that measures."""
    assert status(["audit", "--busy-ok", "--hpl", "--network", f"{OWN},n2"]) == 0
    assert [each.busy_ok for each in (*fakes.hows, *(made.options for made in fakes.asked))] == [True, True, True]


REFUSED = {
    "another machine": (["--from", "x", "--network", "a,b"], "--from and --network cannot be combined"),
    "nothing measured": (["--no-measure", "--hpl"], "--no-measure and --hpl cannot be combined"),
    "measured already": (["--measurements", "x", "--full"], "--measurements and --full cannot be combined"),
    "one host": (["--network", "a"], "--network a is one host; name two: --network A,B"),
    "three hosts": (["--network", "a,b,c"], "messages need two hosts, but there are 3"),
    "no host": (["--network", "a,/"], "'/' is not a host name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case: str, fakes: Fakes, capsys: Capture) -> None:
    """One line says what, before anything is measured."""
    words, why = REFUSED[case]
    assert status(["audit", *words]) == 2
    error = capsys.readouterr().err
    assert (why in error, error.count("\n"), fakes.wishes) == (True, 1, []), error


@pytest.mark.parametrize("command", [["audit"], ["checklist"], ["explain", "measured-node-slow"], ["bind", "--ranks", "2"]])
def test_several_files_are_one(command: list[str], tmp_path: Path, capsys: Capture) -> None:
    """Every command that takes measurements takes several files; of different machines they are refused in one line."""
    archive = str(write_archive("a-r7425-2x7601-dell", tmp_path / "node.tar.gz"))
    first, second, other = (tmp_path / name for name in ("quick.json", "hpl.json", "other.json"))
    machine = read_machine(archive)
    first.write_text(measured(machine, "membw").measurements.model_dump_json())
    second.write_text(measured(machine, "hpl", **HPL).measurements.model_dump_json())
    wrong = json.loads(first.read_text()) | {"machine": {"name": "n9"}}
    other.write_text(json.dumps(wrong))
    tail = ["--", "./app"] if command[0] == "bind" else []
    options = [*command, "--from", archive, "--measurements", str(first), "--measurements"]
    assert status([*options, str(second), *tail]) == 0
    capsys.readouterr()
    assert status([*options, str(other), *tail]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), f"{other}: measured on a different machine" in error) == (1, True), error
