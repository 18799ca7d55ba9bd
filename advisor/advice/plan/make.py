"""Makes the Plan of wishes: the firmware's changes, in order, each with how to undo it; the system's part; what is left, and why.

The checklist is then put into the plan's words. Profiles that hold other attributes: the profile alone, or single settings behind
its free value; never both. A profile (Dell SysProfile, HPE WorkloadProfile, Lenovo's operating mode) sets the attributes of its
list and keeps them from being changed unless it is set to its free value (Custom). So:

1. the profile that is wanted answers all that it sets; those settings are not written beside it;
2. a serious wish that it does not answer goes before it: the free value is written first, then everything that the profile
   would have set, one by one, as far as this machine has it, with that wish in its place (where the sheet says piecewise);
3. a machine is never moved to the free value for what is contested or a matter of taste;
4. what going to the free value brings back to defaults is written again;
5. where the profile cannot be written piecewise, the weightier of the two wishes is taken and the other refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from advisor.advice.model.findings import Fix
from advisor.advice.model.plan import (
    CURL,
    LOOK_UP_WITH,
    NOTE_FIRST,
    Back,
    Change,
    Checklist,
    Include,
    Item,
    Kept,
    Mark,
    NotWritten,
    Plan,
    System,
    Target,
    WantedSetting,
    filled_lines,
    look_up_line,
    one_a_line,
)
from advisor.advice.model.sheets import Lock, Place, Require, Vendor, VendorValue, is_named
from advisor.advice.plan.draft import Draft, FirmwareState, LeftOut, Settled, moved, named, settle
from advisor.machine.hardware import Registry, Scalar
from advisor.machine.units import count
from advisor.measure.platform import IntentName


def with_needs(drafts: list[Draft], ground: FirmwareState, lists: LeftOut) -> list[Draft]:
    """Return the drafts with what each needs first; one whose need cannot be met is listed with the reason."""
    served = {entry.attribute for entries in ground.vendor.settings.values() for entry in entries if entry.attribute}
    kept: list[Draft] = []
    for draft in drafts:
        needs = [need for wish in draft.wishes if wish.place for need in wish.place.requires]
        needs = [need for need in needs if not any(frees(lock, need) for lock in ground.locks)]  # a profile's is its own matter
        more = list[Draft]()
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
        lists.refuse([draft], lambda _: f"needs {need.attribute}={need.value}, but the plan sets {other.told()}")
    elif other is not None and (other.active or not draft.active):
        return []
    elif other is None and (value is None or ground.lacks(need.attribute)):
        lacks = ground.lacks(need.attribute) or "this machine does not accept that value"
        lists.absent.append(draft.left(f"needs {need.attribute}={need.value}: {lacks}"))
    elif other is not None or need.attribute in served:
        lists.refuse([draft], lambda _: f"it takes effect only with {need.attribute}={need.value}, which no finding asks for")
    elif value is not None:
        return _first(draft, need, value, now, ground=ground, lists=lists)
    return None


def _first(
    draft: Draft, need: Require, value: VendorValue, now: Scalar | None, *, ground: FirmwareState, lists: LeftOut
) -> list[Draft] | None:
    """Return the write that goes before another; None where its current value is unknown, and was not asked for."""
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
    lists.look_up.append(draft.left(f"needs {need.attribute}={need.value} first, and the current value is unknown"))
    lists.look_up.append(first.left(f"needed for {draft.attribute}; its current value is unknown"))
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
                lists.refused.append(each.left(f"conflicts with {others} for the same attribute"))
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
            return f"it would set {attribute} to {'an unknown value' if value is None else value}, but {mine.told()} is wanted"
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
            return f"{name} from {own} to {'an unknown value' if to is None else to}"
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
            lists.refuse(left, lambda each: f"the attribute registry prevents writing {each.attribute}")
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
        lacks = ground.lacks(name)
        if lacks is None:
            drafts = _Profile(lock, name, ground, lists).settled(drafts)
        elif ground.now(name) is not None and not ground.same(name, ground.now(name), lock.value):
            drafts = _Profile(lock, name, ground, lists).fixed(drafts, lacks)
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

    def fixed(self, drafts: list[Draft], why: str) -> list[Draft]:
        """Return the drafts without what a profile holds that cannot be changed itself."""
        held = [draft for draft in drafts if self._holds(draft)]
        self.lists.refuse(held, lambda _: f"{self.name}={self.now} controls it, and for {self.name} {why}")
        return [draft for draft in drafts if draft not in held]

    def _holds(self, draft: Draft) -> bool:
        """Return whether the profile keeps an attribute: as its list says, or as the attribute's own entry does."""
        needs = (need for wish in draft.wishes if wish.place for need in wish.place.requires)
        return any(is_named(stem, draft.attribute) for stem in self.lock.of) or any(frees(self.lock, need) for need in needs)

    def _is(self, one: Scalar | None, other: Scalar | None) -> bool:
        return one is not None and self.ground.same(self.name, one, other)

    def _sets(self, value: Scalar | None) -> Mapping[str, VendorValue]:
        """Return what a value of the profile sets, as the sheet knows or the registry; {} where that is not known."""
        known, registry = self.ground.sets(self.lock, self.name, value), self.ground.registry
        if known or registry is None or value is None:
            return known
        along = moved(registry, self.ground.present, {self.name: value})
        return {name: to for name, to in along.items() if to is not None}

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
                names = ", ".join(draft.told() for draft in serious) or ("" if self.ground.forecast else ", ".join(upset))
                why = [*([f"it would overwrite {names}"] if names else []), *(upset if self.ground.forecast else [])]
                self.lists.refuse([profile], lambda _: f"{'; '.join(why)}. {self.lock.policy or ''}".strip())
                return self._without_wish(None, held)
        aside = [self._aside(draft, f" instead of {profile.value}") for draft in others] if self.ground.order else []
        if not aside:
            told = f"{profile.told()} sets this attribute differently or locks it"
            self.lists.refuse(others, lambda each: f"{told}{self._why(each)}")
        for draft in answered:
            if draft.active or not profile.active:
                profile = profile.joined(replace(profile, wishes=draft.wishes, why=()))
        return [profile, *aside]

    def _aside(self, draft: Draft, instead: str = "") -> Draft:
        """Return a draft as a comment: of hardware on order nothing is known, and it is not moved to the free value."""
        needs = f"{self.name}={self.lock.value}"
        return replace(draft, active=False, needs=needs + instead, why=(*draft.why, f"it first needs {needs}{instead}"))

    def _why(self, draft: Draft) -> str:
        return "" if draft.serious else f", and disputed settings do not justify moving to {self.lock.value}"

    def _upset(self, profile: Draft) -> list[str]:
        """Return what speaks against the profile: findings that it would bring, else what is right and would be changed."""
        if self.ground.forecast is not None:
            along: dict[str, Scalar | None] = {**self.ground.told_by_sheet(self.name, profile.value)}
            if self.ground.registry is not None:
                along |= moved(self.ground.registry, self.ground.present, {self.name: profile.value})
            content = [(name, self.lists.content[name]) for name in along if name in self.lists.content]
            found = [f"{name}={now} ({', '.join(wish.rules)})" for name, (now, wish) in content if wish.chosen]
            return [*self.ground.forecast({self.name: profile.value, **along}), *found]
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
        why = (f"instead of {profile.told()}, whose settings are written individually for {for_whom}",)
        first = self._first(profile.wishes, (*why, *profile.why))
        again = self._again(dict(self._sets(profile.value)), kept, f"as {profile.value} sets it")
        return [first, *self._behind(kept), *again]

    def _without_wish(self, wanted: Draft | None, held: list[Draft]) -> list[Draft]:
        """Return what is written where only held settings are wanted, or the free value itself."""
        if wanted is None and self._is(self.now, self.lock.value):
            return held
        if self.now is not None and (why := self.ground.no_way_back(self.name, self.now)):
            self.lists.refuse(held, lambda _: f"{self.name}, which controls it, {why}")
            return []
        if self.now is None and not self.ground.order and "unknown" not in self.ground.include:
            self.lists.look_up += [each.left(f"{self.name}, whose current value is unknown, may control it") for each in held]
            self.lists.look_up.append(self._first((), ()).left("it controls other attributes, and its current value is unknown"))
            return [wanted] if wanted else []
        serious = [draft for draft in held if draft.serious]
        if wanted is None and not serious and not self.ground.order:
            stands = f"this machine has {self.name}={self.now}, which controls this setting"
            stands = stands if self.now is not None else f"{self.name}, which controls it, is unknown"
            self.lists.refuse(held, lambda each: f"{stands}{self._why(each)}")
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
            self.lists.refuse(held, lambda _: f"{self.name} does not accept {self.lock.value} here")
            return []
        first = wanted or self._first((), (f"needed first: {self.lock.because}",))
        known = self._sets(self.lock.best) if self.now is None else {}
        again = {stem: known.get(stem) for stem in self.lock.resets}
        return [
            first,
            *self._behind(held),
            *self._again(again, held, f"changing to {self.lock.value} resets this attribute to its default"),
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
                lists.refused.append(draft.left(f"it overwrites other options and so conflicts with {beside}. {each.policy}"))
            else:
                lists.by_hand.append(draft.left(each.policy))
        drafts = rest
    return drafts


PROFILE = "os.tuned"
"""The setting that names a tuned profile; a profile of ours builds on it."""

_SMALL = ("low", "info")
_WAIVED = "waived: the site accepts it as it is"


def _is_waived(wish: WantedSetting) -> bool:
    return not wish.found and any(each.verdict == "waived" for each in wish.wanted)


def _contradiction(wish: WantedSetting, rules: Iterable[str]) -> str:
    """Return the wishes that cannot both be met, each with who has it."""
    mine = f"{', '.join(dict.fromkeys(rules))} wants {wish.value}"
    return ", ".join([mine, *(f"{other.id} wants {other.wanted}" for other in wish.others)])


def _dissent(wish: WantedSetting) -> str:
    """Return why a finding is left to a person: the guides that want otherwise, or that it is a matter of choice."""
    others = [f"{guide.says} [{guide.ref}]" for guide in wish.guides if guide.otherwise]
    return f"a guide recommends otherwise: {'; '.join(others)}" if others else "worth considering, not a fault"


def system_of(
    wishes: Iterable[WantedSetting], states: Iterable[str] = (), include: frozenset[Include] = frozenset(), *, order: bool = False
) -> System:
    """Return what the system shall hold: what is so already, and what findings want; ``states`` are listed beside."""
    kept: list[Kept] = []
    left: list[NotWritten] = []
    profile = in_use = None
    for wish in (wish for wish in wishes if wish.value is not None and (wish.kept is not None or wish.setting == PROFILE)):
        reason = None if wish.done else _why_not_kept(wish, include, order=order)
        if wish.setting == PROFILE:
            in_use = wish.now
        if reason is not None:
            own = {"rules": wish.rules, "setting": wish.setting, "says": wish.claim}
            keeper = wish.kept.keeper if wish.kept else None
            left.append(NotWritten(title=wish.title, wanted=wish.text, reason=reason, keeper=keeper, **own))
        elif wish.setting == PROFILE:
            profile = None if wish.done else wish.value
        elif wish.kept is not None:
            marks = () if wish.done else tuple(_marks(wish, order=order))
            active = bool(wish.done) or not order or not {"contested", "low"}.intersection(marks)
            update = {"done": wish.done, "marks": marks, "active": active, "about": tuple(_about(wish, wish.kept))}
            kept.append(wish.kept.but(**update))
    return System(kept=tuple(kept), profile=profile, in_use=in_use, by_hand=tuple(states), left=tuple(left))


def _why_not_kept(wish: WantedSetting, include: frozenset[Include], *, order: bool) -> str | None:
    """Return why a wish is not written; None where it is."""
    if wish.others:
        return f"rules contradict each other: {_contradiction(wish, wish.rules)}"
    if _is_waived(wish):
        return _WAIVED
    if order:
        return None
    if (wish.now is None or not wish.found) and "unknown" not in include:
        known = "the current value may already be right" if wish.now is not None else "its current value is unknown"
        return f"check first: {known}"
    return _dissent(wish) if wish.contested and "contested" not in include else None


def _marks(wish: WantedSetting, *, order: bool) -> Iterator[Mark]:
    if wish.contested:
        yield "contested"
    elif order and wish.speak[0].severity in _SMALL:
        yield "low"
    if wish.now is None or not wish.found:
        yield "unknown"


def _about(wish: WantedSetting, kept: Kept) -> Iterator[str]:
    """Yield what it is, what it was, who asks, how it goes back, and where guides differ."""
    was = "already set, kept" if wish.done else f"was {wish.stands}" if wish.now is not None else "current value unknown"
    yield f"{wish.title}: {wish.text} ({was}; {', '.join(wish.rules)})"
    if wish.contested or len(wish.guides) > 1:
        guides = "; ".join(f"{guide.says} [{guide.ref}]" for guide in wish.guides)
        yield f"guides differ: {guides}" if guides else "a matter of preference or workload"
    if kept.back and not wish.done:
        yield f"undo: {kept.back}"


def _draft(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> Draft | None:
    """Return the write that a wish for the BIOS may become; else list it, with the reason."""
    place = wish.place
    if wish.done:
        if place and place.attribute and place.vendor_value is not None and place.exact:  # nothing else is to move it
            now = ground.now(place.attribute)
            lists.content[place.attribute] = (place.vendor_value if now is None else now, wish)
        return None
    if wish.value is None or place is None or not place.attribute or place.vendor_value is None or not place.exact:
        _list_nameless(wish, ground, lists)
        return None
    name = place.attribute
    value = ground.spelled(name, place.vendor_value)
    untaken = f"{place.vendor_value} is not a legal value of {name} on this machine"
    if (lacks := ground.lacks(name)) or value is None:
        lists.absent.append(_left(wish, lacks or untaken))
        return None
    # The current value as the BIOS says, or as its sheet calls what the system shows.
    now = ground.now(name) if ground.bios is not None else place.spoken.get(wish.now) if wish.now is not None else None
    if now is not None and ground.same(name, now, value):
        if wish.done is False:
            lists.by_hand.append(_left(wish, _overridden(place, ground)))
    elif now is not None and (why := _no_way_back(place, now, ground)):
        lists.refused.append(_left(wish, why))
    elif wish.others:
        lists.refused.append(_left(wish, _contradiction(wish, (each.id for each in wish.speak))))
    elif _is_waived(wish):
        lists.by_hand.append(_left(wish, _WAIVED))
    else:
        return _weighed(wish, place, value, now, ground=ground, lists=lists)
    return None


def _overridden(place: Place, ground: FirmwareState) -> str:
    """Return why a setting is not so though the BIOS has the value that is wanted."""
    for need in place.requires:
        now = ground.now(need.attribute)
        if need.gates and now is not None and not ground.same(need.attribute, now, need.value):
            return f"the BIOS already has this value, but it takes effect only with {need.attribute}={need.value} (now {now})"
    return "the BIOS already has this value: a restart is pending, or something overrides it"


def _no_way_back(place: Place, now: Scalar, ground: FirmwareState) -> str | None:
    """Return why a current value could not be written again; None where it could."""
    if why := ground.no_way_back(place.attribute or "", now):
        return f"it {why}"
    if ground.nameless(place.attribute or "", place.spoken.values()):
        cure = "give the attribute registry with another --bios"
        return f"it is set to {now} in the menu's words; the tools' name for that is unknown: {cure}"
    return None


def _weighed(
    wish: WantedSetting, place: Place, value: VendorValue, now: Scalar | None, *, ground: FirmwareState, lists: LeftOut
) -> Draft | None:
    """Return a draft, marked where it is one to look at twice, or list it where it is not asked for."""
    unknown, small = now is None or not wish.found, wish.speak[0].severity in _SMALL and not wish.chosen
    marks: list[Mark] = ["contested"] if wish.contested else []
    marks += ["unknown"] if unknown else []
    if ground.order:
        marks += ["low"] if small and not wish.contested else []
    elif unknown and "unknown" not in ground.include:
        known = f"currently {now}; whether that is wrong here is unknown"
        reason = "its current value is unknown" if now is None else known
        lists.look_up.append(_left(wish, reason).but(now=now))
        return None
    elif wish.contested and "contested" not in ground.include:
        lists.contested.append(_left(wish, _dissent(wish)).but(now=now))
        return None
    if unsaid := ground.unsaid(place.attribute or "", place.label):
        lists.by_hand.append(_left(wish, unsaid))
        return None
    if wish.chosen and (why := _not_chosen(place, value, ground)):
        lists.refused.append(_left(wish, why))
        return None
    return Draft(
        attribute=place.attribute or "",
        value=value,
        now=now,
        wishes=(wish,),
        group=place.group,
        label=place.label,
        menu=wish.menu,
        marks=tuple(marks),
        active=not ground.order or not (small or wish.contested),
        verified=place.verified,
    )


def _not_chosen(place: Place, value: VendorValue, ground: FirmwareState) -> str | None:
    """Return why what is a choice, and no fault, is not written; None where it may be."""
    blind = ground.registry is None and not ground.order and place.attribute not in ground.unchecked
    if blind and not place.verified:
        return "that value was not seen in firmware of this generation: give the attribute registry with another --bios"
    brings = ground.forecast({place.attribute or "": value}) if ground.forecast else ()
    return f"a rule advises against it: {'; '.join(brings)}" if brings else None


def _accompanied(drafts: list[Draft], lists: LeftOut) -> list[Draft]:
    """Return the drafts without those that do harm alone: preferred I/O is never switched on without a bus."""
    there = {wish.setting for draft in drafts if draft.active for wish in draft.wishes}
    there |= {wish.setting for _, wish in lists.content.values() if wish.now is not None}
    kept = []
    for draft in drafts:
        lone = [wish for wish in draft.wishes if wish.only_with and wish.only_with not in there]
        if lone:
            lists.by_hand.append(draft.left(f"it needs {lone[0].only_with}, which is unknown or cannot be written"))
        else:
            kept.append(draft)
    return kept


def _left(wish: WantedSetting, reason: str) -> NotWritten:
    place = wish.place
    attribute = place.attribute if place and place.exact else None
    word = place.vendor_value if place and attribute is not None and wish.value is not None else None
    return NotWritten(
        title=wish.title,
        wanted=f"{attribute}={word}" if word is not None else wish.text,
        reason=reason,
        rules=wish.rules,
        setting=wish.setting,
        attribute=attribute,
        group=place.group if place else None,
        menu=wish.menu,
        says=wish.claim,
    )


def _list_nameless(wish: WantedSetting, ground: FirmwareState, lists: LeftOut) -> None:
    """List a wish without an attribute: as absent where the BIOS was given and has none of that beginning."""
    stem = wish.place.attribute if wish.place and wish.place.vendor_value is not None else None
    shown = (stem or "").replace("{n}", "N")
    if wish.value is None:
        why = "no single value fits every machine"
    elif stem is None:
        why = "the vendor's name or value for it is unknown"
    elif ground.bios is None:
        why = f"the attribute's name is not certain here ({stem}...): give the BIOS attributes with --bios"
    elif any(name.startswith(stem.partition("{n}")[0]) for name in ground.present):
        why = f"it is uncertain which of the attributes {shown}... applies here"
    else:
        lists.absent.append(_left(wish, f"the BIOS attributes given have no {shown}..."))
        return
    lists.by_hand.append(_left(wish, why))


SAVED = "the current value is in the file that the script saves first"
_MARKS: dict[Mark, str] = {"contested": "guides differ", "low": "little gain, or only for some uses"}


def plan_of(
    wishes: Iterable[WantedSetting],
    ground: FirmwareState,
    *,
    states: Iterable[NotWritten] = (),
    system: System | None = None,
    machine: str | None = None,
    platform: str | None = None,
    scope: str = "mpi",
    intent: IntentName | None = None,
) -> Plan:
    """Return the plan for what is wanted on a machine of which ``ground`` is known."""
    lists, vendor = LeftOut(), ground.vendor
    drafts = [draft for wish in wishes if wish.where == "bios" and wish.kept is None and (draft := _draft(wish, ground, lists))]
    drafts = _accompanied(drafts, lists)
    drafts = with_needs(one_each(drafts, lists), ground, lists)
    drafts = unclaimed(one_each(reconcile(drafts, ground, lists), lists), ground, lists)
    drafts = [replace(each, verified=True) if ground.known(each.attribute) else each for each in ordered(drafts, ground, lists)]
    drafts = consistent(_accompanied(drafts, lists), lists)
    lists.look_up = _moved_anyway(lists.look_up, drafts, ground)
    lists.contested = _moved_anyway(lists.contested, drafts, ground)
    lists.by_hand += states
    names = ("look_up", "contested", "absent", "by_hand", "refused")
    return Plan(
        machine=machine,
        platform=platform,
        vendor=vendor.name,
        vendor_id=vendor.id,
        scope=scope,
        intent=intent,
        order=ground.order,
        changes=tuple(_change(draft, drafts, ground) for draft in drafts),
        look_up_with=_look_up(lists.look_up, vendor),
        notes=tuple(_notes(ground)),
        system=system or System(),
        **{name: tuple(dict.fromkeys(getattr(lists, name))) for name in names},
    )


def _look_up(left: list[NotWritten], vendor: Vendor) -> str | None:
    """Return one command that reads all current values that are not known."""
    targets = tuple(Target(each.attribute, "", each.group) for each in left if each.attribute and each.now is None)
    if not targets:
        return None
    if vendor.tools.look is not None:
        return look_up_line(vendor.tools.look, targets)
    return f"{CURL} https://BMC{vendor.redfish.bios}" if vendor.redfish else None


_COPIED = (
    "attribute", "group", "label", "menu", "title", "now", "value", "kind", "first", "needs", "marks", "active", "verified",
)  # fmt: skip


def _change(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> Change:
    """Return a draft as a change, with what moves along and how to undo it."""
    by_sheet, moves = _along(draft, drafts, ground)
    return Change(
        **{name: getattr(draft, name) for name in _COPIED},
        settings=tuple(dict.fromkeys(wish.setting for wish in draft.wishes)),
        wanted=tuple(each for wish in draft.wishes for each in wish.speak),
        guides=tuple(dict.fromkeys(guide for wish in draft.wishes for guide in wish.guides)),
        why=tuple(_why(draft)),
        moves=tuple(f"{name}={'not known' if value is None else value}" for name, value in (by_sheet | moves).items()),
        back=tuple(_back(draft, moves, ground)),
        command=_command(draft, draft.value, ground.vendor),
    )


def _along(draft: Draft, drafts: list[Draft], ground: FirmwareState) -> tuple[dict[str, Scalar | None], dict[str, Scalar | None]]:
    """Return what changes along, but for what the plan writes itself: what the vendor's sheet, and what the registry says.

    Going back to the profile before brings back what the sheet says that a profile sets besides.
    """
    own = {each.attribute for each in drafts if each.active}
    told = ground.told_by_sheet(draft.attribute, draft.value)
    along = moved(ground.registry, ground.present, {draft.attribute: draft.value}) if ground.registry else {}
    by_sheet, by_registry = ({name: to for name, to in each.items() if name not in own} for each in (told, along))
    return by_sheet, by_registry


def _moved_anyway(left: list[NotWritten], drafts: list[Draft], ground: FirmwareState) -> list[NotWritten]:
    """Return what is left, and where a profile that is written changes it all the same, with that noted."""
    changed: dict[str | None, str] = {}
    for draft in (draft for draft in drafts if draft.active):
        by_sheet, moves = _along(draft, drafts, ground)
        for name, value in (by_sheet | moves).items():
            to = "an unknown value" if value is None else value
            changed[name] = f"{draft.attribute}={draft.value} sets it to {to} anyway"
    return [each.but(reason=f"{each.reason}; {changed[each.attribute]}") if each.attribute in changed else each for each in left]


def _why(draft: Draft) -> Iterable[str]:
    """Yield what it is, its previous value, and who asks; then where to look twice."""
    was = f"was {draft.now}" if draft.now is not None else "current value unknown"
    for wish in draft.wishes:
        own = wish in draft.own
        yield f"{wish.title}: {wish.text} ({was if own else 'set by the same attribute'}; {', '.join(wish.rules)})"
        for each in (each for each in wish.wanted if each.chosen):
            yield f"--{each.id.replace('-', ' ', 1)}: {'; '.join(f'{guide.says} [{guide.ref}]' for guide in each.chosen)}"
        if gain := next((each.gain for each in wish.speak if each.gain), None):
            yield f"worth: {gain}"
        if own and wish.breaks:
            yield f"can break: {wish.breaks}"
    yield from draft.why
    yield from (f"review first: {_MARKS[mark]}" for mark in draft.marks if mark in _MARKS)
    if "unknown" in draft.marks and draft.now is not None:
        yield "review first: the current value may already be right"
    if not draft.verified:
        yield "name not verified against a registry"
    chosen = {guide for wish in draft.own for each in wish.wanted for guide in each.chosen}
    guides = dict.fromkeys(f"{guide.says} [{guide.ref}]" for wish in draft.own for guide in wish.guides if guide not in chosen)
    if guides and ("contested" in draft.marks or len(guides) > 1 or chosen):
        yield f"guides differ: {'; '.join(guides)}"


def _back(draft: Draft, moves: dict[str, Scalar | None], ground: FirmwareState) -> Iterable[Back]:
    """Yield undo: the attribute, then what moved along, does not go back with it, and may be written then."""
    now, registry = draft.now, ground.registry
    yield Back(attribute=draft.attribute, value=now, command=None if now is None else _command(draft, now, ground.vendor))
    if now is None or registry is None or not moves:
        return
    after = settle(registry, ground.present, {draft.attribute: draft.value}).values
    again = settle(registry, after, {draft.attribute: now})
    for name in moves:
        value = ground.now(name)
        if value is not None and again.values.get(name) != named(registry, name, value) and not again.refuses(name):
            entries = (entry for entries in ground.vendor.settings.values() for entry in entries if entry.attribute == name)
            group = next((entry.group for entry in entries if entry.group), None)
            yield Back(attribute=name, value=value, command=_line(Target(name, value, group), ground.vendor))


def _command(draft: Draft, value: VendorValue, vendor: Vendor) -> str | None:
    """Return the line that stages one attribute, of a tool that takes one a line."""
    return _line(Target(draft.attribute, value, draft.group, draft.label, draft.menu), vendor)


def _line(target: Target, vendor: Vendor) -> str | None:
    """Return the line of the vendor's tool for one attribute; None where it takes all at once, or the group is not known."""
    lines = [line for line in vendor.tools.set if one_a_line([line]) and (target.group or "{group}" not in line)]
    return filled_lines(lines[:1], (target,))[0] if lines else None


def _notes(ground: FirmwareState) -> Iterable[str]:
    """Yield what holds for the whole plan: what waits already, and what could not be checked."""
    waiting = ground.bios.changed() if ground.bios else {}
    if waiting:
        first = ", ".join(f"{name}={value}" for name, value in list(waiting.items())[:5])
        wait = count(len(waiting), "change is", "changes are")
        yield f"{wait} already pending for the next restart ({first}) and will take effect together with these"
    if ground.bios is not None and ground.registry is None:
        name = ground.bios.registry or "the attribute registry"
        yield f"{name} was not given: the values were not checked against it; add its file with another --bios"


def with_plan(checklist: Checklist, plan: Plan, vendor: Vendor) -> Checklist:
    """Return the checklist as the plan has it, what is typed or the reason: no page says to type what the scripts would not."""
    notes = list(checklist.notes)
    for change in plan.writes:
        if change.kind != "wanted":
            word = "First" if change.kind == "first" else "Then again"
            notes.append(f"{word}: {change.attribute} = {change.value}: {'; '.join(change.why)}")
    if plan.look_up_with and not plan.order:
        notes.append(f"{LOOK_UP_WITH} {plan.look_up_with}")
    groups = tuple(group.but(items=tuple(_item(item, plan, vendor) for item in group.items)) for group in checklist.groups)
    apply = checklist.apply if plan.writes else ()
    return checklist.but(groups=groups, notes=tuple(dict.fromkeys((*notes, *plan.notes))), apply=apply)


def _item(item: Item, plan: Plan, vendor: Vendor) -> Item:
    if item.setting is None or item.fix.where != "bios" or item.done:
        return item
    change = next((each for each in plan.changes if item.setting in each.settings), None)
    if change is not None and change.active:
        back = [f"{each.attribute}={each.value}" for each in change.back if each.value is not None]
        undo = f"set it back to {change.back[0].value}" + (f", then {', '.join(back[1:])}" if back[1:] else "")
        return item.but(fix=_written(item.fix, change, plan, vendor), undo=undo if back else NOTE_FIRST)
    left = next(iter(_reasons(item.setting, change, plan)), None)
    return item.but(left=left, fix=item.fix.but(commands=(), before=()))


def _written(fix: Fix, change: Change, plan: Plan, vendor: Vendor) -> Fix:
    """Return the step as the plan writes it: what it needs first, then itself."""
    first = [each for each in plan.writes if each.attribute in change.first]
    targets = tuple(Target(each.attribute, each.value, each.group, each.label, each.menu) for each in (*first, change))
    update: dict[str, object] = {
        "commands": (*vendor.tools.prepare, *filled_lines(vendor.tools.set, targets)),
        "before": tuple(f"{each.attribute} = {each.value}: {'; '.join(each.why)}" for each in first),
    }
    if fix.attribute == change.attribute:
        update["attribute_value"] = change.value
    elif fix.attribute is not None:
        update["notes"] = (*fix.notes, f"{change.attribute}={change.value} sets it")
    return fix.but(**update)


def _reasons(setting: str, change: Change | None, plan: Plan) -> Iterator[str]:
    """Yield why a setting is not written."""
    if change is not None:
        yield "; ".join(change.marks) or SAVED
    lists = {
        "look up first": plan.look_up,
        "left to you": plan.contested,
        "not on this machine": plan.absent,
        "by hand": plan.by_hand,
        "rejected": plan.refused,
    }
    for name, left in lists.items():
        yield from (f"{name}; {each.reason}" for each in left if each.setting == setting)
