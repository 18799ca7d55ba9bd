from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest
from rich.console import Console, RenderableType

from advisor.measure.figures import (
    HEATS,
    amount,
    bar,
    caches,
    ends,
    figure,
    headline,
    heat,
    matrices,
    percent,
    round_trips,
    scaling,
)
from advisor.measure.measurement import Measurements, Result
from advisor.measure.page import measured_page, plan_page
from advisor.measure.tables import joined, nearest
from tests.conftest import Golden
from tests.printing import printed
from tests.render import measurements as made

LEVELS = {"L1": 32 << 10, "L2": 512 << 10}
FEW = tuple(range(12))
BUSY = made.IDLE.model_copy(update={"idle": False, "busy": ("load 3.2", "user alice runs xhpl on 32 CPUs"), "compiler": None})


def shown(*results: Result, width: int = 100) -> str:
    """Return the page of these results."""
    return printed(measured_page(made.of(*results)), width)


def test_everything_narrow(golden: Golden) -> None:
    """On a narrow terminal everything is as it was accepted; twelve CPUs have their round trips in squares."""
    golden("measured-80.txt", printed(measured_page(made.whole(FEW)), 80))


def test_everything_wide(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a wide terminal, with the machine known, caches are marked and round trips are summed up by part."""
    monkeypatch.setattr("advisor.measure.page.caches", lambda machine: {**caches(machine), **LEVELS})
    golden("measured-120.txt", printed(measured_page(made.whole(), machine=made.rome()), 120))


@pytest.mark.parametrize("width", [80, 120])
def test_plan(width: int, golden: Golden) -> None:
    """What will be measured has the articles' rows: core, L3 group, node, socket, machine, and three distances."""
    golden(f"measure-plan-{width}.txt", printed(plan_page(made.tasks(), made.KERNELS), width))


@pytest.mark.parametrize(
    "page", [measured_page(made.whole(FEW)), plan_page(made.tasks(), made.KERNELS)], ids=["measured", "plan"]
)
@pytest.mark.parametrize("width", [40, 57, 80, 200])
def test_no_line_is_too_wide(page: RenderableType, width: int) -> None:
    """No line is wider than the terminal and none ends in blanks."""
    lines = printed(page, width).splitlines()
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []


def test_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only ASCII is understood, bars are signs of it, and nothing becomes a question mark."""
    monkeypatch.setattr("advisor.measure.page.caches", lambda _: LEVELS)
    plain = printed(measured_page(made.whole(FEW)), 80, "ascii")
    full = printed(measured_page(made.whole(FEW)), 80)
    assert (plain.count("?"), "#####" in plain, [len(line) for line in plain.splitlines()]) == (
        full.count("?"),
        True,
        [len(line) for line in full.splitlines()],
    )


def test_a_busy_machine_is_said_in_words() -> None:
    """Figures of a machine that was not idle carry why, and kernels from elsewhere are named as such."""
    page = " ".join(printed(measured_page(made.whole(FEW, conditions=BUSY))).split())
    said = "! The machine was BUSY, so the results are unreliable: load 3.2; user alice runs xhpl on 32 CPUs"
    assert (said in page, "kernels built elsewhere" in page) == (True, True)


def test_nothing_measured() -> None:
    """An empty file is said to be one."""
    assert "Nothing was measured." in shown()


def test_what_is_refused_is_in_no_table() -> None:
    """A result that is not believed stands struck with its reason, and its value nowhere else."""
    page = shown(
        made.result("load", (0,), 21e9, index=0),
        made.result("load", (1,), 777e9, index=1, refused="above its ceiling of 51.2 GB/s"),
    )
    assert [line for line in page.splitlines() if "777" in line] == [
        "x membw load, core 1: 777 GB/s  above its ceiling of 51.2 GB/s"
    ]
    file = TextIOWrapper(BytesIO(), encoding="utf-8")
    Console(file=file, width=100, color_system="truecolor", force_terminal=True, highlight=False).print(
        measured_page(made.whole(FEW))
    )
    file.seek(0)
    assert "\x1b[2;9mmembw load, " in file.read()


@pytest.mark.parametrize("values", [(float("nan"), 1.0), (float("inf"),), (0.0,), (-1.0,)])
def test_what_is_no_number_is_in_no_table(values: tuple[float, ...]) -> None:
    """Values of a damaged file that cannot be drawn are left out."""
    broken = made.result("load", (0,), 1.0).model_copy(update={"values": values})
    assert "Nothing was measured." in shown(broken)


def test_missing_tasks_stand_by_reason() -> None:
    """Tasks that share a reason are one entry that counts them."""
    page = printed(measured_page(made.whole(FEW)), 200)
    assert "? stopped by Ctrl-C: membw/scaling/machine/1/update, " in page
    assert "membw/scaling/machine/4/update and 2 more" in page


def test_the_lowest_of_alike_parts_is_named() -> None:
    """Beside the median of all NUMA nodes stands the lowest with its number."""
    assert "23.7 (no. 5) to 34.8" in printed(measured_page(made.whole(FEW)), 120)


def test_one_core_of_each_l3_against_all() -> None:
    """The gain is of pairs of the same part, pattern and memory, the median of them and how far they lie apart."""
    common: dict[str, Any] = {"part": "numa", "memory": 0, "distance": "local"}
    pairs = [(0, 30.0, 33.0), (1, 30.0, 36.0), (2, 30.0, 34.5)]
    every = [made.result("triad", range(16), rate * 1e9, index=at, **common) for at, rate, _ in pairs]
    few = [made.result("triad", range(0, 16, 4), rate * 1e9, index=at, **common, purpose="sparse") for at, _, rate in pairs]
    line = next(line for line in shown(*every, *few).splitlines() if "4 of 16" in line)
    assert " ".join(line.split()) == "NUMA node (3) 4 of 16 triad 34.5 30.0 +15 % +10 % to +20 %"


def test_a_wide_matrix_is_summed_up_by_distance() -> None:
    """Nodes that are too many for the terminal are told by distance."""
    cells = [
        made.result("load", (node,), 30e9 if node == memory else 10e9, part="numa", index=node, memory=memory,
                    purpose="matrix", distance="local" if node == memory else "other-socket")
        for node in range(24) for memory in range(24)
    ]  # fmt: skip
    rows = [line.split() for line in shown(*cells, width=80).splitlines()]
    assert ["other", "socket", "552", "10.0", "10.0", "10.0"] in rows


def test_a_node_against_itself_may_be_measured_as_a_part() -> None:
    """What the matrix lacks on its diagonal is taken from the parts, with the node told by the CPUs where need be."""
    far = made.result("chase", (16,), 2e-7, "seconds", kernel="memlat", purpose="matrix", memory=0, index=16)
    own = made.result("chase", (0,), 1e-7, "seconds", kernel="memlat", part="numa", index=0, memory=0, distance="local")
    (matrix,) = matrices(made.of(far, own), "seconds")
    assert (matrix.rows, matrix.columns, matrix.values) == ((0, 1), (0,), {(1, 0): 2e-7, (0, 0): 1e-7})


def test_the_best_square_is_the_lightest() -> None:
    """Of bandwidth the most is best, of latency the least."""
    values = (10.0, 20.0, 30.0)
    assert [heat(value, values, more_is_better=True) for value in values] == [f"heat {HEATS - 1}", "heat 2", "heat 0"]
    assert [heat(value, values, more_is_better=False) for value in values] == ["heat 0", "heat 2", f"heat {HEATS - 1}"]


def test_squares_are_coloured_where_there_are_colours() -> None:
    """The number stands in a square with a background."""
    file = TextIOWrapper(BytesIO(), encoding="utf-8")
    Console(file=file, width=100, color_system="truecolor", force_terminal=True, highlight=False).print(
        measured_page(made.whole(FEW))
    )
    file.seek(0)
    assert "\x1b[30;48;2;230;246;233m 37.7 \x1b[0m" in file.read()


def test_filled_and_dealt_threads_are_two_curves() -> None:
    """Threads that fill one node after the other are no repeats of those dealt over the nodes."""
    curves = scaling(made.of(*(
        made.result("load", range(8), rate, purpose="scaling", order=order) for order, rate in (("filled", 3e10), ("dealt", 9e10))
    )))  # fmt: skip
    assert [(curve.name, curve.points) for curve in curves] == [("load, dealt", ((8, 9e10),)), ("load, filled", ((8, 3e10),))]


def test_half_of_the_cores_is_a_row_of_its_own() -> None:
    """Half of the cores of each L3 are told from all and from one."""
    more: dict[str, Any] = {"part": "socket", "index": 0, "distance": "spread"}
    rows = [made.result("triad", range(32), 1e11, **more), made.result("triad", range(16), 2e11, **more, purpose="half")]
    lines = [" ".join(line.replace("█", "").split()) for line in shown(*rows).splitlines() if "socket 0" in line]
    assert lines == ["socket 0 first touch 32 100 0.8 %", "socket 0 first touch 16, half of each L3 200 0.8 %"]


def test_latency_of_one_node() -> None:
    """A machine of one NUMA node has no matrix; its latency stands in a table."""
    found = made.result("chase", (0,), 1.1e-7, "seconds", kernel="memlat", part="numa", index=0, memory=0, distance="local")
    assert "NUMA node 0 local 110" in " ".join(shown(found).split())


def test_a_clock_is_told_with_what_kept_the_cores_busy() -> None:
    """Clocks under different instructions are no repeats of each other."""
    clocks = [
        made.result("clock", (0,), hertz, "hertz", kernel="peakflops", purpose="clock", isa=isa, index=0, details={"load": "fma"})
        for isa, hertz in (("avx512", 2.5e9), ("scalar", 3e9))
    ]
    lines = [" ".join(line.split()) for line in shown(*clocks).splitlines() if line.startswith("  core")]
    assert lines == ["core 0 1 AVX-512, fused multiply-add 2.50", "core 0 1 scalar, fused multiply-add 3.00"]


def test_which_cpus_share_a_cache_is_told_by_round_trips_alone() -> None:
    """Without any topology the closest CPUs are found: the L3 groups of a machine whose firmware hides them."""
    trips = round_trips(made.of(*made.map_of(tuple(range(16)))))
    fast = nearest(trips) or 0.0
    groups = joined(pair for pair, time in trips.items() if time <= fast)
    assert [str(group) for group in groups] == ["0-3", "4-7", "8-11", "12-15"]


def test_alike_round_trips_tell_nothing() -> None:
    """Where all pairs are alike, no groups are made of noise."""
    assert "All pairs are alike" in shown(*made.map_of(tuple(range(4))))


@pytest.mark.parametrize(("value", "text"), [(21.437, "21.4"), (0.98765, "0.988"), (3838.2, "3840"), (99.97, "100"), (0, "0")])
def test_three_digits(value: float, text: str) -> None:
    """A figure has three significant digits."""
    assert figure(value) == text


def test_units() -> None:
    """Base units inside, the units of the trade outside."""
    written = [amount(2.5e9, unit) for unit in ("bytes/s", "flop/s", "hertz")]
    assert [*written, amount(9.6e-8, "seconds"), percent(0.004), percent(0.873)] == [
        "2.50 GB/s",
        "2.50 GFLOP/s",
        "2.50 GHz",
        "96.0 ns",
        "0.4 %",
        "87 %",
    ]


@pytest.mark.parametrize(
    ("share", "drawn"), [(0, "    "), (0.001, "▏   "), (0.5, "██  "), (0.55, "██▎ "), (1, "████"), (7, "████")]
)
def test_bars(share: float, drawn: str) -> None:
    """A bar is as long as its share, and shows that something is there."""
    assert bar(share, 4) == drawn


def test_caches_end_at_the_largest_size_that_fits() -> None:
    """A cache is marked where it is full, not where nothing was measured beyond it."""
    assert ends([1024, 4096, 16384], {"L1": 5000, "L2": 99999, "L0": 10}) == {4096: "L1"}


def test_the_headline_is_the_pattern_of_most_parts() -> None:
    """Triad stands for a part's bandwidth, unless other patterns were measured on more parts."""
    triad = made.result("triad-nt", (0,), 1e9)
    loads = [made.result("load", (0,), 1e9), made.result("load", (0, 1), 1e9, part="l3")]
    assert (headline([triad, loads[0]]), headline([triad, *loads]), headline([])) == ("triad-nt", "load", None)


def named(text: str) -> Measurements:
    """Return measurements with a text from outside wherever there may be one."""
    conditions = made.IDLE.model_copy(update=dict.fromkeys(("started", "compiler", "flags", "governor", "hugepages"), text))
    identity = made.IDENTITY.model_copy(update={"name": text, "cpu": text, "nodes": (text,)})
    bad = made.result(text, (0,), 1e9, page_kind=text, isa=text, details={"clock": text, "load_rate": text})
    results = (bad, *(bad.model_copy(update={"purpose": purpose}) for purpose in ("scaling", "matrix")))
    refused = bad.model_copy(update={"refused": text})
    peak = bad.model_copy(update={"kernel": "peakflops", "purpose": "peak", "unit": "flop/s"})
    missing = made.whole(FEW).missing[0].model_copy(update={"task": text, "why": text})
    return Measurements(
        advisor=text, machine=identity, conditions=conditions, results=(*results, refused, peak), missing=(missing,)
    )


def test_hostile_names_steer_nothing() -> None:
    """Control characters and markup in a file from elsewhere are plain text."""
    page = printed(measured_page(named("\x1b[31mred[/red]\r\n")))
    assert ("\x1b" in page, "\r" in page, "red[/red]" in page) == (False, False, True)


def test_many_alike_tasks_are_one_row() -> None:
    """Many tasks that differ in their place only are counted, and their time is summed."""
    text = printed(plan_page(made.tasks(), made.KERNELS), 100)
    row = next(line for line in text.splitlines() if "pair (39)" in line)
    assert (" ".join(row.split()), text.splitlines()[-1]) == ("pair (39) core to core 2 of 0-39 0.8", "65 tasks, about 37 s")


@pytest.mark.parametrize("made_page", [lambda: plan_page((), {}), lambda: measured_page(made.of(), 30)])
def test_pages_of_nothing(made_page: Callable[[], RenderableType]) -> None:
    """No task, no result: one line says so."""
    assert "Nothing" in printed(made_page())
