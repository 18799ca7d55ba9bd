import pytest

from advisor.machine.hardware import Cpu
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from advisor.show.terminal import draw
from tests.conftest import Golden
from tests.printing import printed
from tests.render import made

MACHINES = {
    "naples": made.naples(),
    "rome": made.rome(),
    "superdome": made.superdome(),
    "gpu-memory": made.gpu_memory(),
    "confined": made.confined(),
}


def drawing(machine: Machine, width: int, *, whole: bool = False, encoding: str = "utf-8") -> str:
    """Return what a terminal of that width and encoding shows, without colours."""
    return printed(draw(machine, made.layout(), whole=whole), width, encoding, crop=True)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("width", [80, 160])
def test_drawing(name: str, width: int, golden: Golden) -> None:
    """A machine is drawn as it was accepted."""
    golden(f"{name}-{width}.txt", drawing(MACHINES[name], width))


def test_round_robin_numbers() -> None:
    """The CPUs of an L3 that are dealt over the machine are written out."""
    assert "L3 8 MiB  0,8,16,24" in drawing(made.naples(), 80)


def test_port_down() -> None:
    """A port that is down says so in words, beside the link that runs on half its lanes."""
    assert "HCA mlx5_0  DOWN, PCIe 4.0 x8 of x16" in drawing(made.naples(), 200)


def test_a_link_is_not_broken_over_lines() -> None:
    """Where a device takes two lines, its link is whole in one of them."""
    assert "PCIe 4.0 x8 of x16" in drawing(made.naples(), 80)


def test_outside_the_allocation() -> None:
    """What brackets mean is said, where there are some."""
    assert "(In brackets: outside your allocation.)" in drawing(made.confined(), 80)
    assert "brackets" not in drawing(made.rome(), 80)


def test_tilde() -> None:
    """An inferred place has a tilde, and the tilde its legend with the reason."""
    text = drawing(made.rome(), 160)
    assert "HCA mlx5_0 ~  " in text
    assert "~ location inferred, not reported by the firmware: its root bridge is in socket 1" in text


def test_repetition_is_collapsed() -> None:
    """Twenty-four sockets take fewer than sixty lines, and the one with the HCA is drawn apart."""
    text = drawing(made.superdome(), 80)
    assert len(text.splitlines()) < 60
    assert "23 alike" in text
    assert "Socket 6" in text


def test_whole() -> None:
    """On request every socket is drawn."""
    assert "Socket 23 " in drawing(made.superdome(), 80, whole=True)


def test_ascii() -> None:
    """An encoding that is not UTF-8 gets ASCII alone, names included."""
    machine = made.naples().model_copy(update={"name": "knöten", "cpu": Cpu(model_name="龍芯")})
    text = drawing(machine, 80, encoding="latin-1")
    assert text.isascii()
    assert "kn?ten" in text
    assert "2 x ????" in text


def test_names_from_outside_do_not_steer_the_terminal() -> None:
    """An escape sequence in a host name is not sent to the terminal, and markup is not read."""
    text = drawing(made.naples().model_copy(update={"name": "\x1b[31m[bold]x"}), 80)
    assert "?[31m[bold]x" in text
    assert "\x1b" not in text


def test_nothing_known() -> None:
    """A machine without topology is a title and a note that says what to do."""
    assert "The topology is unknown; install hwloc" in drawing(Machine(), 80)


def test_empty_topology() -> None:
    """A topology without a CPU is drawn without a socket."""
    assert "0 sockets, 0 NUMA nodes" in drawing(made.machine(Topology()), 80)
