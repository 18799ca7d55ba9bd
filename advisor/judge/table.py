"""The table of settings: what each stands at, and what the rules want for the scope. Pure."""

from collections.abc import Iterable, Mapping

from advisor.model.audit import Row
from advisor.model.case import Standing
from advisor.model.finding import Finding
from advisor.model.setting import Setting


def table(standings: Iterable[Standing], findings: Iterable[Finding], settings: Mapping[str, Setting]) -> tuple[Row, ...]:
    """Return a row for each setting that is known or wanted, in the order of the vocabulary."""
    known = {standing.name: standing for standing in standings}
    wanted: dict[str, dict[str, None]] = {}
    asked: dict[str, dict[str, None]] = {}
    verdicts: dict[str, set[str]] = {}
    for finding in findings:
        for want in finding.wants:
            verdicts.setdefault(want.setting, set()).add(finding.verdict)
            asked.setdefault(want.setting, {})[finding.id] = None
            if want.value is not None:
                wanted.setdefault(want.setting, {})[want.value] = None
    content = _content(verdicts)
    names = [name for name in settings if name in known or name in asked]
    return tuple(
        _row(settings[name], known.get(name), tuple(wanted.get(name, ())), tuple(asked.get(name, ())), content=name in content)
        for name in names
    )


def _content(verdicts: Mapping[str, set[str]]) -> set[str]:
    """Return the settings that every rule which could tell is content with, though it would write another value itself."""
    return {name for name, said in verdicts.items() if "pass" in said and said <= {"pass", "unknown", "not-applicable"}}


def _row(setting: Setting, standing: Standing | None, wanted: tuple[str, ...], rules: tuple[str, ...], *, content: bool) -> Row:
    current = standing.value if standing else None
    if content and current is not None:
        wanted = (current,)
    return Row(
        name=setting.name,
        title=setting.title,
        where=setting.where,
        current=current,
        wanted=" or ".join(wanted) or None,
        confidence=standing.sure if standing else None,
        how=standing.how if standing else None,
        bios=standing.applied if standing else None,
        pending=standing.pending if standing else None,
        rules=rules,
        met=None if current is None or not wanted else current in wanted,
    )
