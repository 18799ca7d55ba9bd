import pytest

from advisor.machine.hardware import Acpi, MadtEntry, SratCpu
from advisor.machine.layout import madt_order, srat_agreement, srat_nodes
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from tests.model.shapes import ROME, machine, shape

FOUR = shape(2, 2, 2, 4)


def tables(order: list[int], domains: int = 4) -> Acpi:
    """Return a MADT that lists APIC ids in an order, and an SRAT that spreads eight processors evenly over domains."""
    madt = tuple(MadtEntry(apic_id=apic, uid=apic, enabled=True) for apic in order)
    srat = tuple(SratCpu(apic_id=apic, domain=apic * domains // 8, enabled=True) for apic in range(8))
    return Acpi(madt=madt, srat_cpus=srat)


def witnessed(acpi: Acpi | None) -> Machine:
    """Return an EPYC of four nodes with its firmware's tables."""
    return machine(FOUR, ROME).model_copy(update={"acpi": acpi})


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (list(range(8)), "in the same order as the firmware's MADT"),
        ([0, 2, 4, 6, 1, 3, 5, 7], "the order of the firmware's MADT differs from the kernel's numbering"),
    ],
)
def test_madt_order(order: list[int], words: str) -> None:
    """The order of the MADT is compared with the kernel's numbers by the nodes they fall on."""
    assert madt_order(witnessed(tables(order)), FOUR) == (words,)


@pytest.mark.parametrize("acpi", [None, Acpi(), Acpi(madt=tables([0]).madt), tables([0, 1])])
def test_without_whole_tables_nothing_is_said_of_the_order(acpi: Acpi | None) -> None:
    """Tables that could not be read, or that list other processors, are no witness."""
    assert madt_order(witnessed(acpi), FOUR) == ()


@pytest.mark.parametrize(
    ("domains", "reason"),
    [
        (4, "the firmware's SRAT has the same 4 nodes with CPUs"),
        (2, "the firmware's SRAT has 2 nodes with CPUs, but the kernel shows 4"),
    ],
)
def test_srat_agrees_or_not(domains: int, reason: str) -> None:
    """The SRAT's count of nodes stands beside the kernel's."""
    seen = witnessed(tables(list(range(8)), domains))
    assert (srat_nodes(seen), srat_agreement(seen, FOUR)) == (domains, (reason,))


def test_the_layout_carries_both_witnesses() -> None:
    """What the tables say is among the reasons for the cut and for the numbering."""
    layout = infer_layout(witnessed(tables(list(range(8)))))
    assert (layout.cut.why[-1], layout.numbering.why[-1]) == (
        "the firmware's SRAT has the same 4 nodes with CPUs",
        "in the same order as the firmware's MADT",
    )
