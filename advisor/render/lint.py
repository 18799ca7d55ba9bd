"""A launch line explained: its options, what it does here, what goes wrong, and the same for other launchers."""

from collections.abc import Sequence
from typing import Any, Final

from advisor.language.units import count, plain
from advisor.model.cpuset import CpuSet
from advisor.model.launch_line import TITLES, Lint, LintRank, LintTranslation, LintWarning
from advisor.render.lines import Line, cut, wrapped
from advisor.render.page import Page

LINT_SCHEMA: Final = "advisor-lint/1"
"""The number rises when a key changes meaning or goes."""

_MOST_RANKS = 32
_MOST_LINES = 12


def lint_document(told: Lint) -> dict[str, Any]:
    """Return the document of ``advisor bind lint --json``."""
    return {"schema": LINT_SCHEMA, **told.model_dump(mode="json")}


def lint_page(told: Lint, width: int | None = None) -> Page:
    """Return a line's explanation."""
    return Page(lambda room: _lines(told, room), width)


def _lines(told: Lint, width: int) -> list[Line]:
    version = f" ({plain(told.version)})" if told.version else ""
    head = [(TITLES.get(told.launcher, told.launcher), "title"), (f"{version}, known from {plain(told.known_from)}", "dim")]
    result = [*wrapped(head, width), *_copied(told.line)]
    result += [(), (("What it says", "heading"),)]
    result += [line for each in told.options for line in _option(each.text, each.says, width, known=each.known)]
    if told.command:
        result += _option(plain(" ".join(told.command), 200), "is started", width)
    result += [(), (("What it does here", "heading"),), *wrapped([("  ", ""), (plain(told.binding, 2000), "")], width)]
    result += _ranks(told.ranks or (), width)
    result += [(), (("What will go wrong", "heading"),)]
    result += [line for each in told.warnings for line in _warning(each, width)]
    result += [] if told.warnings else _no_warning(told, width)
    result += [(), (("The same for others", "heading"),)]
    return result + _translations(told.translations, width)


def _copied(text: str) -> list[Line]:
    """Return a command on one line, however wide: it is there to be copied."""
    return [(("  ", ""), (plain(text, 200_000), ""))]


def _option(text: str, says: str, width: int, *, known: bool = True) -> list[Line]:
    shown = cut(plain(text, 400), max(20, width // 2))
    return wrapped([(f"  {shown}", "label" if known else "unknown"), (f"  {plain(says, 400)}", "")], width, indent=6)


def _ranks(ranks: tuple[LintRank, ...], width: int) -> list[Line]:
    result: list[Line] = []
    for first, last, host, cpus in _rows(ranks)[:_MOST_RANKS]:
        number = str(first) if first == last else f"{first}-{last}"
        where = f" on {plain(host)}" if host else ""
        bound = f"CPUs {cpus}" if cpus else "not bound"
        result += wrapped([(f"  rank {number}{where}: ", "label"), (bound, "")], width, indent=6)
    more = len(_rows(ranks)) - _MOST_RANKS
    return [*result, ((f"  and {count(more, 'row')} more; --json has all", "dim"),)] if more > 0 else result


def _rows(ranks: tuple[LintRank, ...]) -> list[tuple[int, int, str | None, CpuSet | None]]:
    """Return the ranks in a row with the same CPUs together."""
    rows: list[tuple[int, int, str | None, CpuSet | None]] = []
    for each in ranks:
        if rows and rows[-1][2:] == (each.host, each.cpus) and rows[-1][1] + 1 == each.rank:
            rows[-1] = (rows[-1][0], each.rank, each.host, each.cpus)
        else:
            rows.append((each.rank, each.rank, each.host, each.cpus))
    return rows


def _warning(told: LintWarning, width: int) -> list[Line]:
    result = wrapped([("  ", ""), (told.id, "warn title"), (f": {plain(told.what, 600)}", "")], width, indent=4)
    result += wrapped([("    why   ", "label"), (plain(told.why, 600), "")], width, indent=10)
    result += wrapped([("    here  ", "label"), (plain(told.evidence, 600), "dim")], width, indent=10)
    if told.better:
        result += [(("    better ", "label"), (plain(told.better, 200_000), "title"))]
    return result


def _no_warning(told: Lint, width: int) -> list[Line]:
    if told.ranks:
        return [(("  nothing that is known", "good"),)]
    text = "not told: where the ranks go is not known, and of the words alone nothing is wrong"
    return wrapped([("  ", ""), (text, "unknown")], width)


def _translations(told: Sequence[LintTranslation], width: int) -> list[Line]:
    """Return every translation; where none can be said for one and the same reason, that reason once."""
    if len(told) > 1 and len({each.lost for each in told}) == 1 and not any(each.line for each in told):
        names = ", ".join(TITLES.get(each.launcher, each.launcher) for each in told)
        result = wrapped([("  ", ""), (names, "title"), (": cannot be said", "unknown")], width, indent=4)
        return result + [line for lost in told[0].lost for line in _lost(lost, width)]
    return [line for each in told for line in _translation(each, width)]


def _lost(text: str, width: int) -> list[Line]:
    return wrapped([("    lost  ", "label"), (plain(text, 400), "dim")], width, indent=10)


def _translation(told: LintTranslation, width: int) -> list[Line]:
    result: list[Line] = [(("  ", ""), (TITLES.get(told.launcher, told.launcher), "title"))]
    result += [(("    ", ""), (plain(told.line, 200_000), ""))] if told.line else [(("    cannot be said", "unknown"),)]
    for name, lines in told.files.items():
        result.append(((f"    {plain(name)}:", "label"),))
        result += [(("      ", ""), (plain(line, 400), "dim")) for line in lines[:_MOST_LINES]]
        if len(lines) > _MOST_LINES:
            result.append(((f"      and {count(len(lines) - _MOST_LINES, 'line')} more; --json has all", "dim"),))
    return result + [line for lost in told.lost for line in _lost(lost, width)]
