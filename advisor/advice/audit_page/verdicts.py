"""Every verdict in full: findings with steps, commands, undo and sources; settings with what is wanted of each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from advisor.advice.audit_page.findings import LONGEST, Group, cost_or_basis, evidence_words, grouped, mark
from advisor.advice.model.findings import Audit, Finding, Fix, Row
from advisor.advice.model.rule import WHERES, Guide, Publication, Verdict
from advisor.advice.model.totals import verdicts_of
from advisor.machine.jinja import REBOOTS
from advisor.machine.units import count, plain
from advisor.show.lines import Line, Span, labelled, wrapped

_SIGN = {
    "differs": ("!", "warn"),
    "pending": ("*", "warn"),
    "met": ("=", "good"),
    "unknown": ("?", "unknown"),
    "taste": ("~", "dim"),
    "open": ("~", "dim"),
    "free": (" ", ""),
}


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


def _states(audit: Audit) -> dict[str, str]:
    told = (finding for finding in audit.findings if finding.verdict in ("finding", "waived"))
    found = {finding.id: finding.severity != "info" for finding in told}
    return {row.name: state(row, found) for row in audit.settings}


def _wanted(row: Row) -> str:
    return plain(row.wanted, 80) if row.wanted is not None else "?" if row.rules else "-"


def all_settings(audit: Audit, width: int) -> list[Line]:
    """Return every setting with all that is known of it, by where it is set."""
    states = _states(audit)
    result: list[Line] = [
        (),
        (
            ("Settings", "heading"),
            (f"  for {audit.scope}: ! differs, * changes at the next boot, = as wanted, ~ differs without harm known", "dim"),
        ),
    ]
    for where, rows in groupby(sorted(audit.settings, key=lambda row: WHERES.index(row.where)), key=lambda row: row.where):
        result += [((where, "label"),), *(line for row in rows for line in _whole(row, states[row.name], width))]
    return result


def _known(row: Row) -> str:
    """Return what a setting is set to, and who is believed where that is not the operating system."""
    if row.current is None:
        return "is not known"
    by = row.witnesses[0].by if row.witnesses else "system"
    who = f"{by}, " if by in ("register", "firmware") else ""
    return f"is {plain(row.current)} ({who}{row.confidence}: {plain(row.how or '')})"


def _whole(row: Row, standing: str, width: int) -> list[Line]:
    sign, style = _SIGN[standing]
    told = (
        _known(row),
        f"wanted {_wanted(row)}" if row.rules else "",
        *(
            f"{each.by} says {plain(each.value)} ({each.sure}: {plain(each.how)})"
            for each in row.witnesses[1:]
            if each.by != "BIOS"
        ),
        f"the BIOS says {plain(row.bios)}" if row.bios is not None else "",
        f"changes to {plain(row.pending)} at the next boot" if row.pending is not None else "",
        f"asked by {', '.join(row.rules)}" if row.rules else "",
    )
    name = labelled(
        f"{sign} {row.name}",
        [(row.term, "title"), (f" ({row.title}): ", ""), ("; ".join(part for part in told if part), "")],
        width,
        30,
    )
    return [((name[0][0][0], style or "label"), *name[0][1:]), *name[1:]] if name else []


LABEL = 10
"""Columns that the name of a part takes."""

Publications = Mapping[str, Publication]
LabelledText = tuple[str, str]


def full_findings(audit: Audit, width: int, publications: Publications, numbers: Mapping[str, int] | None = None) -> list[Line]:
    """Return every finding, waived and broken rule in full, under the numbers by which commands take them."""
    known = numbers or {own[0].id: at for at, own in enumerate(audit.by_rule, 1)}
    waived = [finding for finding in audit.findings if finding.verdict in ("waived", "error")]
    groups = grouped([*audit.found, *waived])
    result: list[Line] = [(), (("Findings", "heading"),)]
    for group in groups:
        result += [(), *_finding(group, width, publications, known.get(group.head.id))]
    return result if groups else [*result, (("none in what is known of this machine", ""),)]


def _finding(group: Group, width: int, publications: Publications, number: int | None) -> list[Line]:
    head = group.head
    word = f"{number or '':>2} {mark(head.severity)}" if head.verdict == "finding" else head.verdict.upper()
    style = head.severity if head.verdict == "finding" else "dim" if head.verdict == "waived" else "down"
    result = wrapped(
        [(f"{word:<{LABEL}}", style), (head.id, "title"), (f"  {plain(head.title, LONGEST)}", "")], width, indent=LABEL
    )
    for label, text in _before(group):
        result += _part(label, text, width)
    for at, step in enumerate(head.fix, 1):
        own = step.model_copy(update={name: None for name in ("check", "undo") if getattr(step, name) == getattr(head, name)})
        result += _step(own, at if len(head.fix) > 1 else None, width)
    for label, text in _after(head, publications):
        result += _part(label, text, width)
    return result


def _part(label: str, text: str, width: int, style: str = "") -> list[Line]:
    return labelled(f"  {label}", [(text, style)], width, LABEL + 2)


def _first_labelled(label: str, texts: Iterable[str]) -> Iterator[LabelledText]:
    """Yield texts under one another, the first with the label."""
    yield from ((label if at == 0 else "", text) for at, text in enumerate(dict.fromkeys(texts)))


def _before(group: Group) -> Iterator[LabelledText]:
    """Yield what is so, why it matters, how it is known and what it costs."""
    head = group.head
    yield from _first_labelled("claim", (_claim(finding) for finding in group.members))
    if head.waived:
        yield "waived", plain(head.waived, LONGEST)
    if head.why:
        yield "why", plain(head.why, 2000)
    yield from _first_labelled("evidence", (evidence_words(one) for finding in group.members for one in finding.evidence))
    if head.verdict != "error":
        yield "cost", cost_or_basis(head)
    if not head.fix and (head.advice or head.want):
        yield "fix", plain(head.advice or head.want or "", 2000)


def _claim(finding: Finding) -> str:
    claim = plain(finding.claim or finding.title, 2000)
    subject = plain(finding.subject or "", 80)
    return claim if not subject or subject in claim else f"{subject}: {claim}"


def _step(step: Fix, number: int | None, width: int) -> list[Line]:
    """Return one step; its commands stand alone on their lines, unbroken, to be copied."""
    restart = "" if step.reboot == "no" else f" (takes effect after a {'reboot' if step.reboot == 'yes' else step.reboot})"
    label = "fix" if number is None else f"fix {number}"
    result = labelled(f"  {label}", [(plain(step.text, 2000), "title"), (restart, "dim")], width, LABEL + 2)
    result += _indented((f"first {plain(text, LONGEST)}" for text in step.before), width)
    result += [_to_copy(line) for line in step.commands if line != step.text]
    if step.apply:
        result += [*_indented([REBOOTS], width), *map(_to_copy, step.apply)]
    if step.verified is not None:
        sure = (
            "seen in the vendor's own registry" if step.verified else "from documents; not checked against the vendor's registry"
        )
        result += _indented([f"this name and value: {sure}"], width)
    result += _indented((plain(note, LONGEST) for note in step.notes), width)
    result += _indented([f"shown by: {plain(step.check, LONGEST)}"] if step.check else [], width)
    return result + _indented([f"undo: {plain(step.undo, LONGEST)}"] if step.undo else [], width)


def _to_copy(line: str) -> Line:
    return (" " * (LABEL + 2) + "$ ", "dim"), (plain(line, 2000), "")


def _indented(texts: Iterable[str], width: int) -> list[Line]:
    return [line for text in texts for line in _part("", text, width, "dim")]


def _after(head: Finding, publications: Publications) -> Iterator[LabelledText]:
    """Yield how to check it, how to undo it, when to leave it, and its source."""
    named = (("check", head.check), ("undo", head.undo), ("leave it", head.spare))
    yield from ((label, plain(text, 2000)) for label, text in named if text)
    yield from _first_labelled("guides", (guide_words(guide) for guide in head.guides))
    yield from _first_labelled("sources", (source_words(ref, publications) for ref in head.refs))


def guide_words(guide: Guide) -> str:
    """Return what one guide says: ``dell-rome-2019 says: the highest the processor offers``."""
    return f"{guide.ref} says: {plain(guide.says, 2000)}"


def source_words(ref: str, publications: Publications) -> str:
    """Return a publication in one line."""
    known = publications.get(ref)
    if known is None:
        return ref
    year = f", {known.year}" if known.year else ""
    return f"{ref}: {plain(known.title)} ({plain(known.by)}{year}), {plain(known.where)}"


def other_verdicts(audit: Audit, width: int) -> list[Line]:
    """Return what is unknown and for want of what, what passed, and what does not apply and why."""
    result = _listed(audit, "unknown", "Not known", _wanting, width)
    result += _listed(audit, "pass", "Passed", lambda _: "", width)
    return result + _listed(audit, "not-applicable", "Does not apply", lambda finding: plain(finding.claim or "", LONGEST), width)


def _listed(audit: Audit, verdict: Verdict, title: str, reason: Callable[[Finding], str], width: int) -> list[Line]:
    counted, partly = verdicts_of(audit, verdict)
    if not counted and not partly:
        return []
    more = f", and in part {len(partly)} counted elsewhere" if partly else ""
    result: list[Line] = [(), ((title, "heading"), (f"  {count(len(counted), 'rule')}{more}", "dim"))]
    for name, own in {**counted, **partly}.items():
        for why in dict.fromkeys(map(reason, own)):
            about = _subjects([finding for finding in own if reason(finding) == why])
            spans: list[Span] = [(name, "title"), (f" ({about})" if about else "", ""), (f": {why}" if why else "", "dim")]
            result += wrapped(spans, width)
    return result


def _subjects(findings: list[Finding]) -> str:
    names = [plain(finding.subject, 60) for finding in findings if finding.subject]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _wanting(finding: Finding) -> str:
    return ", ".join(plain(lack.fact, 80) for lack in finding.lacks) or plain(finding.claim or "", LONGEST)
