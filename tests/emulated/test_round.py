"""The whole round on a server whose BIOS really changes it: found, planned, staged, restarted, proven, bound, and taken back.

Rates mean nothing on an emulated server: the third witness, what was measured before and after, is given invented figures.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import Admin, Said
from tests.bios.conftest import admin, rack  # noqa: F401 - fixtures
from tests.bios.wire import Rack
from tests.cli.test_before import saved
from tests.emulated.bmc_server import Emulated, Guest
from tests.emulated.guests import LIMIT, lacking
from tests.machines.catalogue import write_archive

CAPTURED = '"$PYTHON" -m advisor capture -o /run/vm/{name}.tar.gz >/dev/null'
VERIFIED = """
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1
rm -rf /run/vm/launch
"$PYTHON" -m advisor bind --ranks-per numa --launcher openmpi -o /run/vm/launch -- true >/dev/null
"$PYTHON" -m advisor verify /run/vm/launch --timeout 900 --json
"""


@dataclass
class Server:
    """An emulated server, its BMC, and who types commands at both."""

    bmc: Emulated
    admin: Admin

    def capture(self, name: str) -> Path:
        """Return a capture that is taken on the guest as it is now."""
        self.bmc.guest.run(CAPTURED.format(name=name))
        return self.bmc.guest.folder / f"{name}.tar.gz"

    def restarted(self) -> None:
        """Restart it by its BMC, and wait until it is up."""
        said = self.admin.restarts(self.bmc)
        assert said.status == 0, said.err
        end = time.monotonic() + LIMIT
        while not self.bmc.ready and self.bmc.power == "On":
            assert time.monotonic() < end, f"{self.bmc.guest.server} did not come up"
            time.sleep(0.5)

    def proves(self, plan: Path, capture: Path, *more: object) -> Said:
        """Ask the three witnesses."""
        words = ("bios", "prove", plan, "--record", self.admin.folder / "record.json", "--wait", "30", "--from", capture)
        return self.admin.types(*words, *more, "--json", bmc=self.bmc)

    def seen(self, capture: Path) -> tuple[int, str, str]:
        """Return how many NUMA nodes a capture has, how its CPUs are numbered, and whether they have second threads."""
        said = self.admin.types("topology", "--from", capture, "--json").document
        return said["counts"]["numa_nodes"], said["numbering"]["name"], said["smt"]["state"]


@pytest.fixture
def server(rack: Rack, admin: Admin, request: pytest.FixtureRequest) -> Iterator[Any]:  # noqa: F811
    """Return what switches on a server of a board with some settings and lies."""
    if reason := lacking():
        pytest.skip(reason)
    running: list[Emulated] = []

    def switched_on(board: str, settings: dict[str, str] | None = None, **habits: Any) -> Server:
        bmc = rack.add(Emulated(board=board, folder=admin.folder / "server", **habits))
        bmc.applied |= settings or {}
        running.append(bmc)
        bmc.switch_on()
        return Server(bmc, admin)

    yield switched_on
    for bmc in running:
        bmc.switch_off()


def says(said: Said) -> list[str]:
    """Return what the witnesses say."""
    return [each["says"] for each in said.document["witnesses"]]


def bound(admin: Admin, capture: Path) -> str:  # noqa: F811
    """Return the line that starts a rank in each NUMA node of a machine."""
    words = ("--ranks-per", "numa", "--launcher", "openmpi", "--quiet", "--", "./app")
    return admin.types("bind", "--from", capture, *words).out


@pytest.mark.emulated
@pytest.mark.slow
def test_nps1_is_found_changed_proven_and_taken_back(server: Any, admin: Admin) -> None:  # noqa: F811
    """Found by the audit, planned, staged, restarted: NPS4 to three witnesses and to bind, verified there; undone NPS1 again."""
    here: Server = server("rome")
    bmc, folder = here.bmc, admin.folder
    before = here.capture("before")
    audit = admin.types("audit", "--from", before, "--json", bmc=bmc).document
    found = [each["verdict"] for each in audit["verdicts"] if each["id"] == "numa-nps-below-best"]
    assert admin.types("bios", "read", "-o", folder / "bios.json", bmc=bmc).status == 0
    admin.types("bios", "plan", "--from", before, "--bios", folder / "bios.json", "-o", folder / "plan.yaml")
    staged = admin.stages(bmc, folder / "plan.yaml")
    assert staged.status == 0, staged.err
    early = here.proves(folder / "plan.yaml", before)
    here.restarted()
    after = here.capture("after")
    figures = [saved(folder / f"{name}.json", (8, rate)) for name, rate in (("then", 1e7), ("now", 1.5e7))]
    proof = here.proves(folder / "plan.yaml", after, "--before", figures[0], "--after", figures[1])
    assert proof.status == 0, proof.out
    lines = [bound(admin, each) for each in (before, after)]
    verified = json.loads(bmc.guest.run(VERIFIED, 1800))
    undone = admin.types("bios", "undo", folder / "record.json", "--yes", "--record", folder / "undo.json", bmc=bmc)
    here.restarted()
    back = here.capture("back")
    assert (found, staged.status, early.status, proof.status, undone.status) == (["finding"], 0, 1, 0, 0), undone.err
    assert says(proof) == ["holds", "holds", "holds"]
    assert (lines[0] != lines[1], "-np 2 " in lines[0], "-np 8 " in lines[1]) == (True, True, True)
    assert (verified["equal"], verified["counts"]["exact"]) == (True, 8)
    assert (here.seen(after)[0], here.seen(back)[0]) == (8, 2)
    assert (bmc.applied["NumaNodesPerSocket"], bmc.resets) == ("1", ["GracefulRestart", "GracefulRestart"])
    assert not [each for each in bmc.writes() if each.method not in ("PATCH", "POST")]


WAYS: list[tuple[str, dict[str, str], dict[str, str], tuple[int, str, str], tuple[int, str, str]]] = [
    (
        "rome",
        {"CcxAsNumaDomain": "Enabled"},
        {"CcxAsNumaDomain": "Disabled", "NumaNodesPerSocket": "4"},
        (32, "linear", "off"),
        (8, "linear", "off"),
    ),
    ("rome", {}, {"MadtCoreEnumeration": "RoundRobin"}, (2, "linear", "off"), (2, "round-robin", "off")),
    (
        "intel",
        {"MadtCoreEnumeration": "Linear"},
        {"SubNumaCluster": "2-Way", "LogicalProc": "Disabled"},
        (2, "linear", "on"),
        (4, "linear", "off"),
    ),
]
"""A board with settings, what is planned, and NUMA nodes, numbering and SMT as its kernel has them before and after."""


@pytest.mark.emulated
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "settings", "wanted", "before", "after"),
    [
        pytest.param(*WAYS[0], marks=pytest.mark.matrix, id="l3-as-numa"),
        pytest.param(*WAYS[1], marks=pytest.mark.matrix, id="numbering"),
        pytest.param(*WAYS[2], id="smt-and-snc"),  # half the CPUs of the others: CI has time for it
    ],
)
def test_each_way_to_cut_and_number_goes_there_and_back(
    *,
    board: str,
    settings: dict[str, str],
    wanted: dict[str, str],
    before: tuple[int, str, str],
    after: tuple[int, str, str],
    server: Any,
    admin: Admin,  # noqa: F811
) -> None:
    """Staged and restarted it is so to the BMC and to the kernel; undone and restarted it is as it was."""
    here: Server = server(board, settings)
    bmc, folder, was = here.bmc, admin.folder, dict(here.bmc.applied)
    plan = planned(folder, wanted, {"rome": "rome", "intel": "ice-lake"}[board])
    first = here.capture("before")
    staged = admin.stages(bmc, plan)
    here.restarted()
    second = here.capture("after")
    proof = here.proves(plan, second)
    admin.types("bios", "undo", folder / "record.json", "--yes", "--record", folder / "undo.json", bmc=bmc)
    here.restarted()
    third = here.capture("back")
    assert (staged.status, proof.status, says(proof)[0]) == (0, 0, "holds"), staged.err + proof.out
    assert [here.seen(each) for each in (first, second, third)] == [before, after, before]
    assert bmc.applied == was


def planned(folder: Path, values: dict[str, str], platform: str) -> Path:
    """Write a plan by hand, as an admin does who edits one."""
    place = folder / "plan.yaml"
    changes = [{"attribute": name, "value": value} for name, value in values.items()]
    place.write_text(
        json.dumps({"format": "advisor-bios-plan/1", "vendor": "dell", "platform": platform, "changes": changes}),
        encoding="utf-8",
    )
    return place


class Shown(Guest):
    """A guest that is not booted: the published machine that its server is made after stands in."""

    def start(self, server: str) -> None:
        """Be a server."""
        self.server = server
        (self.folder / "up").touch()

    def stop(self, *, gracefully: bool = True) -> None:  # noqa: ARG002 - as a guest is stopped
        """Be none."""
        (self.folder / "up").unlink(missing_ok=True)
        self.server = None

    def capture(self, place: Path) -> Path:
        """Return a capture of what it is now."""
        return write_archive(f"b-c6525-2x7702-{str(self.server).removeprefix('rome-')}", place)


@pytest.fixture
def shown(rack: Rack, admin: Admin) -> Any:  # noqa: F811
    """Return what switches on a server that is not booted."""

    def switched_on(settings: dict[str, str] | None = None, **habits: Any) -> Emulated:
        bmc = rack.add(Emulated(board="rome", folder=admin.folder / "server", **habits))
        bmc.machine.system["Model"] = "PowerEdge C6525"
        bmc.guest = Shown(bmc.folder / "guest")
        bmc.applied |= settings or {}
        return bmc.switch_on()

    return switched_on


def changed(bmc: Emulated, admin: Admin, wanted: dict[str, str] | None = None) -> tuple[Path, Path, Said]:  # noqa: F811
    """Plan what the audit wants, or what is given, stage it and restart; return captures before and after, and the proof."""
    folder, plan = admin.folder, admin.folder / "plan.yaml"
    before = bmc.guest.capture(folder / "before.tar.gz")  # type: ignore[attr-defined]
    assert admin.types("bios", "read", "-o", folder / "bios.json", bmc=bmc).status == 0
    assert admin.types("bios", "plan", "--from", before, "--bios", folder / "bios.json", "-o", plan).status == 0
    if wanted:
        planned(folder, wanted, "rome")
    staged = admin.stages(bmc, plan)
    assert staged.status == 0, staged.err
    assert admin.restarts(bmc).status == 0
    bmc.settled_down()
    after = bmc.guest.capture(folder / "after.tar.gz") if bmc.guest.server else before  # type: ignore[attr-defined]
    words = ("bios", "prove", plan, "--record", folder / "record.json", "--wait", "1", "--from", after, "--json")
    return before, after, admin.types(*words, bmc=bmc)


L3 = ({"CcxAsNumaDomain": "Enabled"}, {"CcxAsNumaDomain": "Disabled", "NumaNodesPerSocket": "4"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "wanted", "cuts", "system"),
    [
        ({}, None, ["NPS1", "NPS4", "NPS1"], "holds"),
        ({"NumaNodesPerSocket": "2"}, None, ["NPS2", "NPS4", "NPS2"], "holds"),
        (*L3, ["L3-as-NUMA", "NPS4", "L3-as-NUMA"], "holds"),
        (L3[0], None, ["L3-as-NUMA", "L3-as-NUMA", "L3-as-NUMA"], "cannot tell"),  # NPS 4 beneath it, which hides that
    ],
    ids=["nps1", "nps2", "l3-as-numa", "beneath-l3-as-numa"],
)
def test_the_round_on_published_machines(
    *,
    settings: dict[str, str],
    wanted: dict[str, str] | None,
    cuts: list[str],
    system: str,
    shown: Any,
    admin: Admin,  # noqa: F811
) -> None:
    """The same round with the published machines for guests: what was planned is proven, and undone it is as it was."""
    bmc = shown(settings)
    was = dict(bmc.applied)
    before, after, proof = changed(bmc, admin, wanted)
    undone = admin.types("bios", "undo", admin.folder / "record.json", "--yes", "--record", admin.folder / "u.json", bmc=bmc)
    assert (undone.status, admin.restarts(bmc).status) == (0, 0), undone.err
    bmc.settled_down()
    back = bmc.guest.capture(admin.folder / "back.tar.gz")
    seen = [admin.types("topology", "--from", each, "--json").document["cut"]["name"] for each in (before, after, back)]
    assert (proof.status, says(proof)[:2], seen) == (0, ["holds", system], cuts), proof.out
    assert bmc.applied == was


LIES: list[tuple[dict[str, set[str]], list[str], str]] = [
    ({"lies": {"applies nothing"}}, ["does not hold", "does not hold"], "NumaNodesPerSocket is 1, but the plan has 4"),
    ({"lies": {"applies another"}}, ["does not hold", "does not hold"], "NumaNodesPerSocket is 2, but the plan has 4"),
    ({"lies": {"stays pending"}}, ["does not hold", "does not hold"], "its job ended Exception"),
    ({"lies": {"power lost"}}, ["does not hold", "does not hold"], "NumaNodesPerSocket is 1, but the plan has 4"),
    ({"lies": {"another uuid"}}, ["does not hold", "holds"], "another server: UUID"),
    ({"lies": {"another bios"}}, ["does not hold", "holds"], "different BIOS version"),
    ({"guest_lies": {"guest as before"}}, ["holds", "does not hold"], "numa.nps is 1, but the plan sets it to 4"),
    ({"guest_lies": {"guest as another"}}, ["holds", "does not hold"], "numa.nps is 2, but the plan sets it to 4"),
    (
        {"lies": {"shows early"}, "guest_lies": {"guest as before"}},
        ["holds", "does not hold"],
        "numa.nps is 1, but the plan sets it to 4",
    ),
]
"""A lie, what the BMC and the operating system say then, and in which words."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lie", "witnesses", "words"), LIES, ids=[", ".join(sorted(set.union(*each[0].values()))) for each in LIES]
)
def test_a_lie_is_found_by_the_witness_that_should(
    *,
    lie: dict[str, set[str]],
    witnesses: list[str],
    words: str,
    shown: Any,
    admin: Admin,  # noqa: F811
) -> None:
    """Whatever is answered: the plan is not proven, and the witness who sees it says why."""
    _, _, proof = changed(shown(**lie), admin)
    told = " ".join(line for each in proof.document["witnesses"] for line in each["why"])
    assert (proof.status, says(proof)[:2], words in told) == (1, witnesses, True), told
