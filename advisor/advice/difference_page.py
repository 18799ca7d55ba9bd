"""Before and after: two machines side by side, what another setting would change, measured runs before and after a change."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic import Field

from advisor.advice.model.findings import Change, Difference, FindingChange
from advisor.machine.layout import Assumption
from advisor.machine.machine import Gap, Machine
from advisor.machine.units import binary, count, plain
from advisor.machine.value import Value
from advisor.measure.figures import (
    Cell,
    amount,
    distance,
    heading,
    part_name,
    percent,
    short_number,
    table,
    unit_name,
)
from advisor.measure.measurement import NEGLIGIBLE, SIGNIFICANT, BeforeAfter, Contrast, Side
from advisor.show.commandline import word
from advisor.show.lines import Line, Page, numbered, wrapped

_LONGEST = 60


def difference_document(difference: Difference) -> dict[str, Any]:
    """Return the document of ``advisor compare --json`` of two machines."""
    return {"schema": DIFF_SCHEMA, **difference.model_dump(mode="json")}


def difference_page(difference: Difference) -> Page:
    """Return what differs, as a page."""
    return Page(lambda room: _lines(difference, room))


def _lines(difference: Difference, width: int) -> list[Line]:
    lines: list[Line] = [((f"{plain(difference.before)} -> {plain(difference.after)}", "title"),)]
    if difference.same:
        return [*lines, (("Nothing differs that could be read on both.", ""),)]
    return [*lines, *_changes(difference, width)]


def _changes(difference: Difference, width: int, unread: str = "not read") -> list[Line]:
    lines = _section("Hardware and firmware", difference.identity, width, unread)
    lines += _section("Topology", difference.topology, width, unread)
    if difference.renumbered:
        words = f"{count(difference.renumbered, 'CPU number')} now mean another core: bindings by number must be rewritten"
        lines += wrapped([("! ", "warn"), (words, "")], width)
    lines += _section("Settings", difference.settings, width, unread)
    lines += _section("Adapters and accelerators", tuple(_devices(difference.devices)), width, unread)
    lines += _section("Other facts", difference.facts, width, unread)
    lines += _findings("New findings", "+", "down", difference.gained, width)
    lines += _findings("Findings that are gone", "-", "dim", difference.lost, width)
    return lines


def _devices(changes: tuple[Change, ...]) -> Iterator[Change]:
    """Yield what differs of devices; where one is in one line: ``mlx5_0 is at  NUMA node 1 -> one of NUMA nodes 4-7``."""
    kept = {change.name: change for change in changes}
    for name, change in kept.items():
        device, inside, fact = name.partition(".locality.")
        if not inside:
            yield change
        elif fact == "numa_nodes":
            unsure = kept.get(f"{device}.locality.one_of")
            sides = (_at(change.before, unsure.before if unsure else None), _at(change.after, unsure.after if unsure else None))
            title = f"{change.title.removesuffix(' NUMA nodes')} is at"
            yield change.model_copy(update={"title": title, "before": sides[0], "after": sides[1]})
        elif f"{device}.locality.numa_nodes" not in kept:
            yield change.model_copy(update={"title": change.title.replace("on one of them only", "on one node, not known which")})


def _at(nodes: str | None, one_of: str | None) -> str | None:
    """Return where a device is in words; None where that is not known."""
    if nodes is None:
        return None
    many = "," in nodes
    numbers = numbered(tuple(int(each) for each in nodes.split(","))) if many else nodes
    return f"{'one of ' if one_of == 'yes' else ''}NUMA node{'s' if many else ''} {numbers}"


def _section(heading: str, changes: tuple[Change, ...], width: int, unread: str) -> list[Line]:
    if not changes:
        return []
    room = min(40, max(len(change.title) for change in changes)) + 2
    lines: list[Line] = [(), ((heading, "heading"),)]
    for change in changes:
        label = plain(change.title, 60)
        before, after = (plain(text, _LONGEST) for text in change.sides(unread))
        spans = [(f"{label:<{room - 1}} ", "label"), (before, "dim"), (" -> ", "dim"), (after, "")]
        lines += wrapped(spans, width, indent=room)
    return lines


def _findings(heading: str, sign: str, style: str, changes: Iterable[FindingChange], width: int) -> list[Line]:
    lines: list[Line] = []
    for change in changes:
        claim = plain(change.claim or "")
        now = "" if change.now in ("pass", "finding") else f" (there: {change.now})"
        lines += wrapped(
            [(f"{sign} {change.severity:6} ", style), (f"{change.id}: ", "title"), (claim + now, "")], width, indent=9
        )
    return [(), ((heading, "heading"),), *lines] if lines else []


DIFF_SCHEMA: Final = "advisor-diff/1"
WHATIF_SCHEMA: Final = "advisor-whatif/1"
"""The number rises when a key changes meaning or goes."""


class WhatIf(Value):
    """An assumption and what follows from it."""

    assumption: Assumption
    source: str | None = Field(description="what --from named; None for this machine")
    difference: Difference
    before: tuple[Gap, ...] = Field(description="what was not known before")
    machine: Machine = Field(description="the machine after the restart")

    @property
    def unknown(self) -> tuple[Gap, ...]:
        """What the assumption leaves open, or rests on."""
        return tuple(gap for gap in self.machine.gaps if gap not in self.before)

    @property
    def told(self) -> Difference:
        """The difference without what is not known after the change: that is no difference of the machines."""
        return self.difference.model_copy(update={"devices": tuple(c for c in self.difference.devices if c.after is not None)})


def whatif_document(found: WhatIf) -> dict[str, Any]:
    """Return the document of ``advisor whatif --json``; its ``machine`` is what other commands read with --from."""
    return {
        "schema": WHATIF_SCHEMA,
        "assumption": found.assumption.model_dump(mode="json", exclude_none=True),
        "text": found.assumption.text,
        "difference": found.told.model_dump(mode="json"),
        "unknown": [gap.model_dump(mode="json") for gap in found.unknown],
        "machine": found.machine.model_dump(mode="json"),
    }


def whatif_page(found: WhatIf, written: str | None = None) -> Page:
    """Return what would change, as a page; ``written`` names the file that holds the machine after the restart."""
    return Page(lambda room: _whatif_lines(found, written, room))


def _whatif_lines(found: WhatIf, written: str | None, width: int) -> list[Line]:
    title: Line = ((f"{plain(found.difference.before)} with {found.assumption.text}, after the restart", "title"),)
    inside = found.machine.environment
    if inside and inside.is_virtual:
        guest = f"a virtual machine ({plain(str(inside.virtual), 40)}) cannot set this: its host does, or another instance type"
        head = [title, *wrapped([("! ", "warn"), (guest, "")], width, indent=2)]
    else:
        head = [title]
    if found.told.same and not found.unknown:
        return [*head, (("The machine has these settings already: nothing would change.", ""),)]
    lines = [*head, *_changes(found.told, width, "not known")]
    if found.unknown:
        lines += [(), (("Assumed or not known before the restart", "heading"),)]
        for gap in found.unknown:
            why = plain(gap.why.removeprefix("assumed, not read: "), _LONGEST_REASON)
            lines += wrapped([("? ", "unknown"), (f"{gap.fact}: ", "label"), (why, "")], width)
    return [*lines, (), (("How to go on", "heading"),), *_next_steps(found, written, width)]


_LONGEST_REASON = 600


def _next_steps(found: WhatIf, written: str | None, width: int) -> list[Line]:
    file = word(written) if written else "after.json"
    steps: list[tuple[str, str]] = []
    if written is None:
        source = f" --from {word(found.source)}" if found.source else ""
        steps.append(
            (f"advisor whatif{source} {_options(found.assumption)} -o after.json", "saves the machine after the restart")
        )
    steps.append((f"advisor bind --from {file} -- ./app", "command and rankfile for after the restart"))
    steps.append((f"advisor compare {file} -", "after the restart: check that it is so"))
    # A command stays on one line, however long: it is there to be copied.
    return [line for command, why in steps for line in (((command, ""),), *wrapped([(f"    {why}", "dim")], width, indent=4))]


def _options(assumption: Assumption) -> str:
    return " ".join(f"--{word.replace('=', ' ', 1)}" for word in assumption.text.split(","))


BEFORE_AFTER_SCHEMA: Final = "advisor-before-after/1"
"""The number rises when a key changes meaning or goes."""
_WIDE: Final = 120
"""Columns from which the least and the most stand beside their median."""
_STYLES: Final = {"faster": "good", "slower": "warn", "no difference shown": "dim"}


def before_after_document(found: BeforeAfter) -> dict[str, Any]:
    """Return a comparison as plain JSON values."""
    return {"schema": BEFORE_AFTER_SCHEMA, **found.model_dump(mode="json")}


def before_after_page(found: BeforeAfter, width: int | None = None) -> Page:
    """Return a comparison as a page."""
    return Page(lambda room: before_after_lines(found, room), width)


def before_after_lines(found: BeforeAfter, width: int) -> list[Line]:
    """Return the table, the message rate in a sentence, what the figures mean, and what speaks against them."""
    when = f"before {_time(found.before)}, after {_time(found.after)}"
    words = (plain(found.hosts.replace(",", " and "), 120), plain(found.launcher, 60), when)
    about = ", ".join(word for word in words if word)
    head = (
        "adapter",
        "measured" if any(each.what == "part" for each in found.rows) else "all cores",
        "n",
        "before",
        "after",
        "ratio",
        "p",
        "after is",
    )
    rows = [_row(each, wide=width >= _WIDE) for each in found.rows]
    kept = [at for at in range(len(head)) if at > 0 or any(each.hca for each in found.rows)]
    shown = [[row[at] for at in kept] for row in rows]
    result = heading("Before and after", about, width)
    result += table([head[at] for at in kept], shown, width, "".join("llrrrrrl"[at] for at in kept))
    for each in found.rows:
        if each.what == "message rate":
            result += wrapped([(_sentence(each, found.of), _STYLES[each.says])], width)
    result += wrapped([(_N[found.of] + _MEANS, "dim")], width)
    for warning in found.warnings:
        result += wrapped([(f"! {plain(warning, 400)}", "warn")], width)
    return result


_N: Final = {"starts": "n: starts of each setting, by their medians. ", "repeats": "n: repeats of each. "}
_MEANS: Final = (
    "p: the probability that chance alone separates them this far (Mann-Whitney, two-sided). Faster or slower: p is at "
    f"most {SIGNIFICANT:g} and the medians differ by {percent(NEGLIGIBLE)} or more."
)


def _time(started: str) -> str:
    return plain(started[:16].replace("T", " "), 20)


def _row(each: Contrast, *, wide: bool) -> list[Cell]:
    numbers = (each.before.number, each.after.number)
    return [
        plain(each.hca or "", 40),
        _measured(each),
        f"{numbers[0]}" if numbers[0] == numbers[1] else f"{numbers[0]} / {numbers[1]}",
        _spread_of_side(each.before, each, wide=wide),
        _spread_of_side(each.after, each, wide=wide),
        f"{each.ratio:.3f}",
        probability(each.p),
        (each.says, _STYLES[each.says]),
    ]


def _measured(each: Contrast) -> str:
    """Return what stands in a row, with its unit: a size of messages, or a kernel on a part."""
    if each.part is None:
        return f"{unit_name(each.unit)}, {binary(each.bytes or 0)}"
    away = "" if each.distance in (None, "local", "spread") else f", {distance(each.distance)}"
    of = f"{plain(each.kernel or '', 40)} {plain(each.variant or '', 40)}, {part_name(each.part, each.index)}{away}"
    return f"{of}, {unit_name(each.unit)}"


def _spread_of_side(side: Side, of: Contrast, *, wide: bool) -> str:
    """Return the median, and with room enough the least and the most."""
    middle = short_number(side.median, of.unit)
    return f"{middle} ({short_number(side.low, of.unit)}-{short_number(side.high, of.unit)})" if wide else middle


def _sentence(each: Contrast, of: str) -> str:
    where = f"Through {plain(each.hca, 40)} " if each.hca else ""
    what = f"{where}{'the' if where else 'The'} message rate of {count(each.pairs, 'pair')} of ranks"
    both = f"{amount(each.before.median, each.unit)} before, {amount(each.after.median, each.unit)} after"
    chance = f"p {probability(each.p)}, {each.before.number} and {each.after.number} {of}"
    if each.says == "no difference shown":
        return f"{what}: no difference shown ({both}; {chance})."
    return f"{what} is {percent(abs(each.ratio - 1))} {'higher' if each.ratio > 1 else 'lower'} ({both}; {chance})."


def probability(p: float) -> str:
    """Return a p: ``0.34``, ``0.00004``; what is next to nothing as less than that.

    >>> probability(0.3401), probability(4.1e-5), probability(1e-9)
    ('0.34', '0.00004', '< 0.00001')
    """
    if p < 1e-5:
        return "< 0.00001"
    return f"{p:.2g}" if p >= 0.001 else f"{p:.5f}"
