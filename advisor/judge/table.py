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
    for finding in findings:
        for want in finding.wants:
            asked.setdefault(want.setting, {})[finding.id] = None
            if want.value is not None:
                wanted.setdefault(want.setting, {})[want.value] = None
    names = [name for name in settings if name in known or name in asked]
    return tuple(_row(settings[name], known.get(name), tuple(wanted.get(name, ())), tuple(asked.get(name, ()))) for name in names)


def _row(setting: Setting, standing: Standing | None, wanted: tuple[str, ...], rules: tuple[str, ...]) -> Row:
    current = standing.value if standing else None
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
