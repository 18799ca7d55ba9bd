"""A sheet for a chart: its title and conditions, direct labels that do not overlap, the same bytes every time.

matplotlib is only imported where a chart is asked for; nothing here touches pyplot or leaves its settings changed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, Literal

from advisor.errors import CannotWork
from advisor.machine.units import plain
from advisor.measure.measurement import Contrast, Measurements, Result
from advisor.measure.pages.series import amount, how

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Form = Literal["svg", "png"]

INK, FAINT, GRID = "#1f2933", "#52606d", "#d5dae0"
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1f2933")
"""Of Okabe and Ito: distinguished by the colour-blind too."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
DASHES: Final[tuple[Any, ...]] = ("-", (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (2, 1.5)), (0, (9, 2)), (0, (4, 1, 1, 1, 1, 1)), "-")
"""So that lines are distinguished in grey as well."""

SIZE: Final = (10.0, 6.4)
DOTS: Final = 110
_LETTER: Final = 0.076
"""Inches that a letter of the conditions takes, on an average line."""

_SETTINGS: Final[dict[str, Any]] = {
    "svg.hashsalt": "advisor",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.unicode_minus": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


def need_matplotlib() -> None:
    """Refuse in one line where matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401  only whether it is there
    except ImportError as error:
        problem = "charts need matplotlib, which is not installed; install it beside advisor: python -m pip install matplotlib"
        raise CannotWork(problem) from error


@contextmanager
def settings() -> Iterator[None]:
    """Draw with our settings alone, whatever the user's own file says; afterwards all is as before."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        ours: Any = mpl.rcParams  # their names are a type of their own, another in each version
        ours.update(_SETTINGS)
        yield


def sheet(size: tuple[float, float] = SIZE) -> "Figure":
    """Return an empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=DOTS, facecolor="white")


def written(figure: "Figure", form: Form) -> bytes:
    """Return a figure as a file, without the date and the version of what wrote it."""
    nothing: dict[Form, dict[str, Any]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    buffer = BytesIO()
    figure.savefig(buffer, format=form, metadata=nothing[form])
    return buffer.getvalue()


def entitle(figure: "Figure", title: str, measurements: Measurements, results: Sequence[Result], more: str = "") -> None:
    """Write what is drawn, of which machine, and under which conditions, in two lines where one is too short."""
    machine, told = measurements.machine, measurements.conditions
    known = {True: "idle machine", False: "BUSY machine, results disturbed", None: "not known whether idle"}
    idle = known[told.idle]
    parts = (plain(machine.cpu, 60) if machine.cpu else "", plain(told.started[:10], 10), idle, how(results), more)
    name = f"{plain(machine.name, 40)}: {title}" if machine.name else title[:1].upper() + title[1:]
    write_head(figure, name, parts)


def write_head(figure: "Figure", name: str, parts: Sequence[str]) -> None:
    """Write a title, and below it what there is to know of it."""
    wide, high = figure.get_size_inches()
    lines = wrap("; ".join(part for part in parts if part), int((wide - 0.3) / _LETTER), max_lines=2, placeholder=" ...")
    left = 0.2 / wide
    figure.text(left, 1 - 0.30 / high, name, fontsize=14, fontweight="bold", va="center")
    figure.text(left, 1 - 0.48 / high, "\n".join(lines), fontsize=9, color=FAINT, va="top")


Label = tuple[tuple[float, float], str, str]
"""A point of the chart, what is said of it, and in which colour."""


def beside(axes: "Axes", labels: Sequence[Label], gap: float = 0.078) -> None:
    """Write labels right of the axes, each joined to its point in its colour, no two closer than a share of the axes' height."""
    shares = [axes.transAxes.inverted().transform(axes.transData.transform(point)) for point, _, _ in labels]
    heights = spread([float(share[1]) for share in shares], gap)
    for share, (_, words, colour), height in zip(shares, labels, heights, strict=True):
        axes.annotate(
            words,
            xy=(float(share[0]), float(share[1])),
            xytext=(1.035, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 0},
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return heights near the wanted ones, in the same order, at least a gap apart, none above 1 or, if they fit, below 0."""
    order = sorted(range(len(wanted)), key=lambda at: -wanted[at])
    heights = [min(1.0, wanted[at]) for at in order]
    for at in range(1, len(heights)):
        heights[at] = min(heights[at], heights[at - 1] - gap)
    floor = 0.0
    for at in reversed(range(len(heights))):
        heights[at] = max(heights[at], floor)
        floor = heights[at] + gap
    placed = dict(zip(order, heights, strict=True))
    return [placed[at] for at in range(len(wanted))]


_LOOKS = {"faster": (COLOURS[2], "o"), "slower": (COLOURS[1], "s")}
"""In shape too, for those who see no green; what shows no difference is a hollow ring."""


def change_chart(rows: Sequence[Contrast], names: Sequence[str], title: str, form: Form) -> bytes:
    """Return the chart as a file; times are turned round, so that right is better of all."""
    need_matplotlib()
    with settings():
        return written(_draw(rows, names, title), form)


def _draw(rows: Sequence[Contrast], names: Sequence[str], title: str) -> "Figure":
    high = 1.3 + 0.36 * len(rows)
    whole = sheet((10.0, high))
    axes = whole.add_axes((0.30, 0.55 / high, 0.46, (high - 1.2) / high))
    axes.axvline(0, color=INK, linewidth=1.2)
    for at, row in enumerate(rows):
        _row(axes, at, row)
    axes.set_yticks(range(len(rows)), [plain(name, 44) for name in names])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")
    axes.margins(x=0.08)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g} %" if value else "0")
    axes.set_xlabel("better than before: bandwidth and rates by how much more, times by how much less")
    whole.text(0.02, 1 - 0.3 / high, plain(title, 100), fontsize=14, fontweight="bold", va="center")
    whole.text(
        0.02, 1 - 0.55 / high, "lines: from the least to the most of the repeats after it", fontsize=9, color=FAINT, va="center"
    )
    return whole


def _row(axes: "Axes", at: int, row: Contrast) -> None:
    colour, marker = _LOOKS.get(row.says, (FAINT, "o"))
    low, middle, most = (_better(row, value) for value in (row.after.low, row.after.median, row.after.high))
    axes.plot([low, most], [at, at], color=colour, linewidth=2.2)
    filled = colour if row.says in _LOOKS else "white"
    axes.plot([middle], [at], marker=marker, markersize=8, color=colour, markerfacecolor=filled)
    words = f"{amount(row.before.median, row.unit)} → {amount(row.after.median, row.unit)}, p {row.p:.2g}"
    axes.annotate(words, (1.02, at), xycoords=("axes fraction", "data"), va="center", fontsize=9, annotation_clip=False)


def _better(row: Contrast, value: float) -> float:
    """Return by how much a value is better than the median before, in percent."""
    ratio = row.before.median / value if row.unit == "seconds" else value / row.before.median
    return 100 * (ratio - 1)
