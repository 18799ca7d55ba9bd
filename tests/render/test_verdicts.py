"""The verdict below each table, the roofline in text, and what is being measured in words. EVERY VALUE IS INVENTED."""

import re
from typing import Any

import pytest

from advisor.advice.whatif import measured_on
from advisor.cli.output import Ticker
from advisor.machine.units import duration, throughput
from advisor.measure.measured_facts import Compared, MeasuredFacts, Way
from advisor.measure.measurement import Task
from advisor.measure.page import ANOTHER, in_words, measured_page, time_left
from advisor.measure.tables import beside
from tests.machines.catalogue import MACHINES
from tests.measure.samples import planned
from tests.printing import printed
from tests.render import measurements as made

FEW = tuple(range(12))


def known(**more: Any) -> MeasuredFacts:
    """Return the facts of the invented measurements, with some given."""
    return measured_on(made.rome(), made.whole(FEW)).model_copy(update=more)


def sections(page: str) -> dict[str, str]:
    """Return the tables of a page by their headings."""
    found = [each for each in page.split("\n\n")[1:] if not each.startswith(("Rejected", "Missing", ANOTHER[:20]))]
    return {each.split("  ")[0]: each for each in found}


def test_every_table_ends_with_a_verdict() -> None:
    """Below the last row of each table stands what its figures are beside a publication or a computation."""
    page = printed(measured_page(made.whole(FEW), machine=made.rome(), facts=known()), 200)
    tables = sections(page)
    assert (len(tables), [name for name, text in tables.items() if not text.splitlines()[-1].startswith("  = ")]) == (12, [])


def test_of_another_machine_it_is_said_once_that_nothing_published_is_looked_up() -> None:
    """Where the machine is not at hand, tables say what the figures alone give, and one line says what is left out."""
    page = " ".join(printed(measured_page(made.whole(FEW)), 80).split())
    assert (page.count(ANOTHER), "published [" in page) == (1, False)


PUBLISHED = Compared(name="stream-triad of the machine", value=152e9, low=270e9, high=300e9, conditions="NPS4", ref="a-page")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (152e9, ("56 % of the 270 to 300 GB/s published [a-page] for NPS4, worse than published", "warn")),
        (250e9, ("93 % of the 270 to 300 GB/s published [a-page] for NPS4, as published", "good")),
        (310e9, ("115 % of the 270 to 300 GB/s published [a-page] for NPS4, as published", "good")),
    ],
)
def test_a_rate_is_worse_only_where_a_tenth_is_missing(value: float, said: tuple[str, str]) -> None:
    """As the rule measured-below-published has it: within a tenth of the lowest published value is as published."""
    assert beside("triad", value, PUBLISHED, throughput) == (f"triad: {said[0]}", said[1])


@pytest.mark.parametrize(("value", "words", "style"), [(96e-9, "as published", "good"), (130e-9, "worse than published", "warn")])
def test_of_a_latency_less_is_better(value: float, words: str, style: str) -> None:
    """A latency above what is published, by more than a tenth, is worse."""
    one = Compared(name="latency", value=value, low=90e-9, high=100e-9, conditions="", ref="a-page")
    said, shown = beside("latency", value, one, duration, less=True)
    assert (said.endswith(words), shown) == (True, style)


def test_published_values_stand_below_the_table_of_bandwidth() -> None:
    """What a publication gives for such a machine takes the place of what the DIMMs can carry."""
    page = printed(measured_page(made.whole(FEW), machine=made.rome(), facts=known(published=(PUBLISHED,))), 200)
    last = sections(page)["Memory bandwidth"].split("  = ", 1)[1]
    assert last.startswith("stream-triad of the machine 152 GB/s: 56 % of the 270 to 300 GB/s published [a-page] for NPS4, worse")


def test_far_memory_stands_beside_its_publication() -> None:
    """The share of local bandwidth that another socket gives, here and published."""
    way = Way(distance="other-socket", bandwidth=0.3, published=0.5, ref="a-page")
    page = printed(measured_page(made.whole(FEW), machine=made.rome(), facts=known(remote=(way,))), 200)
    wanted = "  = other socket: 30 % of the bandwidth of local memory; 50 % published [a-page], worse than published"
    assert wanted in page.splitlines()


@pytest.mark.parametrize(
    ("intensity", "said"),
    [
        (None, "below 17.3 FLOP/byte, memory limits a program; above, the cores do"),
        (0.25, "a code with 0.250 FLOP/byte is limited by memory: at most 72.5 GFLOP/s as load"),
        (100.0, "a code with 100 FLOP/byte is limited by the cores: 5017.6 GFLOP/s at most"),
    ],
)
def test_the_roofline_is_text_too(intensity: float | None, said: str) -> None:
    """Roofs with their ridge, ceilings below the peak, and what a code of some intensity can reach."""
    table = sections(printed(measured_page(made.whole(FEW), intensity=intensity), 200))["Roofline"]
    assert (table.splitlines()[0], said in table) == ("Roofline  machine, 128 cores", True), table


@pytest.mark.parametrize("name", [name for name in MACHINES if name.startswith(("a-", "b-", "virtual"))])
def test_the_roofline_is_of_the_whole_machine(name: str) -> None:
    """Bandwidth and peak of the machine are planned under the same name, on one socket too; of one core only with --cpus."""
    tasks = planned(name, "roofline").tasks
    assert {"membw", "peakflops"} <= {task.kernel for task in tasks if task.part == "machine"}


def test_what_is_measured_is_said_in_words() -> None:
    """No name of a kernel or task stands in the line that changes."""
    tasks = planned("b-c6525-2x7702-nps4", "full").tasks
    said = {in_words(task) for task in tasks}
    wanted = {"memory bandwidth of NUMA node 3, 16 cores", "core to core, 128 CPUs", "floating point of the machine, 128 cores"}
    assert (wanted - said, [each for each in said if re.search(r"membw|memlat|peakflops|c2c|/", each)]) == (set(), [])


def test_the_time_left_is_rounded_as_people_say_it() -> None:
    """Seconds up to a minute and a half, minutes above, no zero, and a task that is late says so."""
    assert [time_left(each) for each in (-5, 0.2, 7.4, 99, 130)] == [
        "longer than planned", "nearly done", "about 7 s left", "about 99 s left", "about 2 min left",
    ]  # fmt: skip


def test_a_line_that_ticks_shows_itself_at_once_and_stops() -> None:
    """The line stands before the first second is over, and no thread outlives it."""
    seen: list[int] = []
    ticker = Ticker(lambda: seen.append(1))
    ticker.stop()
    assert (len(seen) >= 1, ticker._thread.is_alive()) == (True, False)


def test_a_task_of_an_unknown_kernel_has_its_name() -> None:
    """A site's own kernel is called as it calls itself."""
    task = Task(name="gups/x", kernel="gups", purpose="kernel", variants=("update",), part="core", index=2, cpus=(2,), seconds=1)
    assert in_words(task) == "gups of core 2"


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (130e9, "30 % faster; the read that they avoid is worth at most 33 %"),
        (160e9, "60 % faster, but they save at most a third: measure again when idle"),
    ],
)
def test_more_than_stores_past_the_cache_can_save_is_no_gain(past: float, said: str) -> None:
    """Beyond a third the two were not measured alike: the verdict asks for another measurement."""
    rows = [made.result("triad", (0, 1), 100e9, part="machine"), made.result("triad-nt", (0, 1), past, part="machine")]
    page = " ".join(printed(measured_page(made.of(*rows)), 200).split())
    assert f"with non-temporal stores triad is {said}" in page


@pytest.mark.parametrize(
    ("all_cores", "said"),
    [
        (96e9, "the core's limit, 50 cache lines of 64 bytes in flight (100 ns each): machine reads 3.0 times as much"),
        (33e9, "the memory's limit, not the core's"),
        (36e9, None),
    ],
)
def test_one_core_is_at_its_own_limit_only_where_more_cores_read_more(all_cores: float, said: str | None) -> None:
    """By arithmetic on what was measured, bandwidth x latency / line; between the two nothing is said."""
    rows = [
        made.result("load", (0,), 32e9, part="core", index=0),
        *(made.result(name, (0, 1, 2), all_cores, part="machine") for name in ("load", "triad")),
        made.result("chase", (0,), 100e-9, part="numa", index=0, kernel="memlat", unit="seconds"),
    ]
    page = " ".join(printed(measured_page(made.of(*rows)), 200).split())
    found = re.search(r"core 0: 32 GB/s is (.*?(?:times as much|not the core's))", page)
    assert (found[1] if found else None) == said


def test_a_governor_that_is_not_known_is_not_named() -> None:
    """The conditions are what is known, without question marks."""
    found = made.of(made.result("triad", (0,), 1e10))
    blank = found.model_copy(update={"conditions": found.conditions.model_copy(update={"governor": None, "hugepages": None})})
    page = printed(measured_page(blank), 200)
    assert ("governor" in page, "transparent" in page) == (False, False)
