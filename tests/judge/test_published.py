"""Published results are compared only where their conditions hold here."""

import pytest

from advisor.advice.judge.case import case_of
from advisor.advice.judge.measured import measured_facts
from advisor.machine.hardware import Memory, SocketMemory
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import Compared
from advisor.measure.measurement import Measurements
from advisor.measure.platform import Reference, match_platform
from tests.judge.measuring import World, measured
from tests.measuring import one_result
from tests.model.shapes import NAPLES, ROME, shape


def machine(
    *,
    virtual: str | None = "none",
    speed: int = 2_400_000_000,
    channels: int | None = 8,
    name: str = "AMD EPYC 7601 32-Core Processor",
) -> Machine:
    """Return the R7425 of the article, or one like it."""
    memory = SocketMemory(socket=0, dimms=8, slots=16, channels=channels, size=None, configured=speed, bandwidth=153_600_000_000)
    return Machine(
        topology=shape(2, 4, 8, 32, slit=lambda i, j: 10 if i == j else 16 if i // 4 == j // 4 else 28),
        cpu=NAPLES.model_copy(update={"model_name": name}),
        memory=Memory(sockets=(memory, memory.model_copy(update={"socket": 1}))),
        environment=Environment(virtual=virtual),
    )


def published(of: Machine, node: float = 32e9) -> dict[str, Compared]:
    """Return what was published for a machine, by what was run."""
    case = case_of(of, infer_layout(of), match_platform(of))
    return {one.name: one for one in measured_facts(measured(of, World(node=node)), case).published}


def test_the_machine_of_the_article() -> None:
    """Model, sockets, cut and speed are those of the publication, and it says so."""
    found = published(machine())["stream-triad of the machine"]
    assert found.value == pytest.approx(256e9)
    assert (found.low, found.high, found.ref) == (244e9, 244e9, "dell-naples-2018")
    assert found.conditions == "EPYC 7601, 2 sockets, channel-interleaving, 2400 MT/s, all channels filled"


def test_parts_of_it() -> None:
    """Core and NUMA node are compared with the same of the publication."""
    assert {name: one.low for name, one in published(machine()).items()} == {
        "stream-triad of the machine": 244e9,
        "stream-triad of a NUMA node": 32e9,
        "stream-triad of a core": 24.5e9,
    }


@pytest.mark.parametrize(
    "other",
    [
        machine(name="AMD EPYC 7601P 32-Core Processor"),
        machine(speed=2_666_000_000),
        machine(channels=7),
        machine(virtual="kvm"),
        machine(virtual=None),
    ],
    ids=["another model", "another speed", "a channel empty", "virtual", "perhaps virtual"],
)
def test_another_machine(other: Machine) -> None:
    """Where a condition does not hold, or nobody knows, there is nothing to compare."""
    assert published(other) == {}


def test_speeds_are_rounded_in_tables() -> None:
    """2934 MT/s is 2933 MT/s; channels that nobody counted are not held against it, nor claimed."""
    found = published(machine(speed=2_401_000_000, channels=None))["stream-triad of the machine"]
    assert found.conditions == "EPYC 7601, 2 sockets, channel-interleaving, 2400 MT/s"


def test_what_nobody_published_is_no_yardstick() -> None:
    """Figures from experience are left out."""
    whole = Machine(topology=shape(2, 4, 16, 64), cpu=ROME, environment=Environment(virtual="none"))
    platform = match_platform(whole)
    assert platform
    own = Reference.model_validate({"benchmark": "stream-triad", "value": "350 GB/s", "source": "unverified"})
    case = case_of(whole, infer_layout(whole), platform.model_copy(update={"references": (own,)}))
    assert measured_facts(measured(whole), case).published == ()


def test_regular_stores_are_compared_with_regular_stores() -> None:
    """A triad that writes through the cache is lower, as in the publication."""
    whole = Machine(topology=shape(2, 4, 16, 64), cpu=ROME, environment=Environment(virtual="none"))
    platform = match_platform(whole)
    assert platform
    own = {"benchmark": "stream-triad", "value": "240 GB/s", "stores": "regular", "source": "usc-reframe", "condition": "gcc -O2"}
    case = case_of(whole, infer_layout(whole), platform.model_copy(update={"references": (Reference.model_validate(own),)}))
    (found,) = measured_facts(measured(whole), case).published
    assert found.value == pytest.approx(240e9)
    assert found.conditions == "EPYC 7002 (Rome), regular stores"


@pytest.mark.parametrize("benchmark", ["stream-triad", "triad", "load", "copy", "stream-copy"])
def test_each_name_of_a_pattern_is_compared(benchmark: str) -> None:
    """Publications call the same pattern by several names; each is beside what was measured of it."""
    of = machine()
    platform = match_platform(of)
    assert platform
    own = {"benchmark": benchmark, "value": "240 GB/s", "source": "dell-naples-2018", "cpus": ["EPYC 7601"]}
    case = case_of(of, infer_layout(of), platform.model_copy(update={"references": (Reference.model_validate(own),)}))
    (found,) = measured_facts(measured(of, World(node=32e9)), case).published
    assert (found.name, found.low) == (f"{benchmark} of the machine", 240e9)


def latency(value: float) -> Measurements:
    """Return measurements of a latency alone."""
    whole = measured(machine())
    place = {"part": "numa", "index": 0, "memory": 0, "distance": "local"}
    made = one_result(kernel="memlat", purpose="matrix", variant="chase", unit="seconds", values=(value,) * 3, **place)
    return whole.model_copy(update={"results": (made,)})


def test_latency_is_compared_too() -> None:
    """Local memory of the nearest node against what is published."""
    of = machine()
    platform = match_platform(of)
    assert platform
    own = {"benchmark": "latency-memory", "value": "90 ns", "cpus": ["EPYC 7601"], "source": "dell-naples-2018"}
    case = case_of(of, infer_layout(of), platform.model_copy(update={"references": (Reference.model_validate(own),)}))
    (found,) = measured_facts(latency(140e-9), case).published_latency
    assert (found.value, found.high, found.spread) == (140e-9, 90e-9, 0.0)
