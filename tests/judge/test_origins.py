import pytest

from advisor.advice.judge.case import Case, Standing
from advisor.advice.judge.engine import origin
from advisor.measure.measured_facts import MeasuredFacts
from tests.judge.made import origins


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("kernel.thp", "kernel.thp"), ("sockets.nodes", "topology"), ("sockets.rated", "memory.dimms"),
        ("nodes.hugepages", "kernel.hugepages"),
        ("layout.cut.name", "topology.cut.name"), ("adapters.ports.state", "hcas.ports.state"), ("sockets.best", "platform"),
        ("adapters.link.speed", "pci.link.speed"), ("madt_x2apic", "acpi.madt"), ("nothing.at.all", "nothing.at.all"),
    ],
)  # fmt: skip
def test_facts_of_a_case_come_from_facts_of_the_machine(fact: str, expected: str) -> None:
    """A fact made of others is traced to what a source read."""
    assert origin(fact) == expected


def test_where_a_fact_was_read() -> None:
    """The nearest source around it, the way a setting was read, or nothing."""
    case = Case(standings=(Standing(name="numa.nps", title="NPS", value="1", how="counted"),))
    facts = ("sockets.nodes", "kernel.thp", "kernel.release", "setting.numa.nps", "setting.cpu.boost", "platform.name")
    assert [origins(case).where(fact) for fact in facts] == ["/sys", "/sys/kernel/mm", None, "counted", None, None]


def test_what_is_lacking_of_the_platform() -> None:
    """A processor without a sheet is told how to get one."""
    assert origins().lack("platform.channels").help == "add it to rules/platforms"


def measured(**facts: object) -> Case:
    """Return a case of which something was measured."""
    return Case(measured=MeasuredFacts.model_validate({"when": "2026-11-21 14:05", "idle": True, "results": 3, **facts}))


def test_measured_facts_were_read_when_they_were_measured() -> None:
    """The place of a measured fact is a time; of none where nothing was measured."""
    fact = "measured.groups.share"
    assert origins(measured()).where(fact) == "measured 2026-11-21 14:05 (advisor measure)"
    assert origins().where(fact) is None


def test_all_measured_facts_lack_the_same_where_nothing_was_measured() -> None:
    """One cure, and one name."""
    lacks = {origins().lack(fact) for fact in ("measured.groups.share", "measured.idle", "measured.remote")}
    assert [(lack.fact, lack.help) for lack in lacks] == [("measured", "advisor measure --quick, about 40 s")]


@pytest.mark.parametrize(
    ("facts", "lacking", "help"),
    [
        (("measured.idle", "measured.hpl.rate"), "measured.hpl", "advisor measure hpl"),
        (("measured.adapters", "measured.idle"), "measured.adapters", "advisor measure network --hosts A,B"),
        (("measured.published_hpl",), "measured.hpl", "advisor measure hpl"),
        (("measured.idle", "measured.groups"), "measured", "advisor measure --quick, about 40 s"),
    ],
)
def test_where_nothing_was_measured_the_experiment_is_named(facts: tuple[str, ...], lacking: str, help: str) -> None:  # noqa: A002 - the field's own name
    """What holds for any measurement, as whether the machine was idle, comes with the one that the rule asks for."""
    assert [(lack.fact, lack.help) for lack in origins().lacks(facts)] == [(lacking, help)]


def test_facts_of_other_rooms_keep_their_own_cures() -> None:
    """An adapter of the machine is not one that was measured."""
    assert [lack.help for lack in origins().lacks(("adapters.link", "measured.idle"))] == [
        "run advisor on the machine itself, as root: sudo advisor audit",
        "advisor measure --quick, about 40 s",
    ]


@pytest.mark.parametrize(
    ("fact", "why", "help"),
    [
        ("measured.groups.spread", "its repeats differ too much or are too few to judge", "on an idle machine"),
        ("measured.idle", "other work ran at the same time: user alice", "on an idle machine"),
        ("measured.sockets.ceiling", "not in this input", "sudo advisor audit"),
        ("measured.clocks.share", "not in this input", "sudo advisor audit"),
        ("measured.flops", "not measured", "advisor measure --full"),
        ("measured.remote", "not measured", "advisor measure --full"),
    ],
)
def test_what_lacks_of_measurements(fact: str, why: str, help: str) -> None:  # noqa: A002 - the field's own name
    """Why a measured fact does not decide, and what would."""
    lack = origins(measured(idle=False, busy=("user alice",))).lack(fact)
    assert (lack.why, help in lack.help) == (why, True)
