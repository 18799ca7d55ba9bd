import sys
from itertools import combinations
from typing import Any

import matplotlib as mpl
import pytest
from defusedxml.ElementTree import fromstring
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from advisor.errors import BadValue, CannotWork
from advisor.measure.charts import KINDS, chart, charts_of, drawing, settings, spread, your_code
from advisor.measure.figures import Roofline, roofline
from advisor.measure.measurement import Measurements, Result
from tests.render import measurements as made

LEVELS = {"L1": 32 << 10, "L2": 512 << 10, "L3": 16 << 20}
PEAK: dict[str, Any] = {"kernel": "peakflops", "purpose": "peak", "unit": "flop/s"}


def rate(variant: str, cores: int, giga: float, **more: Any) -> Result:
    """Return a rate of a part of so many cores."""
    return made.result(variant, range(cores), giga * 1e9, part="core" if cores == 1 else "machine", isa="avx512", **more)


def delft() -> Measurements:
    """Return what [delftblue] measured of its 48 cores; what it did not measure below the peak is invented."""
    roofs = [rate(name, 48, giga) for name, giga in (("load", 256), ("copy", 165), ("triad", 184))]
    invented = (("add", 1920), ("mul", 1915), ("muladd", 1930), ("scalar-fma", 520), ("chain", 40))
    return made.of(
        *roofs, *(rate(name, 48, giga, **PEAK) for name, giga in (("fma", 3840), *invented)), rate("fma", 1, 112, **PEAK)
    )


def small() -> Measurements:
    """Return a virtual machine of two cores, values invented: no NUMA, no L3 that is known."""
    flops = (("fma", 220), ("muladd", 111), ("scalar-fma", 28), ("chain", 1.75))
    curves = [rate(name, n, giga * n, purpose="scaling") for n in (1, 2) for name, giga in (("load", 18), ("copy-nt", 24))]
    roofs = [rate(name, 2, giga) for name, giga in (("load", 37.4), ("copy-nt", 49.5), ("triad-nt", 43.1))]
    peaks = [*(rate(name, 2, giga, **PEAK) for name, giga in flops), rate("fma", 1, 112, **PEAK)]
    return made.of(*curves, *roofs, *peaks, *made.map_of((0, 1)))


def whole() -> Measurements:
    """Return everything that can be drawn, with messages to another host and HPL; values invented."""
    found = made.whole()
    more: dict[str, Any] = {"kernel": "mbw_mr", "purpose": "network", "part": "numa", "ceiling": 12.5e9, "bytes": 1 << 20}
    told = {"hca": "mlx5_0", "across": 16, "hosts_named": "n1,n2"}
    away = ("other-socket", "same-socket", "local")
    sent = [
        made.result("mbw_mr", made.node_cpus(node), rate * 1e9, index=node, details={**told, "hca_distance": where}, **more)
        for node, (where, rate) in enumerate(zip(away, (6.8, 11.9, 12.3), strict=True))
    ]
    bounds = {"n": 86400, "cores": 128, "peak_base": 4096e9, "peak_load": 5017e9, "dgemm_all": 4300e9}
    solved = made.result("lu", range(128), 3890e9, "flop/s", kernel="hpl", purpose="hpl", part="machine", details=bounds)
    return found.model_copy(update={"results": (*found.results, *sent, solved)})


MACHINES = {"rome": whole(), "few": made.whole(tuple(range(12))), "delft": delft(), "small": small()}


def texts(drawn: bytes) -> list[str]:
    """Return the texts of an SVG, in order."""
    return ["".join(each.itertext()).strip() for each in fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]


def line_of(measurements: Measurements) -> Roofline:
    """Return a roofline that is there."""
    line = roofline(measurements)
    assert line is not None
    return line


def test_kinds() -> None:
    """Only what was measured can be drawn."""
    assert [charts_of(each) for each in (whole(), made.whole((0, 1)), delft(), small(), made.of())] == [
        KINDS,
        KINDS[: KINDS.index("messages")],
        ("roofline",),
        ("scaling", "map", "roofline"),
        (),
    ]


SAID = {
    "scaling": ("node001: bandwidth over threads", "load", "302 GB/s", "triad-nt", "277 GB/s", "threads, one per core", "128"),
    "bandwidth-matrix": ("node001: bandwidth between NUMA nodes", "37.7", "9.50", "CPUs of NUMA node"),
    "latency-matrix": ("node001: latency between NUMA nodes", "96.0", "207"),
    "ladder": ("huge pages", "97.0 ns", "normal pages", "121 ns", "L1", "32 KiB", "L3", "16 MiB", "working set"),
    "loaded": ("97.0 ns idle", "memory of node 0", "262 ns", "GB/s streamed by the other cores"),
    "map": ("node001: core-to-core latency", "CPU", "120"),
    "parts": ("core 0", "21.4 GB/s", "slowest: NUMA node 5, 23.7 GB/s", "266 GB/s, 65 % of 410 GB/s"),
    "messages": ("ranks on", "its own NUMA node", "12.3 GB/s, 98 % of 12.5 GB/s", "-45 % relative to near ranks, 1 MiB messages"),
    "hpl": ("HPL, N = 86400", "3890 GFLOP/s", "HPL reaches 78 %", "peak at base clock", "HPL reaches 95 %"),
    "roofline": ("peak: 5020 GFLOP/s", "no FMA: 2510 GFLOP/s", "no SIMD: 1250 GFLOP/s", "serial: 53.6 GFLOP/s"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_svg(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chart names what it shows, with the measured figures in text that can be searched, and its conditions."""
    monkeypatch.setattr("advisor.measure.charts.caches", lambda _: LEVELS)
    said = texts(chart(whole(), kind, "svg"))
    assert [words for words in SAID[kind] if words not in said] == []
    assert any("AMD EPYC 7702 64-Core Processor; 2026-11-21; idle machine" in words for words in said)


def test_png() -> None:
    """A PNG is one."""
    assert chart(small(), "map", "png")[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_bytes_every_time(form: str) -> None:
    """The same measurements are the same file: no date, no version, no random ids."""
    drawn = chart(delft(), "roofline", form, 0.1)
    assert (drawn == chart(delft(), "roofline", form, 0.1), b"Matplotlib v" in drawn) == (True, False)


def test_the_settings_of_others_are_left_alone() -> None:
    """A chart looks the same whatever the user's own settings are, and leaves them as they were."""
    plain = chart(small(), "scaling", "svg")
    with mpl.rc_context({"font.size": 30.0, "lines.linewidth": 9.0, "svg.hashsalt": "mine"}):
        before = dict(mpl.rcParams)
        assert (chart(small(), "scaling", "svg") == plain, dict(mpl.rcParams) == before) == (True, True)


def boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return the texts that are seen, with the room they take, their leading lines left out."""
    figure.draw_without_rendering()
    hidden = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in beyond(axis)}
    found = [each for each in figure.findobj(Text) if isinstance(each, Text) and each.get_text() and each.get_visible()]
    return [(each.get_text(), Text.get_window_extent(each)) for each in found if each not in hidden]


def beyond(axis: Axis) -> list[Text]:
    """Return the numbers of an axis that lie beyond its ends and are never drawn."""
    low, high = sorted(axis.get_view_interval())
    return [label for label, at in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True) if not low <= at <= high]


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Return texts that lie over each other."""
    pairs = combinations(boxes(figure), 2)
    return [(a, b) for (a, one), (b, other) in pairs if one.shrunk(0.98, 0.9).overlaps(other.shrunk(0.98, 0.9))]


def outside(figure: Figure) -> list[str]:
    """Return texts that leave the sheet."""
    wide, high = figure.get_size_inches() * figure.dpi
    return [words for words, box in boxes(figure) if box.x0 < 0 or box.y0 < 0 or box.x1 > wide or box.y1 > high]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, each in MACHINES.items() for kind in charts_of(each)])
def test_labels_are_readable(name: str, kind: str) -> None:
    """No text lies over another, none leaves the sheet."""
    with settings():
        figure = drawing(MACHINES[name], kind, None, LEVELS)
        assert (overlapping(figure), outside(figure)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("intensity", [0.01, 1 / 12, 0.5, 4, 30, 1000])
@pytest.mark.parametrize("name", ["rome", "delft", "small"])
def test_the_users_code_is_readable(name: str, intensity: float) -> None:
    """Wherever the user's code lies in the roofline, its words lie over no others and on the sheet."""
    with settings():
        figure = drawing(MACHINES[name], "roofline", intensity, {})
        assert (overlapping(figure), outside(figure)) == ([], [])


def test_roofs_and_ceilings() -> None:
    """The roofline has load, copy and triad, and below the peak one ceiling for each thing that a code may lack."""
    line = line_of(delft())
    assert [(roof.pattern, roof.rate) for roof in line.roofs] == [("load", 256e9), ("triad", 184e9), ("copy", 165e9)]
    assert [(ceiling.name, ceiling.rate, ceiling.what) for ceiling in line.ceilings] == [
        ("peak", 3840e9, "FMA, AVX-512, 48 cores"),
        ("no FMA", 1930e9, "multiply and add"),
        ("no SIMD", 520e9, "scalar FMA"),
        ("serial", 112e9, "one core, FMA, AVX-512"),
        ("no unrolling", 40e9, "one chain of adds per core"),
    ]


def test_ridges_are_told() -> None:
    """Each roof says at which intensity it meets the peak."""
    said = texts(chart(delft(), "roofline", "svg"))
    assert [words for words in said if "ridge" in words] == [
        "load 256 GB/s, ridge at 15.0 FLOP/byte",
        "triad 184 GB/s, ridge at 20.9 FLOP/byte",
        "copy 165 GB/s, ridge at 23.3 FLOP/byte",
    ]


@pytest.mark.parametrize(
    ("intensity", "said"),
    [
        (0.5, ("limited by memory, at most", "128 GFLOP/s as load", "92.0 GFLOP/s as triad", "82.5 GFLOP/s as copy")),
        (16, ("limited by memory, at most", "3840 GFLOP/s as load", "2940 GFLOP/s as triad", "2640 GFLOP/s as copy")),
        (64, ("limited by the cores:", "3840 GFLOP/s at most")),
    ],
)
def test_what_a_code_can_reach(intensity: float, said: tuple[str, ...]) -> None:
    """Left of the ridges bandwidth decides, pattern by pattern; right of them the peak."""
    assert your_code(line_of(delft()), intensity).splitlines() == [f"your code, {intensity:g} FLOP/byte,", *said]


def test_the_faster_stores_make_the_roof() -> None:
    """Of regular and non-temporal stores the faster ones are the roof, and it says which."""
    line = line_of(made.of(rate("copy", 48, 100), rate("copy-nt", 48, 130), rate("fma", 48, 3840, **PEAK)))
    assert [(roof.pattern, roof.rate) for roof in line.roofs] == [("copy-nt", 130e9)]


def test_what_was_measured_for_the_roofline_counts() -> None:
    """A roof that was measured for the roofline itself is taken before that of the part."""
    line = line_of(made.of(rate("load", 48, 100), rate("load", 48, 90, purpose="roofline"), rate("fma", 48, 3840, **PEAK)))
    assert [roof.rate for roof in line.roofs] == [90e9]


def test_remote_memory_is_no_roof() -> None:
    """Bandwidth to another socket's memory is not what a code that is placed well can have."""
    far = rate("load", 48, 50, distance="other-socket")
    assert line_of(made.of(far, rate("load", 48, 100, distance="spread"), rate("fma", 48, 3840, **PEAK))).roofs[0].rate == 100e9


def test_a_machine_without_fma_has_its_peak_all_the_same() -> None:
    """Without fused multiply-adds the peak is the fastest there is, and nothing lacks them."""
    line = line_of(made.of(rate("load", 48, 100), rate("add", 48, 900, **PEAK), rate("mul", 48, 800, **PEAK)))
    assert [(ceiling.name, ceiling.what) for ceiling in line.ceilings] == [("peak", "adds only, AVX-512, 48 cores")]


def test_the_largest_part_that_has_both() -> None:
    """Bandwidth of the machine and flops of a core make no roofline of the machine."""
    only = made.of(rate("load", 48, 100), rate("load", 1, 20), rate("fma", 1, 80, **PEAK))
    assert (line_of(only).where, line_of(only).roofs[0].rate, roofline(made.of(rate("load", 48, 100)))) == (
        "core, 1 core",
        20e9,
        None,
    )


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib one line says how to get it, and what can be drawn is known all the same."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CannotWork) as caught:
        chart(delft(), "roofline", "svg")
    problem = "charts need matplotlib, which is not installed"
    assert str(caught.value) == f"{problem}; install it beside advisor: python -m pip install matplotlib"
    assert charts_of(delft()) == ("roofline",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rooflin", "svg"), "'rooflin' is not a chart; did you mean roofline?"),
        (("roofline", "gif"), "'gif' is not a chart format; use svg or png"),
        (("ladder", "png"), "these measurements contain no data for the chart ladder; they have roofline"),
        (("roofline", "png", 0.0), "an intensity of 0 FLOP/byte is not possible; give 1e-6 to 1e6; STREAM triad has 1/12"),
        (
            ("roofline", "png", float("nan")),
            "an intensity of nan FLOP/byte is not possible; give 1e-6 to 1e6; STREAM triad has 1/12",
        ),
    ],
)
def test_wrong_wishes(arguments: tuple[Any, ...], said: str) -> None:
    """A wish that cannot be met is one line."""
    with pytest.raises((BadValue, CannotWork)) as caught:
        chart(delft(), *arguments)
    assert str(caught.value) == said


def test_names_from_outside_are_plain_text() -> None:
    """A name with markup, a formula or control characters is text in the picture."""
    name = "<b>$\\frac{1}{2}$\x1b[31m&"
    named = delft().model_copy(update={"machine": made.IDENTITY.model_copy(update={"name": name, "cpu": name})})
    assert "<b>$\\frac{1}{2}$?[31m&: roofline (machine, 48 cores)" in texts(chart(named, "roofline", "svg"))


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [([0.5], [0.5]), ([0.5, 0.5, 0.5], [0.5, 0.4, 0.3]), ([0.0, 0.0], [0.1, 0.0]), ([0.1, 1.2, 0.95], [0.1, 1.0, 0.9])],
)
def test_labels_keep_apart(wanted: list[float], placed: list[float]) -> None:
    """Labels stay near their lines, in their order, a gap apart, inside the chart."""
    assert spread(wanted, 0.1) == pytest.approx(placed)
