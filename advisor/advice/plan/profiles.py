"""Profiles that hold other attributes: the profile alone, or single settings behind its free value; never both.

A profile (Dell SysProfile, HPE WorkloadProfile, Lenovo's operating mode) sets the attributes of its list and keeps them from
being changed unless it is set to its free value (Custom). So:

1. the profile that is wanted answers all that it sets; those settings are not written beside it;
2. a serious wish that it does not answer goes before it: the free value is written first, then everything that the profile
   would have set, one by one, as far as this machine has it, with that wish in its place (where the sheet says piecewise);
3. a machine is never moved to the free value for what is contested or a matter of taste;
4. what going to the free value brings back to defaults is written again;
5. where the profile cannot be written piecewise, the weightier of the two wishes is taken and the other refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from advisor.advice.model.plan import Mark, WantedSetting
from advisor.advice.model.vendor import Lock, VendorValue, is_named
from advisor.advice.plan.dependencies import frees
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut
from advisor.machine.firmware import Scalar

Reason = Callable[[Draft], str]


def reconcile(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts with each profile and what it holds reconciled, as the vendor's sheet says."""
    for lock in ground.locks:
        name = _own_name(lock, ground, drafts)
        if ground.lacks(name) is None:
            drafts = _Profile(lock, name, ground, lists).settled(drafts)
    return _without_one_time(drafts, ground, lists)


def _own_name(lock: Lock, ground: FirmwareState, drafts: list[Draft]) -> str:
    """Return the profile's attribute with the suffix that it has on this board."""
    names = (*(draft.attribute for draft in drafts), *ground.present)
    return next((name for name in names if is_named(lock.attribute, name)), lock.attribute)


class _Profile:
    """One profile of one machine."""

    def __init__(self, lock: Lock, name: str, ground: FirmwareState, lists: LeftOut) -> None:
        self.lock, self.name, self.ground, self.lists = lock, name, ground, lists
        self.now = ground.now(name)
        self.free = ground.spelled(name, lock.value)

    def settled(self, drafts: list[Draft]) -> list[Draft]:
        """Return the drafts with this profile reconciled."""
        held = [draft for draft in drafts if self._holds(draft)]
        rest = [draft for draft in drafts if draft not in held and draft.attribute != self.name]
        wanted = next((draft for draft in drafts if draft.attribute == self.name), None)
        if wanted is not None and not self._is(wanted.value, self.lock.value):
            return [*rest, *self._with_wish(wanted, held)]
        return [*rest, *self._without_wish(wanted, held)] if held else drafts

    def _holds(self, draft: Draft) -> bool:
        """Return whether the profile keeps an attribute: as its list says, or as the attribute's own entry does."""
        needs = (need for wish in draft.wishes if wish.place for need in wish.place.requires)
        return any(is_named(stem, draft.attribute) for stem in self.lock.of) or any(frees(self.lock, need) for need in needs)

    def _is(self, one: Scalar | None, other: Scalar | None) -> bool:
        return one is not None and self.ground.same(self.name, one, other)

    def _sets(self, value: Scalar | None) -> Mapping[str, VendorValue]:
        """Return what a value of the profile sets; {} where that is not known."""
        return next((found for word, found in self.lock.sets.items() if self._is(word, value)), {})

    def _answers(self, value: Scalar | None, draft: Draft) -> bool:
        """Return whether the profile sets an attribute as a draft wants it."""
        found = next((word for stem, word in self._sets(value).items() if is_named(stem, draft.attribute)), None)
        return found is not None and self.ground.same(draft.attribute, found, draft.value)

    def _with_wish(self, profile: Draft, held: list[Draft]) -> list[Draft]:
        """Return what is written where the profile itself is wanted: alone, or its settings one by one."""
        if self.ground.order and not profile.active:
            return self._beside_comment(profile, held)
        answered = [draft for draft in held if self._answers(profile.value, draft)]
        others = [draft for draft in held if draft not in answered]
        serious = [draft for draft in others if draft.serious and draft.active]
        upset = self._upset(profile)
        if (serious or upset) and profile.active and not self.ground.order:
            if self.lock.piecewise and self._sets(profile.value) and self.free is not None:
                return self._one_by_one(profile, held, upset)
            if not self._weightier(serious, upset, profile):
                serious, upset = [], []
            else:
                names = ", ".join(draft.told() for draft in serious) or ", ".join(upset)
                self.lists.refuse([profile], lambda _: f"it would overwrite {names}. {self.lock.policy or ''}".strip())
                return self._without_wish(None, held)
        aside = [self._aside(draft, f" in place of {profile.value}") for draft in others] if self.ground.order else []
        if not aside:
            told = f"{profile.told()} sets it otherwise or keeps it from being changed"
            self._refuse(others, lambda each: f"{told}{self._why(each)}")
        alone = [self._joined(profile, draft) for draft in answered if draft.active or not profile.active]
        for each in alone:
            profile = profile.joined(each)
        return [profile, *aside]

    def _aside(self, draft: Draft, instead: str = "") -> Draft:
        """Return a draft as a comment: of hardware on order nothing is known, and it is not moved to the free value."""
        needs = f"{self.name}={self.lock.value}"
        return replace(draft, active=False, needs=needs + instead, why=(*draft.why, f"it needs {needs} first{instead}"))

    def _why(self, draft: Draft) -> str:
        return "" if draft.serious else f", and a machine is not moved to {self.lock.value} for what guides differ about"

    def _joined(self, profile: Draft, draft: Draft) -> Draft:
        """Return what a setting adds to the profile that answers it."""
        return replace(profile, wishes=draft.wishes, why=())

    def _upset(self, profile: Draft) -> list[str]:
        """Return what is right as it is and the profile would change."""
        found = []
        for stem, value in self._sets(profile.value).items():
            for attribute, (now, wish) in self.lists.content.items():
                own = not wish.contested and wish.wanted[0].severity != "info"
                if own and is_named(stem, attribute) and not self.ground.same(attribute, now, value):
                    found.append(f"{attribute}={now} ({', '.join(wish.rules)})")
        return found

    def _weightier(self, serious: list[Draft], upset: list[str], profile: Draft) -> bool:
        return bool(upset) or min(draft.weight for draft in serious) < profile.weight

    def _one_by_one(self, profile: Draft, held: list[Draft], upset: list[str]) -> list[Draft]:
        """Return the free value, then all that the profile would have set, with what is wanted otherwise in its place."""
        kept = _with_needs([draft for draft in held if draft.serious or "contested" in self.ground.include], held)
        self._refuse([draft for draft in held if draft not in kept], lambda each: f"{profile.told()} is wanted{self._why(each)}")
        for_whom = ", ".join([*(draft.told() for draft in kept if not self._answers(profile.value, draft)), *upset])
        why = (f"in place of {profile.told()}, whose settings are written one by one, for {for_whom}",)
        first = self._first(profile.wishes, (*why, *profile.why))
        again = self._again(dict(self._sets(profile.value)), kept, f"as {profile.value} sets it")
        return [first, *self._behind(kept), *again]

    def _without_wish(self, wanted: Draft | None, held: list[Draft]) -> list[Draft]:
        """Return what is written where only held settings are wanted, or the free value itself."""
        if wanted is None and self._is(self.now, self.lock.value):
            return held
        if self.now is not None and (why := self.ground.no_way_back(self.name, self.now)):
            self._refuse(held, lambda _: f"{self.name}, which holds it, {why}")
            return []
        if self.now is None and not self.ground.order and "unknown" not in self.ground.include:
            self.lists.look_up += [each.left(f"{self.name} may hold it, whose present value is not known") for each in held]
            self.lists.look_up.append(self._first((), ()).left("it holds others, and its present value is not known"))
            return [wanted] if wanted else []
        serious = [draft for draft in held if draft.serious]
        if wanted is None and not serious and not self.ground.order:
            stands = f"{self.name}={self.now}" if self.now is not None else f"{self.name}, which holds it, is not known"
            self._refuse(held, lambda each: f"this machine is at {stands}, which sets it{self._why(each)}")
            return []
        if self.ground.order:
            return self._on_order(held)
        best = None if self.lock.best is None else self.ground.spelled(self.name, self.lock.best)
        if wanted is None and best is not None and not self._is(self.now, best) and all(self._answers(best, d) for d in held):
            profile = self._first((), (), best)
            for draft in held:
                profile = replace(profile.joined(self._joined(profile, draft)), wishes=(*profile.wishes, *draft.wishes))
            return [replace(profile, kind="wanted")]
        return self._freed(wanted, held)

    def _on_order(self, held: list[Draft]) -> list[Draft]:
        """Return what is written on a server of which nothing is known: what matters, behind a value that changes nothing."""
        weighty = [draft for draft in held if draft.serious and draft.active] if self.lock.best is None else []
        behind = _with_needs(weighty, held)
        aside = [self._aside(draft) for draft in held if draft not in behind]
        return [*(self._freed(None, behind) if behind else ()), *aside]

    def _beside_comment(self, profile: Draft, held: list[Draft]) -> list[Draft]:
        """Return what is written where the profile would be no more than a comment."""
        found = self._without_wish(None, held)
        if all(draft.attribute != self.name for draft in found):
            return [profile, *found]
        self._refuse([profile], lambda _: f"it would overwrite {', '.join(d.told() for d in found if d.wishes and d.active)}")
        return found

    def _freed(self, wanted: Draft | None, held: list[Draft]) -> list[Draft]:
        """Return the free value, what is wanted behind it, and what it brings back to defaults."""
        if self.free is None:
            self._refuse(held, lambda _: f"{self.name} does not take {self.lock.value} here")
            return []
        first = wanted or self._first((), (f"needed first: {self.lock.because}",))
        known = self._sets(self.lock.best) if self.now is None else {}
        again = {stem: known.get(stem) for stem in self.lock.resets}
        return [
            first,
            *self._behind(held),
            *self._again(again, held, f"going to {self.lock.value} brings it back to its default"),
        ]

    def _behind(self, held: list[Draft]) -> list[Draft]:
        return [replace(draft, first=tuple(dict.fromkeys((self.name, *draft.first)))) for draft in held]

    def _first(self, wishes: tuple[WantedSetting, ...], why: tuple[str, ...], value: VendorValue | None = None) -> Draft:
        return Draft(
            attribute=self.name,
            value=value if value is not None else self.free if self.free is not None else self.lock.value,
            now=self.now,
            wishes=wishes,
            kind="first",
            group=self.lock.group,
            label=self.lock.label or self.name,
            why=(*why, *(self.lock.side_effects if value is None else ())),
            marks=("unknown",) if self.now is None else (),
            verified=self.lock.verified,
        )

    def _again(self, values: Mapping[str, VendorValue | None], held: list[Draft], why: str) -> list[Draft]:
        """Return what is written so that it stays, or becomes, as the profile has it; what is right already stays as it is."""
        taken = {draft.attribute for draft in held}
        found = []
        for stem, value in values.items():
            name = next((name for name in self.ground.present if is_named(stem, name)), stem)
            content = self.lists.content.get(name)
            now = self.ground.now(name)
            to = content[0] if content else value if value is not None else now
            spelled = None if to is None or name in taken or self.ground.lacks(name) else self.ground.spelled(name, to)
            moved = any(is_named(each, name) for each in self.lock.resets) or now is None or not self.ground.same(name, now, to)
            if spelled is not None and moved:
                marks: tuple[Mark, ...] = ("unknown",) if now is None else ()
                found.append(self._rewritten(name, spelled, now, why, marks))
        return found

    def _rewritten(self, name: str, value: VendorValue, now: Scalar | None, why: str, marks: tuple[Mark, ...]) -> Draft:
        return Draft(
            attribute=name,
            value=value,
            now=now,
            kind="again",
            group=self.lock.group,
            label=name,
            why=(f"written again: {why}",),
            first=(self.name,),
            marks=marks,
            verified=self.lock.verified,
        )

    def _refuse(self, drafts: list[Draft], reason: Reason) -> None:
        self.lists.refuse(drafts, reason)


def _with_needs(chosen: list[Draft], held: list[Draft]) -> list[Draft]:
    """Return the chosen drafts and those that they need first."""
    needed = {name for draft in chosen for name in draft.first}
    return [draft for draft in held if draft in chosen or draft.attribute in needed]


def _without_one_time(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts without profiles that write others once: what they write is not known, so they have no undo."""
    for each in ground.vendor.one_time:
        if ground.platform is not None and not ground.vendor.serves(each.platforms, ground.platform):
            continue
        found = [d for d in drafts if d.attribute == each.attribute and not ground.same(d.attribute, d.value, each.rest)]
        rest = [draft for draft in drafts if draft not in found]
        beside = ", ".join(draft.told() for draft in rest if draft.active)
        for draft in found:
            if beside:
                lists.refused.append(draft.left(f"it writes other options once, and {beside} is wanted too. {each.policy}"))
            else:
                lists.by_hand.append(draft.left(each.policy))
        drafts = rest
    return drafts
