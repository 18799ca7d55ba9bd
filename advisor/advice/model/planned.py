"""What a plan writes for one finding, and why it leaves the rest: what screens say of a fix is what scripts do."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from advisor.advice.model.findings import Finding
from advisor.advice.model.plan import Change, Kept, NotWritten, Plan


class Planned(NamedTuple):
    """What a plan writes for one finding."""

    changes: tuple[Change, ...] = ()
    kept: tuple[Kept, ...] = ()
    left: Mapping[str, str] = {}
    """Settings that it wants and the plan does not write, each with the reason."""

    @property
    def by_hand(self) -> str:
        """Return why a person must do it; empty where files for tools hold something of it, and where no setting does it."""
        return "" if self.changes or self.kept else "; ".join(dict.fromkeys(self.left.values()))


_SHORT: Final = {"contested": "guides differ", "unknown": "its present value is not known"}
"""Marks of changes that stand as comments, in words."""


def planned_for(plan: Plan, finding: Finding) -> Planned:
    """Return what files for tools hold of a finding's settings, and why they leave out the others."""
    names = dict.fromkeys(want.setting for want in finding.wants)
    changes = tuple(each for each in plan.writes if not names.keys().isdisjoint(each.settings))
    kept = tuple(each for each in plan.system.kept if each.active and not each.done and each.setting in names)
    written = {name for change in changes for name in change.settings} | {each.setting for each in kept}
    if plan.system.profile is not None:
        written |= {want.setting for want in finding.wants if want.value == plan.system.profile}
    return Planned(changes, kept, {name: _why_not(plan, name) for name in names if name not in written})


def _why_not(plan: Plan, name: str) -> str:
    """Return why a plan does not write a setting; that guides differ in two words, for a page has them in full."""
    if any(name == each.setting for each in plan.contested):
        return _SHORT["contested"]
    left: tuple[NotWritten, ...] = (*plan.look_up, *plan.absent, *plan.by_hand, *plan.refused, *plan.system.left)
    marks = (mark for change in plan.changes if not change.active and name in change.settings for mark in change.marks)
    found = next((each.reason for each in left if each.setting == name), None)
    return found or ", ".join(_SHORT.get(mark, mark) for mark in marks) or "no file for a tool says it"
