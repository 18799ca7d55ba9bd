"""A real launch on two hosts: the line of `advisor bind`, as it is, and `advisor verify` on what came of it."""

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from advisor.cli.main import status
from advisor.jobs.started.hosts import plan_in
from tests.fakenode import hydra
from tests.fakenode.lab import AGENT
from tests.fakenode.netns import beside, hindrance
from tests.fakenode.run import PROGRAMS, _marked

pytestmark = pytest.mark.slow
assert hydra
HOSTS = ("adv-h1", "adv-h2")
LAUNCHERS = {"openmpi4": ("openmpi", "4.1.4"), "openmpi5": ("openmpi", "5.0.11"), "mpich": ("mpich", "5.0.2")}
FORMS = {"short": [], "exact": ["--exact"], "wrapper": ["--wrapper"]}


class Launcher(NamedTuple):
    """What starts ranks here: its name and version for advisor bind, and where its programs are."""

    name: str
    version: str
    programs: Path


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest, scratch: Path) -> Launcher:
    """Return each launcher that is here; skip where it is not, or where there can be no two hosts of two CPUs."""
    program = PROGRAMS[request.param]()
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    if {0, 1} - os.sched_getaffinity(0):
        pytest.skip("CPUs 0 and 1 are not both this process's")
    why = hindrance(scratch / "try")
    if why is not None:
        pytest.skip(why)
    return Launcher(*LAUNCHERS[request.param], Path(program).parent)


def bind(launcher: Launcher, folder: Path, *more: str) -> None:
    """Plan two ranks for each host."""
    words = ["--hosts", ",".join(HOSTS), "--ranks-per-node", "2", *more]
    words += ["--launcher", launcher.name, "--launcher-version", launcher.version]
    assert status(["bind", *words, "-o", str(folder), "--", "hostname"]) == 0


def verify(launcher: Launcher, folder: Path, hosts: Path) -> tuple[int, dict[str, Any]]:
    """Return how verify ended and what it said, beside hosts whose folder is new."""
    variables = {"PATH": f"{launcher.programs}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = beside(HOSTS, hosts, [sys.executable, "-m", "advisor", "verify", str(folder), "--json"], variables)
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


@pytest.mark.parametrize("form", FORMS)
def test_ranks_on_two_hosts_are_where_bind_puts_them(launcher: Launcher, form: str, scratch: Path) -> None:
    """Every rank is on its host and its CPUs, with the line that bind wrote: short, with lists, or with the wrapper."""
    bind(launcher, scratch / "job", *FORMS[form])
    code, said = verify(launcher, scratch / "job", scratch / "hosts")
    assert (code, said["equal"], said["seen"], said["counts"]["exact"], said["notes"]) == (0, True, 4, 4, []), said


@pytest.mark.parametrize(
    ("swapped", "verdict"), [((0, 1), "elsewhere"), ((0, 2), "wrong host")], ids=["on-one-host", "between-hosts"]
)
def test_a_plan_with_ranks_swapped_is_told(launcher: Launcher, swapped: tuple[int, int], verdict: str, scratch: Path) -> None:
    """Two ranks that change places in the plan, on one host or between hosts, are the ones that differ."""
    bind(launcher, scratch / "job")
    file = scratch / "job" / "plan.json"
    ranks = [{"rank": each.rank, "host": each.host, "cpus": str(each.cpus)} for each in plan_in(str(file)).ranks]
    first, second = (ranks[rank] for rank in swapped)
    first["rank"], second["rank"] = second["rank"], first["rank"]
    file.write_text(json.dumps({"ranks": ranks}))
    code, said = verify(launcher, scratch / "job", scratch / "hosts")
    assert (code, said["equal"], said["seen"], said["counts"]["exact"]) == (1, False, 4, 2), said
    assert [(each["rank"], each["verdict"]) for each in said["differ"]] == [(rank, verdict) for rank in swapped], said
    assert said["causes"][0]["id"] == "ranking", said


def test_nothing_of_the_hosts_is_left(scratch: Path) -> None:
    """Their names, their networks and what runs on them are gone with the command, also where that failed."""
    why = hindrance(scratch / "try")
    if why is not None:
        pytest.skip(why)
    before = (Path("/etc/hosts").read_bytes(), sorted(Path("/sys/class/net").iterdir()), os.uname().nodename)
    words = f"sh {AGENT} adv-h1 'exec sleep 7777' & sh {AGENT} adv-h2 'hostname; hostname -I'; kill -0 $! && exit 3"
    ended = beside(HOSTS, scratch / "hosts", ["sh", "-c", words], {"FAKENODE_RUN": str(scratch)})
    assert (ended.returncode, ended.stdout.split()) == (3, ["adv-h2", "10.77.0.12"]), ended.stderr
    assert list(_marked(str(scratch))) == []
    assert (Path("/etc/hosts").read_bytes(), sorted(Path("/sys/class/net").iterdir()), os.uname().nodename) == before
