"""The part of a plan that the operating system keeps: sysctl, tuned, limits, services, boot options."""

from collections.abc import Iterable, Iterator

from advisor.model.audit.plan import Include, Kept, Mark, NotWritten, System, WantedSetting

PROFILE = "os.tuned"
"""The setting that names a tuned profile; a profile of ours builds on it."""

_SMALL = ("low", "info")


def system_of(
    wishes: Iterable[WantedSetting], states: Iterable[str] = (), include: frozenset[Include] = frozenset(), *, order: bool = False
) -> System:
    """Return what the system shall hold: what is so already, and what findings want; ``states`` are told beside."""
    kept: list[Kept] = []
    left: list[NotWritten] = []
    profile = None
    for wish in (wish for wish in wishes if wish.value is not None and (wish.kept is not None or wish.setting == PROFILE)):
        reason = None if wish.done else _left_out(wish, include, order=order)
        if reason is not None:
            left.append(NotWritten(title=wish.title, wanted=wish.text, reason=reason, rules=wish.rules, setting=wish.setting))
        elif wish.setting == PROFILE:
            profile = wish.value
        elif wish.kept is not None:
            kept.append(_kept(wish, wish.kept, order=order))
    return System(kept=tuple(kept), profile=profile, by_hand=tuple(states), left=tuple(left))


def _left_out(wish: WantedSetting, include: frozenset[Include], *, order: bool) -> str | None:
    """Return why a wish is not written; None where it is."""
    if wish.others:
        wants = [f"{', '.join(wish.rules)} wants {wish.value}", *(f"{other.id} wants {other.wanted}" for other in wish.others)]
        return f"rules contradict each other: {', '.join(wants)}"
    if not wish.found and any(each.verdict == "waived" for each in wish.wanted):
        return "waived: the site accepts it as it is"
    if order:
        return None
    if (wish.now is None or not wish.found) and "unknown" not in include:
        known = "whether it is wrong here cannot be told" if wish.now is not None else "its present value is not known"
        return f"look up first: {known}"
    return "guides differ about it" if wish.contested and "contested" not in include else None


def _kept(wish: WantedSetting, kept: Kept, *, order: bool) -> Kept:
    marks = () if wish.done else tuple(_marks(wish, order=order))
    active = bool(wish.done) or not order or not {"contested", "low"}.intersection(marks)
    return kept.model_copy(update={"done": wish.done, "marks": marks, "active": active, "about": tuple(_about(wish, kept))})


def _marks(wish: WantedSetting, *, order: bool) -> Iterator[Mark]:
    if wish.contested:
        yield "contested"
    elif order and wish.speak[0].severity in _SMALL:
        yield "low"
    if wish.now is None or not wish.found:
        yield "unknown"


def _about(wish: WantedSetting, kept: Kept) -> Iterator[str]:
    """Yield what it is, what it was, who asks, how it goes back, and where guides differ."""
    was = "so already, kept" if wish.done else f"was {wish.stands}" if wish.now is not None else "present value not known"
    yield f"{wish.title}: {wish.text} ({was}; {', '.join(wish.rules)})"
    if wish.contested or len(wish.guides) > 1:
        said = "; ".join(f"{guide.says} [{guide.ref}]" for guide in wish.guides)
        yield f"guides differ: {said}" if said else "a matter of taste, or of the work"
    if kept.back and not wish.done:
        yield f"undo: {kept.back}"
