"""Lays a site's waivers over findings. Pure."""

from collections.abc import Iterable

from advisor.model.finding import Finding
from advisor.model.rule import Waiver


def waive(findings: Iterable[Finding], waivers: tuple[Waiver, ...], host: str | None, today: str) -> tuple[Finding, ...]:
    """Return the findings, those that a waiver covers today marked so, with its reason."""
    holding = {w.id: w for w in reversed(waivers) if today <= w.until and any(_fits(pattern, host) for pattern in w.hosts)}
    return tuple(_waived(finding, holding.get(finding.id)) for finding in findings)


def _waived(finding: Finding, waiver: Waiver | None) -> Finding:
    if waiver is None or finding.verdict != "finding":
        return finding
    return finding.model_copy(update={"verdict": "waived", "waived": f"{waiver.reason} (until {waiver.until})"})


def _fits(pattern: str, host: str | None) -> bool:
    """Return whether a pattern with * and ? means the host; a host without a name is meant by * alone."""
    if host is None:
        return pattern == "*"
    pattern, host = pattern.lower(), host.lower()
    at = here = 0
    star, kept = -1, 0  # the last *, and where what it stands for ends so far: no pattern takes more than length times length
    while here < len(host):
        if at < len(pattern) and pattern[at] == "*":
            star, kept, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in ("?", host[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            kept += 1
            at, here = star + 1, kept
        else:
            return False
    return not pattern[at:].strip("*")
