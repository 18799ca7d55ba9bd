"""Where a figure stands: its ceiling, and what others published under the same, other or unknown conditions."""

from typing import Any

import pytest

from advisor.advice.judge.case import case_of
from advisor.advice.judge.measured import measured_facts
from advisor.advice.judgement import judged
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import UNPUBLISHED, Place
from advisor.measure.measurement import Measurements
from advisor.measure.platform import PublishedFigure, match_platform, published_figures
from tests.judge.sending import measurements
from tests.machines.read import machine
from tests.measuring import one_result

ROME = "b-c6525-2x7702-nps4"
GB = 1e9


def unread(name: str = ROME) -> Machine:
    """Return a machine whose DIMMs nobody read, as without root."""
    return machine(name).model_copy(update={"memory": None})


def triad(of: Machine, rate: float, *, idle: bool | None = None, **more: Any) -> Measurements:
    """Return STREAM's triad over all cores, as it is imported."""
    assert of.topology
    cpus = tuple(min(core.cpuset) for core in of.topology.cores)
    fields = {
        "task": "imported/stream",
        "kernel": "stream",
        "purpose": "part",
        "variant": "triad",
        "part": "machine",
        "cpus": cpus,
    }
    made = one_result(**{**fields, "unit": "bytes/s", "values": (rate,), "distance": "spread", "bytes": 8 << 30, **more})
    found = measurements(of, [made], idle=True)
    return found.model_copy(
        update={"conditions": found.conditions.model_copy(update={"idle": idle, "imported": ("STREAM 5.10",)})}
    )


def place(of: Machine, rate: float, *rows: PublishedFigure, idle: bool | None = None, runs: int = 1) -> Place:
    """Return where a triad stands among rows, or among what is published."""
    platform = match_platform(of)
    case = case_of(of, infer_layout(of), platform)
    (found,) = measured_facts(triad(of, rate, idle=idle, values=(rate,) * runs), case, rows or published_figures(platform)).places
    return found


def row(**fields: Any) -> PublishedFigure:
    """Return a triad of 270 to 300 GB/s of two EPYC 7702 under no stated condition."""
    usual = {"processor": "EPYC 7702", "of": "node", "sockets": 2, "metric": "triad", "value": "270..300 GB/s", "cloud": "metal"}
    return PublishedFigure.model_validate({**usual, "kind": "measured", "grade": "vendor", "source": "dell-rome-2019", **fields})


@pytest.mark.parametrize(
    ("rate", "says", "ceiling", "severity"),
    [
        (40, "15 % of the 270 to 300 GB/s published", "10 %", "high"),
        (80, "30 % of the 270 to 300 GB/s published", "20 %", "high"),
        (150, "56 % of the 270 to 300 GB/s published", "37 %", "high"),
        (220, "81 % of the 270 to 300 GB/s published", "54 %", "low"),
        (300, "within the 270 to 300 GB/s published", "73 %", None),
    ],
)
def test_each_triad_of_two_7702_has_its_own_true_sentence(rate: float, says: str, ceiling: str, severity: str | None) -> None:
    """DIMMs that nobody read hide no publication; the ceiling is the sheet's, and a low figure is a finding, idle or not."""
    here = unread()
    found = place(here, rate * GB)
    assert found.says == f"{rate} GB/s: {says} for 2 x EPYC 7702 [dell-rome-2019], NPS4; unverified: 3200 MT/s"
    assert found.of_ceiling == f"{ceiling} of the 409.6 GB/s that 8 channels of DDR4-3200 in each of 2 sockets can carry"
    verdicts = judged(here, "mpi", (), measurements=triad(here, rate * GB)).audit.found
    assert [each.severity for each in verdicts if each.topic == "measured"] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("rate", "doubt"),
    [
        (40, "all memory on one NUMA node, which delivers at most 51.2 GB/s"),
        (80, "memory or threads on one socket, which delivers at most 204.8 GB/s"),
    ],
)
def test_what_arithmetic_cannot_exclude_is_said(rate: float, doubt: str) -> None:
    """No more than a node carries may be a first touch on that node; with no idle look other work is possible."""
    found = place(unread(), rate * GB)
    assert (doubt in found.doubts, "other work running at the same time" in found.doubts) == (True, True)


@pytest.mark.parametrize(
    ("fields", "outcome", "differs", "unknown"),
    [
        ({"numa": "NPS4", "threads": 128}, "meets", (), ()),
        ({"numa": "NPS1"}, "other", ("NPS1 (here NPS4)",), ()),
        ({"numa": "NPS4", "memory": "DDR4-3200"}, "unknown", (), ("3200 MT/s",)),
        ({"numa": "NPS4", "threads": 64}, "other", ("64 threads (here 128)",), ()),
        ({"numa": "NPS4", "smt": "on"}, "other", ("SMT on (here SMT off)",), ()),
        ({"numa": "NPS4", "stores": "streaming"}, "unknown", (), ("streaming stores",)),
        ({}, "unknown", (), ()),
    ],
    ids=["met", "another partitioning", "speed not read", "half the threads", "SMT", "stores not said", "nothing stated"],
)
def test_a_publication_has_one_of_three_outcomes(
    fields: dict[str, Any], outcome: str, differs: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    """Met; under other conditions, which are named; under such as nobody knows here."""
    (found,) = place(unread(), 250 * GB, row(**fields)).published
    assert (found.outcome, found.differs, found.unknown) == (outcome, differs, unknown)


@pytest.mark.parametrize(
    ("of", "more", "doubt"),
    [
        (machine(ROME), {}, "a DIMM that dropped off its channel or runs hot, or firmware settings"),
        (machine(ROME), {"cpus": (0,)}, "1 thread on 128 cores"),
        (machine("memoryless"), {}, "memory channels without a DIMM"),
    ],
    ids=["all as it should be", "one thread", "empty channels"],
)
def test_the_likely_cause_comes_first(of: Machine, more: dict[str, Any], doubt: str) -> None:
    """What is known to be missing, before what cannot be excluded."""
    case = case_of(of, infer_layout(of), match_platform(of))
    (found,) = measured_facts(triad(of, 250 * GB, idle=True, **more), case, published_figures(match_platform(of))).places
    assert found.doubts.startswith(doubt), found.doubts


PLACES = {
    ROME: (270, ("high", "high", "low", "low", None, None)),
    "a-r7425-2x7601-dell": (244, ("high", "high", None, None, None, None)),
    "big": (984.8, ("high", "high", None, None, None, None)),
    "epyc-7742-crux": (219.4, ("high", "high", "low", "low", None, None)),
    "nvdimm": (155.2, ("high", "high", None, None, None, None)),
}
"""The lowest figure that counts, and what 15, 40, 70, 85, 99 and 110 % of it are; figures under other conditions alone judge
nothing above 70 %: it is said where the machine stands among them."""


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(("idle", "runs"), [(True, 3), (True, 1), (None, 3), (None, 1)])
def test_each_share_of_the_published_has_its_verdict(name: str, idle: bool | None, runs: int) -> None:
    """Whether idle or not told, one run or three: never green far below, never red as published, one finding of the machine."""
    here, (lowest, expected) = machine(name), PLACES[name]
    severities = []
    for share in (0.15, 0.4, 0.705, 0.85, 0.99, 1.1):
        rate = share * lowest * GB
        found = judged(here, "mpi", (), measurements=triad(here, rate, idle=idle, values=(rate,) * runs)).audit.found
        own = [each.severity for each in found if each.topic == "measured" and "of the machine" in str(each.claim)]
        severities.append(own)
    met = name == ROME and (idle, runs) == (True, 3)  # every condition of a publication is met: a verdict, not a doubt
    assert severities == [[] if each is None else ["medium" if met and each == "low" else each] for each in expected]


def test_figures_without_stated_conditions_are_no_verdict_alone() -> None:
    """85 % of a figure that states nothing is no finding; 60 % of the lowest of them all is."""
    assert place(unread(), 230 * GB, row()).stated_low is None
    assert place(unread(), 230 * GB, row(numa="NPS4")).stated_low == 270 * GB


def test_the_lowest_of_all_counts() -> None:
    """A figure is held against the least of what can be compared, whatever its conditions."""
    found = place(unread(), 150 * GB, row(numa="NPS4"), row(value="180 GB/s", numa="NPS1"))
    assert (found.count, found.low, found.high, found.stated_low) == (2, 180 * GB, 300 * GB, 270 * GB)
    assert "83 % of the lowest of the 180 to 300 GB/s published for 2 x EPYC 7702" in found.says


def test_several_have_a_median_and_the_nearest_says_how_it_was_measured() -> None:
    """What differs of the nearest may be what is behind a low figure."""
    found = place(unread(), 150 * GB, row(numa="NPS4"), row(value="180 GB/s", numa="NPS1", threads=16), row(value="240 GB/s"))
    assert found.median == 240 * GB
    assert "[3 figures, median 240 GB/s]" in found.says
    assert found.says.endswith("; closest: 180 GB/s with NPS1 (here NPS4), 16 threads (here 128)")


@pytest.mark.parametrize(("rate", "where"), [(100, "below the"), (290, "within the"), (350, "above the")])
def test_neighbours_are_shown_and_judge_nothing(rate: float, where: str) -> None:
    """A figure of another generation says where ours lies, without a share, and no finding stands on it."""
    other = row(processor="EPYC 9654", value="280..300 GB/s", neighbour="EPYC 9004 (Genoa)", numa="NPS4")
    found = place(unread(), rate * GB, other, idle=True)
    assert (found.kin, found.count, found.judged, found.stated_low) == (True, 0, False, None)
    words = where if where == "within the" else where.replace("the", "all of the")
    assert found.says.startswith(
        f"{rate} GB/s: {words} 280 to 300 GB/s published for 2 x EPYC 9004 (Genoa) (none for this model)"
    )


@pytest.mark.parametrize(
    ("fields", "count"),
    [({"processor": "EPYC 7742"}, 1), ({"processor": "EPYC 7502"}, 0), ({"sockets": 1}, 0), ({"cloud": "virtual"}, 0)],
    ids=["as many dies", "fewer dies", "one socket", "a guest"],
)
def test_kin_is_compared_only_with_as_many_dies(fields: dict[str, Any], count: int) -> None:
    """An EPYC 7742 reaches memory through eight dies, too; a 7502 through four; other sockets and guests are left out."""
    assert place(unread(), 100 * GB, row(**fields)).count == count


def test_nothing_is_published_only_where_nothing_is() -> None:
    """Figures of one socket are not of this machine."""
    assert place(unread(), 100 * GB, row(sockets=1)).says == f"100 GB/s: {UNPUBLISHED}"


@pytest.mark.parametrize(
    ("name", "rate", "ids"),
    [
        ("gold-6146", 40, ["measured-far-below-ceiling"]),
        ("gold-6146", 150, []),
        ("epyc-9135", 50, ["measured-far-below-ceiling"]),
        ("epyc-9135", 100, []),
        (ROME, 40, ["measured-far-below-published"]),
    ],
)
def test_what_nobody_published_is_held_against_the_ceiling(name: str, rate: float, ids: list[str]) -> None:
    """Less than any machine gives of its channels is a finding, without a publication and without its DIMMs."""
    here = unread(name)
    found = judged(here, "mpi", (), measurements=triad(here, rate * GB)).audit.found
    assert [each.id for each in found if each.topic == "measured"] == ids


def test_what_is_met_and_idle_is_judged_once() -> None:
    """The rule on publications whose conditions are met judges steady repeats then; the ones on places leave it."""
    here = machine(ROME)
    judging = [place(here, 200 * GB, idle=idle, runs=runs).judged for idle, runs in ((True, 3), (True, 1), (None, 3))]
    assert judging == [True, False, False]


def test_a_published_linpack_is_recognised() -> None:
    """N 105600 on 2 x EPYC 7742, 8 x 16, is as published, though it fills a third of the memory only."""
    here = machine("epyc-7742-crux")
    assert here.topology
    cpus = tuple(sorted(here.topology.pus))
    details = {"n": 105600, "nb": 384, "p": 8, "q": 16, "hosts": 1, "ranks": 128, "threads": 1}
    made = one_result(
        kernel="hpl", purpose="hpl", variant="xhpl", part="machine", cpus=cpus, unit="flop/s", values=(3022.7e9,), details=details
    )
    platform = match_platform(here)
    facts = measured_facts(measurements(here, [made]), case_of(here, infer_layout(here), platform), published_figures(platform))
    (found,) = (each for each in facts.places if each.metric == "hpl")
    assert found.says.startswith("3022.7 GFLOP/s: as the 3022.7 GFLOP/s published for 2 x EPYC 7742 [alcf-crux-hpl]")


def nodes(of: Machine, slow: float, *, idle: bool | None) -> Measurements:
    """Return STREAM of each NUMA node, 33 GB/s each but for node 3."""
    found = [
        one_result(
            task=f"imported/{node.os_index}", kernel="stream", purpose="part", variant="triad", part="numa", index=node.os_index,
            cpus=tuple(node.cpuset), memory=node.os_index, unit="bytes/s", values=(slow if node.os_index == 3 else 33 * GB,),
            distance="local", bytes=8 << 30,
        )
        for node in (of.topology.nodes if of.topology else ())
    ]  # fmt: skip
    made = measurements(of, found, idle=True)
    return made.model_copy(update={"conditions": made.conditions.model_copy(update={"idle": idle})})


@pytest.mark.parametrize(
    ("slow", "idle", "doubts"),
    [(22 * GB, None, ["NUMA node 3 reaches 22 GB/s triad, the others 33 GB/s"]), (33 * GB, None, []), (22 * GB, False, [])],
    ids=["slow, perhaps busy", "all alike", "slow, but busy"],
)
def test_what_nobody_knows_to_be_idle_forbids_a_green_verdict(slow: float, idle: bool | None, doubts: list[str]) -> None:
    """Files of other programs do not say whether others worked: what would be a finding then is a doubt, and no finding."""
    here = machine(ROME)
    audit = judged(here, "mpi", (), measurements=nodes(here, slow, idle=idle)).audit
    assert [each.claim for each in audit.doubts] == doubts
    assert "measured-node-slow" not in [each.id for each in audit.found]
