from io import StringIO

from rich.console import Console

from advisor.model.machine import Machine
from advisor.model.memory import Dimm, Memory
from advisor.model.software import Allocation
from advisor.model.system import Environment, Kernel
from advisor.render.summary import summary
from tests.conftest import Golden
from tests.render import made

FULL = {
    "memory": Memory(
        dimms=(
            *(
                Dimm(locator=f"A{at}", size=16 << 30, kind="DDR4", rated=3200_000_000, configured=2933_000_000)
                for at in range(16)
            ),
            Dimm(locator="B1", size=0),
        )
    ),
    "kernel": Kernel(os_name="Rocky Linux 8.10", release="4.18.0-553.el8_10.x86_64"),
    "environment": Environment(virtual="none", container="podman"),
    "allocation": Allocation(scheduler="slurm", job="4711"),
}


def printed(machine: Machine) -> str:
    """Return what a terminal of 100 columns shows, without colours."""
    console = Console(file=StringIO(), width=100, color_system=None)
    console.print(summary(machine, made.layout()))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def test_summary(golden: Golden) -> None:
    """The opening of an audit is as it was accepted."""
    golden("summary.txt", printed(made.rome().model_copy(update=FULL)))


def test_gaps_are_grouped_by_help() -> None:
    """What needs the same help is asked for once."""
    assert printed(made.rome()).count("run as root") == 1


def test_nothing_lacks() -> None:
    """A machine without gaps has no such heading."""
    assert "could not be seen" not in printed(made.naples())


def test_markup_in_names_is_text() -> None:
    """A name with brackets is printed as it is."""
    assert "[red]x[/red]" in printed(made.naples().model_copy(update={"name": "[red]x[/red]"}))
