"""An audit on its first screen, what to fix first and how; and in full, with every setting, verdict and fact."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len

from advisor.advice.audit_page.card import (
    LONGEST,
    ROOM,
    Shown,
    changed,
    cost_label,
    cost_or_basis,
    cost_words,
    fix_rows,
    fix_words,
    grouped,
    head_of,
    headline,
    in_short,
    lead,
    open_checks,
    passed,
    restart,
    subjects,
    tally,
    undo_row,
    unknown_facts,
    unseen_words,
    unsure_words,
)
from advisor.advice.audit_page.explain import in_full
from advisor.advice.audit_page.machine import FACT_LABEL, details, figures, identity, proven, whole
from advisor.advice.model.findings import Audit, Finding, Row, totals, verdicts_of
from advisor.advice.model.plan import Planned, planned_for
from advisor.advice.model.sheets import WHERES, Publication, Verdict
from advisor.machine.units import count, plain
from advisor.show.commandline import folded, word
from advisor.show.lines import Line, Page, Span, clipped, glued, labelled, with_units, wrapped
from advisor.show.picture import Picture, picture

HEIGHT, WIDTH = 24, 80
"""Lines of a terminal as it opens, which the screen keeps to from so many columns on."""

Lines = Callable[[int], list[Line]]
"""What has so many columns."""


class _Detail(NamedTuple):
    """How much a screen shows: the first that fits is taken."""

    fixes: int
    """Fixes with all that belongs to them."""
    lines: int
    """Fixes with a line or two."""
    considered: int
    """Lines of what to consider."""
    unseen: int
    """Lines of what was not seen."""
    each: int
    """Lines that a fix in short may take."""


_DETAILS = (
    _Detail(3, 6, 5, 3, 4), _Detail(3, 6, 3, 3, 4), _Detail(3, 4, 2, 2, 2), _Detail(3, 3, 1, 1, 2), _Detail(2, 4, 2, 2, 2),
    _Detail(2, 3, 1, 1, 2), _Detail(1, 6, 3, 3, 4), _Detail(1, 4, 2, 2, 3), _Detail(1, 3, 1, 1, 3), _Detail(1, 3, 1, 1, 2),
    _Detail(1, 3, 0, 1, 2), _Detail(1, 2, 0, 1, 1),
)  # fmt: skip

_LONG_COMMAND = 3
"""Lines of a command with long paths, beside which a full screen has no line for the names of others."""

_NARROW = _Detail(1, 4, 4, 6, 10)
"""On a terminal that scrolls in any case: whatever is shown is shown whole."""

_SHORT = 44
"""Columns of what stands on one line, where a longer text is broken."""


def audit_page(shown: Shown, *, added: Lines = lambda _: [], width: int | None = None) -> Page:
    """Return an audit on one screen: the machine, what to fix and how, what to consider, what was measured and what not seen.

    ``added`` is what was asked for beside it, such as tables of what was measured.
    """
    seen = picture(shown.machine, shown.layout)
    return Page(lambda room: [*screen(shown, seen, room), *added(room)], width)


def screen(shown: Shown, seen: Picture, width: int) -> list[Line]:
    """Return the screen in as much detail as 24 lines hold; a narrow terminal gets the least, on more lines."""
    audit, rules = shown.audit, shown.audit.by_rule
    harmful = [own for own in rules if own[0].severity != "info"]
    considered = _considered(shown, [own for own in rules if own[0].severity == "info"], width)
    ways = open_checks(audit, shown.asker)
    head = [*identity(shown.machine, shown.layout, seen, width, ROOM), *_verdict(shown, harmful, width)]
    little = head_of(audit).little
    checked = _section("CHECKED", list(passed(audit)), width, 2, "good") if not harmful and not little else []
    facts = list(proven(shown.machine, shown.layout, shown.bounds)) if little else []
    waits = [row for row in audit.settings if row.pending is not None and row.pending != row.current]
    next_boot = [f"{plain(row.term, 60)} {plain(row.current or '?', 30)} -> {plain(str(row.pending), 30)}" for row in waits]
    pending = _section("PENDING", [f"{text} at the next boot" for text in next_boot], width, 1, "warn")
    results = list(figures(shown.measured).values()) if shown.measured else []

    def lines(detail: _Detail) -> list[Line]:
        consider = _section("CONSIDER", considered, width, detail.considered, "label")
        measured = _section("MEASURED", results, width, max(detail.considered - 1, 2 if detail.considered else 1), "label")
        if measured and not detail.considered:
            measured = clipped([(f"{'MEASURED':<{ROOM}}", "label"), (with_units(" · ".join(results)), "")], width, 1, ROOM)
        first = [" · ".join(facts[:at]) for at in range(len(facts), 0, -1)]
        unseen = [unseen_words(ways, at, shown.asker) for at in range(len(ways), -1, -1)] if ways else []
        return [
            *head,
            *_fixes(shown, harmful, width, detail),
            *checked,
            *_fitting(("PROVEN", "label"), map(with_units, first), width, detail.considered),
            *pending,
            *consider,
            *measured,
            *_fitting(("NOT CHECKED  ", "label"), unseen, width, detail.unseen, unseen[-2:-1]),
            *_end(shown, width, brief=not detail.considered),
        ]

    if width < WIDTH:
        return lines(_NARROW)
    return next((drawn for drawn in map(lines, _DETAILS[:-1]) if len(drawn) <= HEIGHT), None) or lines(_DETAILS[-1])


def _end(shown: Shown, width: int, *, brief: bool) -> list[Line]:
    """Return what stands below on every screen: what was waived, what broke, the numbers, the commands to go on with."""
    kinds = {"waived": ("WAIVED", "dim"), "error": ("BROKEN", "down")}
    result: list[Line] = []
    for verdict, (title, style) in kinds.items():
        own = {each.id: each for each in shown.audit.findings if each.verdict == verdict}.values()
        texts = [f"{each.id}: {plain((each.waived if verdict == 'waived' else each.claim) or '', 80)}" for each in own]
        result += _section(title, texts, width, 1, style)
    return [*result, *rules_line(shown.audit, width), *_next(shown, width, brief=brief)]


def _verdict(shown: Shown, harmful: Sequence[tuple[Finding, ...]], width: int) -> list[Line]:
    """Return the line that a hurried reader takes away; where little is known, that comes first."""
    audit, outcome = shown.audit, head_of(shown.audit)
    answered, open_rules = totals(audit).answered, totals(audit).unknown
    lines: list[list[Span]] = []
    if outcome.little:  # a reader may have a better source
        where = next((source.where for source in shown.machine.sources if source.fact == "topology"), "")
        given = "hwloc XML" if where == "hwloc XML" else "machine" if shown.asker.live else "input"
        words = f"  {answered} of {answered + open_rules} checks gave a result for this {given}"
        words += "" if harmful else "; no fault found"
        lines.append([("LIMITED DATA", "warn"), (words, "")])
    if harmful:
        first, needs = harmful[0][0], restart(*(own[0] for own in harmful))
        name, cost = headline(first), first.cost
        worth = f": {cost_words(cost).partition(',')[0]}" if cost and cost.gain is not None and name == first.title else ""
        change = changed(audit, first.wants, explained=True) or name
        what, style = f"{change}{worth}{f'; one {needs}' if needs else ''}", "down"
    elif outcome.outcome == "nothing":
        rest = f", {open_rules} need{'s' if open_rules == 1 else ''} more facts" if open_rules else ""
        what, style = f"{count(answered, 'check')} answered for {audit.scope}{rest}", "good"
    else:
        what, style = unsure_words(audit), "warn"
    if outcome.says:
        lines.append([(outcome.says.upper(), style), (f"  {what}", "")])
    return [(), *(line for each in lines for line in wrapped(each, width))]


def _fixes(shown: Shown, harmful: Sequence[tuple[Finding, ...]], width: int, detail: _Detail) -> list[Line]:
    """Return the fixes, numbered: some in full, some in a line or two, the rest counted."""
    result = [
        line
        for at, own in enumerate(harmful[: detail.fixes])
        for line in _in_full(shown, own, width, commit=not at and detail.each > 1)
    ]
    rest = harmful[detail.fixes : detail.fixes + detail.lines]
    for own in rest:
        head = own[0]
        change = changed(shown.audit, head.wants)
        what = f": {change}" if change else f"; fix: {fix_words(head).removeprefix('BIOS: ')}"
        words = [(in_short(head), ""), (subjects(own), "dim"), (what, "")]
        result += clipped([lead(shown.number(head.id), head), *words], width, detail.each, ROOM)
    left = len(harmful) - detail.fixes - len(rest)
    return [*result, *labelled("", [(f"{left} more to fix: advisor audit -v", "dim")], width, ROOM)] if left > 0 else result


def _in_full(shown: Shown, own: tuple[Finding, ...], width: int, *, commit: bool) -> list[Line]:
    """Return a finding with its parts, on few lines where the screen is to be one; a word to be copied is never broken.

    The line that commits all changes is shown once, where ``commit`` says that there is room.
    """
    head, narrow = own[0], width < WIDTH
    members = [finding for group in grouped(own) for finding in group]
    words = [(plain(head.claim or head.title, 300), "title"), (f"{subjects(members)} ({head.id})", "dim")]
    result = clipped([lead(shown.number(head.id), head), *words], width, LONGEST if narrow else 3, ROOM)
    planned = planned_for(shown.plan, head) if shown.plan is not None else Planned()
    fix = fix_rows(head, planned, shown.audit.vendor, shown.asker, commit=commit)
    rows = [
        *fix,
        (cost_label(head), cost_or_basis(head)),
        ("check", shown.asker.filled(head.check or "")),
        ("undo", undo_row(head, planned)),
    ]
    for label, text in rows:
        most = LONGEST if narrow else 3 if label in ("fix", "or", "then") else 2
        spans = [(f"{'':3}{label:<{ROOM - 3}}", "label"), (plain(text, 400), "")]
        result += clipped(spans, width, most, ROOM, whole=True) if text else []
    return result


def _fitting(word: Span, texts: Iterable[str], width: int, most: int, least: Sequence[str] = ()) -> list[Line]:
    """Return the first of some texts that stands beside a word on as many lines as are given, or is the least that is said."""
    for text in texts:
        lines = wrapped([(f"{word[0]:<{ROOM}}", word[1]), (text, "")], width, indent=ROOM)
        if len(lines) <= most or text in least:
            return lines
    return []


def _section(word: str, items: Sequence[str], width: int, most: int, style: str) -> list[Line]:
    """Return items on as many lines as are given, those left out counted, all of them on none; nothing where there are none."""
    if items and not most:
        return [((f"{word:<{ROOM}}", style), (f"{count(len(items), 'thing')}: -v", ""))]
    more = [f" · {len(items) - at} more: -v" if at < len(items) else "" for at in range(len(items) + 1)]
    texts = [with_units(" · ".join(items[:at])) + more[at] for at in range(len(items), 0, -1)]
    return _fitting((word, style), texts, width, most, texts[-1:])


def _considered(shown: Shown, minor: Sequence[tuple[Finding, ...]], width: int) -> list[str]:
    """Return what to consider, a few words each; where guides differ these words say so."""
    result = []
    for own in minor:
        more = len({finding.subject for finding in own}) - 1
        words = changed(shown.audit, own[0].wants) or f"{in_short(own[0])}{f', {more} more like this' if more else ''}"
        words += ", guides differ" if own[0].basis == "disputed" else ""
        result.append(glued(f"({shown.number(own[0].id)}) ", ROOM) + glued(words, min(_SHORT, width - 2 * ROOM)))
    return result


def rules_line(audit: Audit, width: int) -> list[Line]:
    """Return how many rules came to what, so that nobody takes silence for health."""
    return wrapped([(f"{'CHECKS':<{ROOM}}", "dim"), (" · ".join(tally(audit)), "")], width, indent=ROOM)


def _next(shown: Shown, width: int, *, brief: bool) -> list[Line]:
    """Return the commands to go on with; of those that need a file one in full, to be copied, whatever the width."""
    asker, rules = shown.asker, shown.audit.by_rule
    names = ["checklist", "report -o FILE.html", "audit -v"]
    if rules:
        head = rules[0][0]
        explain = f"explain {shown.number(head.id)}"
        tool = planned_for(shown.plan, head).tool if shown.plan is not None else None
        names[:1] = [f"checklist --only {shown.number(head.id)} --as {tool}", explain] if tool else [explain, "checklist"]
    label = (f"{'MORE':<{ROOM}}", "label")
    if not asker.words:
        return wrapped(
            [label, (" · ".join(glued(f"advisor {name}", width - ROOM) for name in names), "title")], width, indent=ROOM
        )
    room = max(width - ROOM, ROOM)
    first = folded(("advisor", *names[0].split(), *asker.words), room)
    shows = folded(("advisor", "measure", "show", *asker.files), room) if asker.files and not brief else []
    lines: list[Line] = [(label if at == 0 else (" " * ROOM, ""), (text, "title")) for at, text in enumerate([*first, *shows])]
    if brief and len(first) > _LONG_COMMAND:
        return lines
    return [*lines, *labelled("", [(f"same options: {', '.join(names[1:])}", "dim")], width, ROOM)]


Publications = Mapping[str, Publication]
Step = tuple[Sequence[str], str]
"""A command, and what it shows."""

_SIGN = {
    "differs": ("!", "warn"), "pending": ("*", "warn"), "met": ("=", "good"), "unknown": ("?", "unknown"), "taste": ("~", "dim"),
    "open": ("~", "dim"), "free": (" ", "label"),
}  # fmt: skip
_LISTS: tuple[tuple[Verdict, str], ...] = (
    ("unknown", "Not known"), ("pass", "Passed"), ("not-applicable", "Does not apply"),
)  # fmt: skip


PARTS = ("machine", "findings", "settings", "unknown", "passed", "not-applicable", "facts")
"""What of a whole audit can be shown by itself."""
TOPICS: Mapping[str, tuple[str, ...]] = {
    "boot": ("kernel",), "cpu": ("registers",), "fabric": ("hcas", "nics"), "firmware": ("bios", "acpi", "socket_firmware"),
    "gpu": ("gpus",), "io": ("pci", "hcas", "nics", "iommu"), "limits": (), "memory": ("dax", "tiers"),
    "mpi": ("tools", "environment"),
    "numa": ("acpi", "tiers"), "os": ("kernel", "limits", "environment"), "power": ("cpu",),
    "scheduler": ("slurm_nodes", "slurm_conf", "allocation"),
}  # fmt: skip
"""A topic of rules or settings, and the facts of a machine that belong to it beside those of its own name."""


def whole_audit_page(
    shown: Shown,
    publications: Publications,
    *,
    added: Lines = lambda _: [],
    steps: Iterable[Step] = (),
    believed: Sequence[str] = (),
    only: Sequence[str] = (),
    topics: Mapping[str, str] | None = None,
    width: int | None = None,
) -> Page:
    """Return an audit with every verdict, setting and fact, each with where it was read and its source.

    ``believed`` are the files of the site that had a say, with owner and mode. ``only`` are the parts to show, all where none is
    named: of PARTS, of TOPICS, or topics of rules, which ``topics`` gives by rule.
    """
    audit, machine, layout, asker = shown.audit, shown.machine, shown.layout, shown.asker
    seen = picture(machine, layout)

    def facts(room: int) -> list[Line]:
        known = [
            line for fact in proven(machine, layout, shown.bounds) for line in wrapped([(f"  {with_units(fact)}", "")], room, 4)
        ]
        return [(), (("Proven even without root", "heading"),), *known] if known else []

    parts: dict[str, Callable[[int], list[Line]]] = {
        "machine": lambda room: [*whole(machine, seen, room), *facts(room)],
        "findings": lambda room: full_findings(shown, publications, room),
        "settings": lambda room: all_settings(audit, room),
        "unknown": lambda room: [*_listed(audit, "unknown", "Not known", room), *unknown_facts(audit, room, asker)],
        "passed": lambda room: _listed(audit, "pass", "Passed", room),
        "not-applicable": lambda room: _listed(audit, "not-applicable", "Does not apply", room),
        "facts": lambda room: details(machine, room),
    }

    def topic(name: str, room: int) -> list[Line]:
        own = [each for each in audit.findings if (topics or {}).get(each.id) == name]
        rows = [row for row in audit.settings if row.name.partition(".")[0] == name]
        about = audit.but(findings=tuple(own), settings=tuple(rows))
        found = full_findings(shown._replace(audit=about), publications, room) if about.found or not rows else []
        found += all_settings(about, room) if rows else []
        found += [line for listed in _LISTS[:2] for line in _listed(about, *listed, room)]
        return found + details(machine, room, (name, *TOPICS.get(name, ())))

    def lines(room: int) -> list[Line]:
        if only:
            found = [line for name in only for line in (parts[name](room) if name in parts else topic(name, room))]
            return [*found[1 if found and not found[0] else 0 :], *_next_steps(steps, room)]
        return [
            *(line for name in ("machine", "findings", "settings") for line in parts[name](room)),
            *(line for listed in _LISTS for line in _listed(audit, *listed, room)),
            *details(machine, room),
            *unknown_facts(audit, room, asker),
            *rules_line(audit, room),
            *(labelled("site files", [("\n".join(believed), "")], room, FACT_LABEL) if believed else ()),
            *added(room),
            *_next_steps(steps, room),
        ]

    return Page(lines, width)


def _next_steps(steps: Iterable[Step], width: int) -> list[Line]:
    """Return the commands to go on with; what they show stands beside them where there is room.

    Where a command is wider than the page its lines end in backslashes: copied, they are one line of a shell.
    """
    named = [(argv, " ".join(map(word, argv)), shows) for argv, shows in steps]
    room = max((cell_len(command) for _, command, _ in named), default=0)
    result: list[Line] = []
    for at, (argv, command, shows) in enumerate(named):
        label = ("Next  " if at == 0 else " " * 6, "label")
        fits = 6 + room + 2 + cell_len(shows) <= width
        beside = (f"{'':{room - cell_len(command)}}  {shows}", "dim") if fits else ("", "")
        lines = [command] if fits else folded(argv, width - 6)
        result += [(label if not line else (" " * 6, ""), (text, "title"), beside) for line, text in enumerate(lines)]
    return [(), *result] if result else []


def state(row: Row, found: Mapping[str, bool]) -> str:
    """Return how a setting stands to what is wanted of it; ``found`` says by rule whether what it found does harm.

    A matter of taste differs without harm; it is open where a rule wants something else and found nothing.
    """
    if row.pending is not None and row.pending != row.current:
        return "pending"
    if row.met is not None:
        harms = [found[rule] for rule in row.rules if rule in found]
        return "met" if row.met else "differs" if any(harms) else "taste" if harms else "open"
    return "unknown" if row.current is None else "free"


def harms(audit: Audit) -> dict[str, bool]:
    """Return of each rule that found something whether that does harm."""
    return {each.id: each.severity != "info" for each in audit.findings if each.verdict in ("finding", "waived")}


def all_settings(audit: Audit, width: int) -> list[Line]:
    """Return every setting with all that is known of it, by where it is set."""
    about = f"  for {audit.scope}: ! differs, * changes at the next boot, = as wanted, ~ differs, no known harm"
    found, result = harms(audit), [(), (("Settings", "heading"), (about, "dim"))]
    for where, rows in groupby(sorted(audit.settings, key=lambda row: WHERES.index(row.where)), key=lambda row: row.where):
        result.append(((where, "label"),))
        for row in rows:
            sign, style = _SIGN[state(row, found)]
            spans = [(row.term, "title"), (f" ({row.title}): ", ""), ("; ".join(filter(None, _setting(row))), "")]
            first, *more = labelled(f"{sign} {row.name}", spans, width, 30)
            result += [((first[0][0], style), *first[1:]), *more]
    return result


def _setting(row: Row) -> Iterator[str]:
    """Yield what a setting is set to, who is believed where that is not the operating system, what others say, what is wanted."""
    by = row.witnesses[0].by if row.witnesses else "system"
    who = f"{by}, " if by in ("register", "firmware") else ""
    current = row.current
    yield "not known" if current is None else f"{plain(current)} ({who}{row.confidence}: {plain(row.how or '')})"
    yield f"wanted: {plain(row.wanted, 80) if row.wanted is not None else 'not determined'}" if row.rules else ""
    others = (each for each in row.witnesses[1:] if each.by != "BIOS")
    yield from (f"{each.by} says {plain(each.value)} ({each.sure}: {plain(each.how)})" for each in others)
    yield f"the BIOS says {plain(row.bios)}" if row.bios is not None else ""
    yield f"changes to {plain(row.pending)} at the next boot" if row.pending is not None else ""
    yield f"rule{'s' * (len(row.rules) > 1)} {', '.join(row.rules)}" if row.rules else ""


def full_findings(shown: Shown, publications: Publications, width: int) -> list[Line]:
    """Return every finding, waived and broken rule in full, under the numbers by which commands take them."""
    waived = [finding for finding in shown.audit.findings if finding.verdict in ("waived", "error")]
    result: list[Line] = [(), (("Findings", "heading"),)]
    for group in (groups := grouped([*shown.audit.found, *waived])):
        result += [(), *in_full(group, shown, publications, width)]
    return result if groups else [*result, (("none found in the known facts about this machine", ""),)]


def _listed(audit: Audit, verdict: Verdict, title: str, width: int) -> list[Line]:
    """Return what is unknown and for want of what, what passed, or what does not apply and why."""
    counted, partly = verdicts_of(audit, verdict)
    if not counted and not partly:
        return []
    more = f", plus {len(partly)} for some parts only (counted elsewhere)" if partly else ""
    result: list[Line] = [(), ((title, "heading"), (f"  {count(len(counted), 'rule')}{more}", "dim"))]
    for name, own in {**counted, **partly}.items():
        reasons: dict[str, list[str]] = {}
        for finding in own:
            lacks = ", ".join(plain(lack.fact, 80) for lack in finding.lacks) if verdict == "unknown" else ""
            why = "" if verdict == "pass" else lacks or plain(finding.claim or "", LONGEST)
            reasons.setdefault(why, []).extend([plain(finding.subject, 60)] if finding.subject else [])
        for why, names in reasons.items():
            about = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            spans = [(name, "title"), (f" ({about})" if about else "", ""), (f": {why}" if why else "", "dim")]
            result += wrapped(spans, width)
    return result
