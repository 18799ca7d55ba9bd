"""What the shell's completion offers for the values of options and arguments, each with what it is.

A function is asked when somebody presses the Tab key: it reads sheets, and for finding numbers the machine; what cannot be read
offers nothing, and nothing is ever written to the terminal.
"""

from collections.abc import Iterable
from typing import Any

from advisor.errors import AdvisorError

Offers = list[tuple[str, str]]


def _beginning(with_: str, offers: Iterable[tuple[str, str]]) -> Offers:
    return [(name, " ".join(what.split())) for name, what in offers if name.startswith(with_)]


def formats(incomplete: str) -> Offers:
    """Offer the formats of the checklist."""
    from advisor.work.checklist import formats_told

    return _beginning(incomplete, formats_told().items())


def report_formats(incomplete: str) -> Offers:
    """Offer the formats of the report."""
    return _beginning(incomplete, (("html", "one page"), ("md", "for tickets"), ("json", "for programs, and to compare later")))


def platforms(incomplete: str) -> Offers:
    """Offer the platforms that can be on order."""
    from advisor.know.platforms import platforms as known

    return _beginning(incomplete, ((each.id, each.name) for each in known()))


def vendors(incomplete: str) -> Offers:
    """Offer the vendors that have a sheet."""
    from advisor.know.vendors import vendors as known

    return _beginning(incomplete, ((name, each.name) for name, each in known().items()))


def launchers(incomplete: str) -> list[str]:
    """Offer the launchers."""
    from advisor.launch.registry import names

    return [name for name in names() if name.startswith(incomplete)]


def starting(incomplete: str) -> list[str]:
    """Offer the launchers that start ranks themselves."""
    from advisor.launch.registry import names

    return [name for name in names(starting=True) if name.startswith(incomplete)]


def strategies(incomplete: str) -> list[str]:
    """Offer the ways to place ranks."""
    from advisor.model.placement import STRATEGIES

    return [name for name in ("auto", *STRATEGIES) if name.startswith(incomplete)]


def topics(incomplete: str) -> list[str]:
    """Offer the topics of rules."""
    from advisor.work.rules import own_rules

    return [name for name in dict.fromkeys(rule.topic for rule in own_rules(examples=False).rules) if name.startswith(incomplete)]


def rules(incomplete: str) -> Offers:
    """Offer the ids of rules."""
    from advisor.work.rules import own_rules

    return _beginning(incomplete, ((rule.id, rule.text.title) for rule in own_rules(examples=False).rules))


def rules_and_topics(incomplete: str) -> Offers:
    """Offer what names rules."""
    return [*((name, "topic") for name in topics(incomplete)), *rules(incomplete)]


def findings(ctx: Any, incomplete: str) -> Offers:
    """Offer the numbers of the findings of the machine that the line names, and the ids of rules."""
    numbers = _numbers(ctx.params) if not incomplete or incomplete.isdecimal() else []
    return [*_beginning(incomplete, numbers), *(rules(incomplete) if not incomplete.isdecimal() else [])]


def _numbers(given: dict[str, Any]) -> Offers:
    from advisor.work.audit import audit

    bios, measurements_ = (tuple(given.get(name) or ()) for name in ("bios", "measurements"))
    source, scope, site = given.get("source"), given.get("scope", "mpi"), given.get("rules") or ()
    try:
        found = audit(source, scope, site=site, bios=bios, measurements=measurements_)
    except (AdvisorError, OSError):
        return []
    titles = {each.id: each.title for each in found.audit.found}
    return [(str(number), titles.get(rule, rule)) for rule, number in found.numbers.items()]


def measurements(incomplete: str) -> Offers:
    """Offer what can be measured."""
    from advisor.measure.headers import read_kernels
    from advisor.measure.plan import PLANS, SETS

    kernels = ((name, sheet.summary) for name, sheet in read_kernels().sheets.items() if name not in PLANS)
    return _beginning(incomplete, [*((name, "") for name in PLANS if name not in SETS), ("show", "saved results"), *kernels])


def charts(incomplete: str) -> list[str]:
    """Offer the charts of measurements."""
    from advisor.render.charts.chart import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]
