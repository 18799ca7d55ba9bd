import pytest

from advisor.judge.origins import origin
from advisor.model.case import Case, Standing
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
