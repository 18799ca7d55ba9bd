"""What a write needs beside it, what profiles hold, and the order in which writes may be made.

Profiles that hold other attributes: the profile alone, or single settings behind its free value; never both. A profile (Dell
SysProfile, HPE WorkloadProfile, Lenovo's operating mode) sets the attributes of its list and keeps them from being changed
unless it is set to its free value (Custom). So:

1. the profile that is wanted answers all that it sets; those settings are not written beside it;
2. a serious wish that it does not answer goes before it: the free value is written first, then everything that the profile
   would have set, one by one, as far as this machine has it, with that wish in its place (where the sheet says piecewise);
3. a machine is never moved to the free value for what is contested or a matter of taste;
4. what going to the free value brings back to defaults is written again;
5. where the profile cannot be written piecewise, the weightier of the two wishes is taken and the other refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from advisor.advice.model.plan import WantedSetting
from advisor.advice.model.sheets import Lock, Require, VendorValue, is_named
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut, Settled, moved, named, settle
from advisor.machine.hardware import Registry, Scalar


def with_needs(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts with what each needs first; one whose need cannot be met is listed with the reason."""
    served = {entry.attribute for entries in ground.vendor.settings.values() for entry in entries if entry.attribute}
    kept: list[Draft] = []
    for draft in drafts:
        needs, more = _needs(draft, ground), list[Draft]()
        for need in needs:
            first = _met(draft, need, drafts, served, ground=ground, lists=lists)
            if first is None:
                break
            more += first
        else:
            there = {each.attribute for each in (*drafts, *more)}
            needed = [need.attribute for need in needs if need.attribute in there]
            kept += [*more, replace(draft, first=tuple(dict.fromkeys((*draft.first, *needed))))]
    return consistent(one_each(kept, lists), lists)


def _needs(draft: Draft, ground: FirmwareState) -> list[Require]:
    """Return what a draft needs beside it; the free value of a profile is the profile's own matter."""
    needs = [need for wish in draft.wishes if wish.place for need in wish.place.requires]
    return [need for need in needs if not any(frees(lock, need) for lock in ground.locks)]


def frees(lock: Lock, need: Require) -> bool:
    """Return whether a need is that a profile is set to its free value."""
    return is_named(lock.attribute, need.attribute) and need.value == lock.value


def consistent(drafts: list[Draft], lists: LeftOut) -> list[Draft]:
    """Return the drafts without those whose need has gone, and without needs that nobody has any more."""
    while True:
        there = {draft.attribute for draft in drafts}
        lone = [draft for draft in drafts if not there.issuperset(draft.first)]
        lists.refuse(lone, lambda each: f"needs {' and '.join(each.first)} first, which cannot be written")
        kept = [draft for draft in drafts if draft not in lone]
        needed = {name for draft in kept for name in draft.first}
        kept = [draft for draft in kept if draft.kind != "first" or draft.wishes or draft.attribute in needed]
        if len(kept) == len(drafts):
            return kept
        drafts = kept


def _met(
    draft: Draft, need: Require, drafts: list[Draft], served: set[str], *, ground: FirmwareState, lists: LeftOut
) -> list[Draft] | None:
    """Return the writes that meet a need, () where it is met, None where it cannot be."""
    now, value = ground.now(need.attribute), ground.spelled(need.attribute, need.value)
    if now is not None and ground.same(need.attribute, now, need.value):
        return []
    other = next((each for each in drafts if each.attribute == need.attribute), None)
    same = other is not None and ground.same(need.attribute, other.value, need.value)
    if other is not None and not same:
        lists.refuse([draft], lambda _: f"needs {need.attribute}={need.value}, and {other.told()} is wanted")
    elif other is not None and (other.active or not draft.active):
        return []
    elif other is None and (value is None or ground.lacks(need.attribute)):
        lacks = ground.lacks(need.attribute) or "this machine does not accept that"
        lists.absent.append(draft.left(f"needs {need.attribute}={need.value}: {lacks}"))
    elif other is not None or need.attribute in served:
        lists.refuse([draft], lambda _: f"it counts only with {need.attribute}={need.value}, which no finding wants")
    elif value is not None:
        return _first(draft, need, value, now, ground=ground, lists=lists)
    return None


def _first(
    draft: Draft, need: Require, value: VendorValue, now: Scalar | None, *, ground: FirmwareState, lists: LeftOut
) -> list[Draft] | None:
    """Return the write that goes before another; None where its present value is unknown, and was not asked for."""
    first = Draft(
        attribute=need.attribute,
        value=value,
        now=now,
        kind="first",
        group=need.group or draft.group,
        label=need.label or need.attribute,
        menu=draft.menu,
        why=(f"needed first: {need.because}",),
        active=draft.active,
        marks=("unknown",) if now is None else (),
        verified=ground.vendor.shows_need(need, ground.platform),
    )
    if now is not None or ground.order or "unknown" in ground.include:
        return [first]
    lists.look_up.append(draft.left(f"needs {need.attribute}={need.value} first, whose present value is not known"))
    lists.look_up.append(first.left(f"{draft.attribute} needs it, and its present value is unknown"))
    return None


def one_each(drafts: Iterable[Draft], lists: LeftOut) -> list[Draft]:
    """Return one draft for each attribute: equal values are joined, different ones refused with both wishes named."""
    by_attribute: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_attribute.setdefault(draft.attribute, []).append(draft)
    kept = []
    for found in by_attribute.values():
        if len({(type(each.value), each.value) for each in found}) > 1:
            for each in found:
                others = " and ".join(other.told() for other in found if other is not each)
                lists.refused.append(each.left(f"{others} is wanted of the same attribute"))
            continue
        joined = found[0]
        for each in found[1:]:
            joined = joined.joined(each)
        kept.append(joined)
    return kept


def unclaimed(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts without those of attributes for which somebody else's value waits: it would be lost unseen."""
    waiting = ground.bios.changed() if ground.bios else {}
    others = {name: value for name, value in waiting.items() if value is not None}
    lost = [
        each
        for each in drafts
        if each.attribute in others and not ground.same(each.attribute, others[each.attribute], each.value)
    ]
    why = "is already pending for the next restart: let it take effect or clear it first"
    lists.refuse(lost, lambda each: f"{each.attribute}={others[each.attribute]} {why}")
    return consistent([each for each in drafts if each not in lost], lists)


_KINDS = ("first", "wanted", "again")


def ordered(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the writes in order; those that the registry would refuse or another write would undo are listed as refused."""
    drafts = consistent(drafts, lists)
    if ground.registry is not None:
        drafts = _allowed(drafts, ground, ground.registry, lists)
    active = _by_needs([draft for draft in drafts if draft.active])
    if ground.registry is not None:
        active = _by_registry(active, ground, ground.registry, lists)
    return [*active, *_by_needs([draft for draft in drafts if not draft.active])]


def _by_needs(drafts: list[Draft]) -> list[Draft]:
    """Return what others need first before them, else as they stand."""
    left = sorted(drafts, key=lambda draft: _KINDS.index(draft.kind))
    done: list[Draft] = []
    while left:
        names = {draft.attribute for draft in left}
        ready = next((draft for draft in left if not names.intersection(draft.first)), left[0])
        done.append(ready)
        left.remove(ready)
    return done


def _allowed(drafts: list[Draft], ground: FirmwareState, registry: Registry, lists: LeftOut) -> list[Draft]:
    """Return the writes that stand together: none read-only once all are written, none undone by another's side effect."""
    while True:
        active = [draft for draft in drafts if draft.active]
        wanted = {draft.attribute: draft.value for draft in active}
        after = settle(registry, ground.present, wanted)
        bad = next(
            ((draft, why) for draft in reversed(active) if (why := _refusal(draft, after, active, ground, registry))), None
        )
        if bad is None:
            return drafts
        lists.refused.append(bad[0].left(bad[1]))
        drafts = consistent([draft for draft in drafts if draft is not bad[0]], lists)


def _refusal(draft: Draft, after: Settled, active: list[Draft], ground: FirmwareState, registry: Registry) -> str | None:
    """Return why a write cannot stand; None where it can."""
    others = [each.told() for each in active if each is not draft]
    beside = f" beside {', '.join(others[:3])}" if others else ""
    if flags := after.refuses(draft.attribute):
        return f"the attribute registry makes it {' and '.join(flags)}{beside}"
    if after.values.get(draft.attribute) != named(registry, draft.attribute, draft.value):
        return f"the attribute registry sets it to {after.word(draft.attribute)}{beside}"
    upset = moved(registry, ground.present, {draft.attribute: draft.value})
    wanted = {each.attribute for each in active}
    for attribute, value in upset.items():
        mine = next((each for each in active if each.attribute == attribute and each is not draft), None)
        if mine is not None and draft.kind == "wanted" and mine.serious and not draft.serious:
            return f"it would set {attribute} to {'what is not known' if value is None else value}, and {mine.told()} is wanted"
    lost = _lost(draft, upset.keys() - wanted, ground, registry)
    return f"it would change {lost}, which could not be restored" if lost else None


def _lost(draft: Draft, upset: Iterable[str], ground: FirmwareState, registry: Registry) -> str | None:
    """Return what changes along with a write, does not go back with it, and could not be written back after it.

    What is read-only once the write is taken back is the firmware's to bring back: a profile has its own settings.
    """
    present = {name: value for name in sorted(upset) if (value := ground.present.get(name)) is not None}
    if draft.now is None or not present:
        return None
    after = settle(registry, ground.present, {draft.attribute: draft.value}).values
    again = settle(registry, after, {draft.attribute: draft.now})
    for name, own in present.items():
        if ground.no_way_back(name, own) and again.values.get(name) != own and not again.refuses(name):
            to = after.get(name)
            return f"{name} from {own} to {'what is not known' if to is None else to}"
    return None


def _by_registry(drafts: list[Draft], ground: FirmwareState, registry: Registry, lists: LeftOut) -> list[Draft]:
    """Return the writes so that each may be written when its turn comes, and what one moves is written after it."""
    values: Mapping[str, Scalar | None] = ground.present
    left, done = list(drafts), list[Draft]()
    while left:
        flags = settle(registry, values, {})
        free = [draft for draft in left if not flags.refuses(draft.attribute)]
        along = [(draft, moved(registry, values, {draft.attribute: draft.value})) for draft in free]
        ready = [draft for draft in free if not any(draft.attribute in names for by, names in along if by is not draft)]
        for draft in ready or free:
            after = settle(registry, values, {draft.attribute: draft.value}).values
            if after.get(draft.attribute) == named(registry, draft.attribute, draft.value):
                break  # else a dependency takes it back at once
        else:
            lists.refuse(left, lambda each: f"the attribute registry keeps {each.attribute} from being written")
            return consistent(done, lists)
        values = after
        done.append(draft)
        left.remove(draft)
    return done


def reconcile(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts with each profile and what it holds reconciled, as the vendor's sheet says."""
    for lock in ground.locks:
        names = (*(draft.attribute for draft in drafts), *ground.present)  # with the suffix that it has on this board
        name = next((name for name in names if is_named(lock.attribute, name)), lock.attribute)
        if ground.lacks(name) is None:
            drafts = _Profile(lock, name, ground, lists).settled(drafts)
    return _without_one_time(drafts, ground, lists)


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
        return self.ground.sets(self.lock, self.name, value)

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
            if not upset and min(draft.weight for draft in serious) >= profile.weight:
                serious, upset = [], []
            else:
                names = ", ".join(draft.told() for draft in serious) or ", ".join(upset)
                self.lists.refuse([profile], lambda _: f"it would overwrite {names}. {self.lock.policy or ''}".strip())
                return self._without_wish(None, held)
        aside = [self._aside(draft, f" in place of {profile.value}") for draft in others] if self.ground.order else []
        if not aside:
            told = f"{profile.told()} sets it otherwise or keeps it from being changed"
            self.lists.refuse(others, lambda each: f"{told}{self._why(each)}")
        for draft in answered:
            if draft.active or not profile.active:
                profile = profile.joined(replace(profile, wishes=draft.wishes, why=()))
        return [profile, *aside]

    def _aside(self, draft: Draft, instead: str = "") -> Draft:
        """Return a draft as a comment: of hardware on order nothing is known, and it is not moved to the free value."""
        needs = f"{self.name}={self.lock.value}"
        return replace(draft, active=False, needs=needs + instead, why=(*draft.why, f"it needs {needs} first{instead}"))

    def _why(self, draft: Draft) -> str:
        return "" if draft.serious else f", and a machine is not moved to {self.lock.value} for what guides differ about"

    def _upset(self, profile: Draft) -> list[str]:
        """Return what is right as it is and the profile would change."""
        found = []
        for stem, value in self._sets(profile.value).items():
            for attribute, (now, wish) in self.lists.content.items():
                own = not wish.contested and wish.wanted[0].severity != "info"
                if own and is_named(stem, attribute) and not self.ground.same(attribute, now, value):
                    found.append(f"{attribute}={now} ({', '.join(wish.rules)})")
        return found

    def _one_by_one(self, profile: Draft, held: list[Draft], upset: list[str]) -> list[Draft]:
        """Return the free value, then all that the profile would have set, with what is wanted otherwise in its place."""
        kept = _with_needs([draft for draft in held if draft.serious or "contested" in self.ground.include], held)
        others = [draft for draft in held if draft not in kept]
        self.lists.refuse(others, lambda each: f"{profile.told()} is wanted{self._why(each)}")
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
            self.lists.refuse(held, lambda _: f"{self.name}, which holds it, {why}")
            return []
        if self.now is None and not self.ground.order and "unknown" not in self.ground.include:
            self.lists.look_up += [each.left(f"{self.name} may hold it, whose present value is not known") for each in held]
            self.lists.look_up.append(self._first((), ()).left("it holds others, and its present value is unknown"))
            return [wanted] if wanted else []
        serious = [draft for draft in held if draft.serious]
        if wanted is None and not serious and not self.ground.order:
            stands = f"{self.name}={self.now}" if self.now is not None else f"{self.name}, which holds it, is not known"
            self.lists.refuse(held, lambda each: f"this machine is at {stands}, which sets it{self._why(each)}")
            return []
        if self.ground.order:
            return self._on_order(held)
        best = None if self.lock.best is None else self.ground.spelled(self.name, self.lock.best)
        if wanted is None and best is not None and not self._is(self.now, best) and all(self._answers(best, d) for d in held):
            profile = self._first((), (), best)
            for draft in held:
                wishes = (*profile.wishes, *draft.wishes)
                profile = replace(profile.joined(replace(profile, wishes=draft.wishes, why=())), wishes=wishes)
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
        self.lists.refuse(
            [profile], lambda _: f"it would overwrite {', '.join(d.told() for d in found if d.wishes and d.active)}"
        )
        return found

    def _freed(self, wanted: Draft | None, held: list[Draft]) -> list[Draft]:
        """Return the free value, what is wanted behind it, and what it brings back to defaults."""
        if self.free is None:
            self.lists.refuse(held, lambda _: f"{self.name} does not take {self.lock.value} here")
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
                found.append(
                    Draft(
                        attribute=name,
                        value=spelled,
                        now=now,
                        kind="again",
                        group=self.lock.group,
                        label=name,
                        why=(f"written again: {why}",),
                        first=(self.name,),
                        marks=("unknown",) if now is None else (),
                        verified=self.lock.verified,
                    )
                )
        return found


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
