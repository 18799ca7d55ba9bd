"""JUnit XML in its strict form, which Jenkins' ancestor schema and ReFrame's take: a suite a topic, a case a verdict.

Both schemas refuse any attribute of testsuites, a time zone in timestamp, and a suite without properties, system-out and
system-err. A finding is a failure; what is not known, does not apply or is waived is skipped with its reason.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

from advisor.advice.audit_page.card import cost_words, tally
from advisor.advice.model.findings import Audit, Finding
from advisor.exports.export import ExportOptions, ExportSubject
from advisor.machine.machine import Machine

TITLE = "JUnit XML for CI: one suite per topic, one case per rule; findings fail, unknown results are skipped"
ORDER = 30
PROVEN = "xmllint 2.9.14 with ReFrame's junit.xsd; junitparser 5.0.3"

_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, not even escaped."""


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file."""
    machine, audit = subject.audited()
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
    when = options.made if subject.read is None else subject.read
    suites = "".join(line for suite in _suites(machine, audit, when, options) for line in suite)
    return {f"{options.prefix}.xml": f"{head}{suites}</testsuites>\n"}


def _suites(machine: Machine, audit: Audit, when: float, options: ExportOptions) -> Iterator[Iterator[str]]:
    """Yield a suite for each topic, in the rules' own order."""
    topics: dict[str, list[Finding]] = {}
    for each in audit.findings:
        topics.setdefault(each.topic, []).append(each)
    known = {"platform": audit.platform, "scope": audit.scope, "rules": " · ".join(tally(audit)), "advisor": options.version}
    stamp = datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    about = f'timestamp="{stamp}" hostname={quoted(machine.name or "localhost")}'
    for number, (topic, cases) in enumerate(topics.items()):
        yield _suite(f'id="{number}" package={quoted(options.prefix)} {about}', topic, cases, known)


def _suite(about: str, topic: str, cases: Sequence[Finding], known: Mapping[str, str | None]) -> Iterator[str]:
    count = {verdict: sum(each.verdict == verdict for each in cases) for verdict in ("finding", "error")}
    numbers = f'tests="{len(cases)}" failures="{count["finding"]}" errors="{count["error"]}" time="0"'
    yield f"  <testsuite name={quoted(topic)} {numbers} {about}>\n    <properties>\n"
    yield from (f"      <property name={quoted(name)} value={quoted(value)}/>\n" for name, value in known.items() if value)
    yield "    </properties>\n"
    yield from map(_case, cases)
    yield "    <system-out></system-out>\n    <system-err></system-err>\n  </testsuite>\n"


def _case(case: Finding) -> str:
    """Return a case: a finding fails, a rule that broke is an error, what is not known, not here or waived is skipped."""
    name = f"{case.id}[{case.subject}]" if case.subject else case.id
    start = f'    <testcase classname={quoted(case.topic)} name={quoted(name)} time="0"'
    says = case.claim or case.title
    lacks = "; ".join(dict.fromkeys(f"{lack.fact}: {lack.why}; {lack.help}" for lack in case.lacks))
    why = {
        "unknown": f"not known: {lacks or says}",
        "not-applicable": f"not applicable: {says.removeprefix('does not apply: ')}",
        "waived": f"waived: {case.waived or says}",
    }.get(case.verdict)
    if case.verdict == "finding":
        inner = f'<failure message={quoted(says)} type="{case.severity}">{_text(_details(case))}</failure>'
    elif case.verdict == "error":
        inner = f'<error message={quoted(says)} type="error"></error>'
    else:
        inner = f"<skipped message={quoted(why)}/>" if why is not None else ""
    return f"{start}>{inner}</testcase>\n" if inner else f"{start}/>\n"


def _details(case: Finding) -> str:
    """Return why, what it costs, how it is fixed and checked, a line each."""
    steps = [fix.text for fix in case.fix] or [case.advice or ""]
    lines = [
        case.title,
        case.why,
        f"Cost: {cost_words(case.cost)}" if case.cost else "",
        *(f"Fix: {step}" for step in steps if step),
        f"Check: {case.check}" if case.check else "",
        f"More: advisor explain {case.id}",
    ]
    return "\n".join(" ".join(line.split()) for line in lines if line)


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("", text))


def quoted(text: str) -> str:
    """Return a text as an attribute: on one line, without what XML has no way to write."""
    return quoteattr(" ".join(_ILLEGAL.sub("", text).split()))
