from advisor.advice.audit_page.card import Asker, Shown
from advisor.advice.audit_page.screen import audit_page, whole_audit_page
from advisor.advice.model.findings import Audit
from advisor.machine.hardware import Cpu, Dimm, Locality, Memory, SocketMemory
from advisor.machine.machine import NOT_OFFERED, Allocation, Environment, Gap, Kernel, Machine
from tests.conftest import Golden
from tests.printing import printed
from tests.render import made

FULL = {
    "memory": Memory(
        dimms=(
            *(
                Dimm(locator=f"A{at}", size=16 << 30, kind="DDR4", rated=3200_000_000, configured=2933_000_000)
                for at in range(16)
            ),
            Dimm(locator="B1", size=0),
        ),
        sockets=tuple(
            SocketMemory(socket=at, dimms=8, slots=9, channels=8, size=128 << 30, bandwidth=187_712_000_000) for at in range(2)
        ),
    ),
    "cpu": Cpu(
        model_name="AMD EPYC 7502", base_hz=2_500_000_000, max_hz=3_350_000_000, limit_hz=2_000_000_000, boost=False, driver="x"
    ),
    "kernel": Kernel(os_name="Rocky Linux 8.10", release="4.18.0-553.el8_10.x86_64"),
    "environment": Environment(virtual="none", container="podman"),
    "allocation": Allocation(scheduler="slurm", job="4711"),
}


def opening(machine: Machine, *, verbose: bool = False, width: int = 100) -> str:
    """Return what a terminal shows of a machine of which no rule was asked, without colours."""
    audit = Audit(scope="mpi", findings=(), settings=(), unseen=machine.gaps)
    shown = Shown(audit, machine, made.layout(), None, Asker())
    page = whole_audit_page(shown, {}) if verbose else audit_page(shown)
    return printed(page, width, crop=True)


def test_summary(golden: Golden) -> None:
    """The opening of an audit is as it was accepted, on one screen and whole."""
    machine = made.rome().model_copy(update=FULL)
    golden("summary.txt", opening(machine))
    golden("summary-verbose.txt", opening(machine, verbose=True))


def test_gaps_are_grouped_by_help() -> None:
    """What needs the same help is asked for once."""
    assert opening(made.rome(), verbose=True).count("-> run as root") == 1


def test_the_machine_takes_two_lines() -> None:
    """An ordinary machine is told in two lines: who made it, its processors, how they are cut, its adapter."""
    head, _, _ = opening(made.naples(), width=140).partition("\n\n")
    assert (head.count("\n"), head.split(" · ")[1:3]) == (
        1,
        ["Dell PowerEdge R7425", "2 x EPYC 7601, 64 cores, SMT off, NPS4 (8 NUMA nodes), 256 GiB"],
    )


def test_nothing_lacks() -> None:
    """A machine without gaps has no such heading."""
    assert "could not be seen" not in opening(made.naples())


def test_markup_in_names_is_text() -> None:
    """A name with brackets is printed as it is."""
    assert "[red]x[/red]" in opening(made.naples().model_copy(update={"name": "[red]x[/red]"}))


def test_no_line_ends_in_blanks() -> None:
    """What goes to a file has no blanks at the ends of its lines."""
    assert [line for line in opening(made.rome(), verbose=True).splitlines() if line != line.rstrip()] == []


def test_narrow() -> None:
    """No line is wider than the terminal, be it narrow."""
    machine = made.rome().model_copy(update=FULL)
    assert max(map(len, opening(machine, verbose=True, width=50).splitlines())) <= 50


def test_verbose_tells_everything() -> None:
    """Verbose adds the sections with their facts."""
    machine = made.rome().model_copy(update=FULL)
    assert "os_name" not in opening(machine)
    assert "os_name               Rocky Linux 8.10" in opening(machine, verbose=True)


def test_a_place_that_is_not_known() -> None:
    """A device without a node says so, and why."""
    hca = made.hca("mlx5_0", "0000:a1:00.0", None).model_copy(update={"locality": Locality(numa_nodes=(), inferred="it is -1")})
    assert "NUMA node ? (it is -1)" in opening(made.rome().model_copy(update={"hcas": (hca,)}))


def test_alike_devices_are_one_row() -> None:
    """Adapters at one node that say the same are one row, adapters at two nodes two."""
    hcas = tuple(made.hca(f"mlx5_{at}", f"0000:b{at}:00.0", at // 2) for at in range(4))
    rows = [
        line
        for line in opening(made.rome().model_copy(update={"hcas": hcas, "pci": None}), verbose=True).splitlines()
        if line.startswith("HCA")
    ]
    assert [row.partition(", 100")[0] for row in rows] == ["HCA        mlx5_0, mlx5_1", "HCA        mlx5_2, mlx5_3"]


def test_every_gap_is_named() -> None:
    """Every fact that lacks is named, with why; what nobody can offer comes last."""
    gaps = (
        *(Gap(fact=f"cpu.fact{at}", why="not present", help="install x") for at in range(5)),
        Gap(fact="tiers", why="none", help=NOT_OFFERED),
    )
    machine = made.naples().model_copy(update={"gaps": gaps})
    text = " ".join(opening(machine, verbose=True, width=200).split())
    assert "cpu.fact4: not present -> install x - tiers: none: this kernel" in text
