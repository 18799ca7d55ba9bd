from typing import get_args, get_origin, get_type_hints

from advisor.advice.audit_page.machine import details
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import in_order
from advisor.machine.hardware import Acpi, Bios, Cpu, Dimm, IdleState, MadtEntry, Memory, SocketMemory
from advisor.machine.machine import Allocation, Facts, Hugepages, Kernel, Limits, Machine, Source, Tool
from advisor.show.lines import text_of
from tests.render import made


def shown(machine: Machine, width: int = 160) -> list[str]:
    """Return the section's lines without their styles."""
    return [text_of(line).rstrip() for line in details(machine, width)]


def test_a_fact_has_its_unit_and_its_source() -> None:
    """A number is written in its unit, with the file it was read from behind it."""
    machine = Machine(cpu=Cpu(base_hz=2_250_000_000), sources=(Source(fact="cpu.base_hz", where="/sys/x"),))
    assert shown(machine) == ["", "cpu", "base_hz               2.25 GHz  [/sys/x]"]


def test_a_section_has_its_source() -> None:
    """A source of a whole section stands at its head."""
    machine = Machine(limits=Limits(memlock=-1), sources=(Source(fact="limits", where="lstopo"),))
    assert shown(machine) == ["", "limits  [lstopo]", "memlock               unlimited"]


def test_lists_are_labelled_by_what_comes_first() -> None:
    """An entry of a list stands behind its name or number; zero is a value, unknown and no are not written."""
    memory = Memory(dimms=(Dimm(locator="A1", socket=0, channel=0, size=16 << 30, rated=3200_000_000),))
    assert shown(Machine(memory=memory)) == [
        "",
        "memory",
        "dimms",
        "  A1                  socket 0, channel 0, size 16 GiB, rated 3200 MT/s",
    ]
    kernel = Kernel(hugepages=(Hugepages(node=0, page=2 << 20, count=0),), cmdline=(("iommu", "pt"), ("nosmt", None)))
    assert shown(Machine(kernel=kernel))[2:] == [
        "cmdline               iommu=pt nosmt",
        "hugepages",
        "  node 0              page 2 MiB, count 0",
    ]


def test_sources_of_entries() -> None:
    """A list's entry has the source of its own name."""
    machine = Machine(tools=(Tool(name="openmpi", version="4.1.4"),), sources=(Source(fact="tools.openmpi", where="mpirun"),))
    assert shown(machine)[2] == "openmpi               version 4.1.4  [mpirun]"


def test_long_lists_are_counted() -> None:
    """The processors of the MADT are counted, and a list of hundreds ends where nobody reads on."""
    madt = tuple(MadtEntry(apic_id=at, uid=at, enabled=True) for at in range(512))
    assert shown(Machine(acpi=Acpi(madt=madt)))[2] == "madt                  512 entries; --json has them"
    tools = tuple(Tool(name=f"t{at}") for at in range(100))
    assert shown(Machine(tools=tools))[-1].strip() == "and 36 more; --json has them all"


def test_looked_and_found_none() -> None:
    """An empty list is not the same as one that is not known."""
    assert shown(Machine(hcas=())) == ["", "hcas", "                      none"]
    assert shown(Machine()) == []


def test_mitigations() -> None:
    """Every vulnerability of the kernel's list is a line."""
    cpu = Cpu(
        vulnerabilities={"meltdown": "Not affected"}, idle_states=(IdleState(name="C2", latency=18, disabled=CpuSet((1,))),)
    )
    assert shown(Machine(cpu=cpu))[2:] == [
        "idle_states",
        "  C2                  latency 18 us, disabled 1",
        "vulnerabilities",
        "  meltdown            Not affected",
    ]


def test_every_fact_of_the_machine_is_shown() -> None:
    """Every fact of a Machine is shown, in the order of the sections, but for the topology, which is drawn."""
    given = {"bios": Bios(attributes={}), "allocation": Allocation(scheduler="slurm"), "name": "n1", "architecture": "x86_64"}
    kinds = {name: get_args(kind)[0] for name, kind in get_type_hints(Facts).items() if name in Facts.model_fields}
    rest = {name: () if get_origin(kind) is tuple else kind() for name, kind in kinds.items() if name not in given}
    made = Machine.model_validate({**given, **rest})
    heads = [text.split()[0] for text in shown(made) if text and not text.startswith(" ")]
    assert [head for head in heads if head in kinds] == [name for name in in_order(Facts) if name != "topology"]


def test_a_plain_fact_of_the_machine_stands_in_one_line() -> None:
    """What is one value is told behind its name, with where it was read."""
    machine = Machine(architecture="x86_64", sources=(Source(fact="architecture", where="uname -m"),))
    assert shown(machine) == ["", "architecture  x86_64  [uname -m]"]


def test_numbers_in_lists_have_their_unit() -> None:
    """A list of numbers is written in the unit that its field declares."""
    assert shown(Machine(cpu=Cpu(wakeup_limits=(0, 10))))[2] == "wakeup_limits         0 us 10 us"


def test_widths_hold() -> None:
    """No line is wider than asked."""
    machine = made.rome().model_copy(update={"memory": Memory(sockets=(SocketMemory(socket=0, dimms=8, slots=8, size=None),))})
    assert max(map(len, shown(machine, 60))) <= 60
