"""A race of launch lines as a chart: each line's time relative to the user's own, with its interval."""

from typing import TYPE_CHECKING

from advisor.jobs.pages.tune import RacePage, RaceRow, in_time, percent, verdict_sentence
from advisor.machine.units import count, plain
from advisor.measure.charts import COLOURS, FAINT, INK, Form, need_matplotlib, settings, sheet, write_head, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def race_chart(page: RacePage, form: Form = "svg") -> bytes:
    """Return the chart of a race as a file: the fastest line above, a grey band within which a difference is worth nothing."""
    need_matplotlib()
    rows = [row for row in page.rows if row.relative]
    with settings():
        high = 1.7 + 0.42 * max(1, len(rows))
        whole = sheet((10.0, high))
        axes = whole.add_axes((0.28, 0.55 / high, 0.48, (high - 1.5) / high))
        worth = page.result.worth
        axes.axvspan(1 / (1 + worth), 1 + worth, color="#eef1f4")
        axes.axvline(1.0, color=FAINT, linewidth=1.0)
        for at, row in enumerate(rows):
            _interval(axes, at, row, page)
        axes.set_yticks(range(len(rows)), [plain(row.raced.name, 36) for row in rows])
        axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=True, axis="x")
        axes.set_xlabel(f"time relative to {plain(page.result.baseline, 40)}", loc="left")
        band = f"grey: within {percent(worth)}"
        dashed = "dashed: supposes noise of one width for all" if any(not row.exact for row in rows) else ""
        runs = f"{count(page.result.runs, 'run')} in {count(page.blocks, 'block')}, {in_time(page.result.seconds)}"
        write_head(whole, "Race of launch lines", (verdict_sentence(page), runs, band, dashed))
        return written(whole, form)


def _interval(axes: "Axes", at: int, row: RaceRow, page: RacePage) -> None:
    low, middle, high = row.relative or (1.0, 1.0, 1.0)
    won = row.raced.name == page.result.winner
    colour = COLOURS[2] if won else FAINT if row.raced.name == page.result.baseline else COLOURS[0]
    axes.plot([low, high], [at, at], color=colour, linewidth=2.2, linestyle="-" if row.exact else (0, (3, 2)))
    axes.plot([middle], [at], color=colour, marker="D" if won else "o", markersize=6, linestyle="none")
    said = f"{middle:.3f} ({low:.3f} to {high:.3f})" if row.raced.name != page.result.baseline else "1"
    axes.annotate(
        f"{said}, {count(row.raced.runs, 'run')}",
        (1.02, at),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=9,
        color=INK,
    )
