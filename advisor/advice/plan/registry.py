"""What an attribute registry makes of a set of writes: which it refuses, and what changes along with them."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from advisor.machine.firmware import FLAGS, Dependency, Registry, Scalar, Term

Values = Mapping[str, Scalar | None]

_VALUE: Final = "CurrentValue"
_ROUNDS: Final = 20
"""A dependency may start another; none seen goes deeper than three."""

_COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "GTR": operator.gt,
    "GEQ": operator.ge,
    "LSS": operator.lt,
    "LEQ": operator.le,
}


@dataclass(frozen=True)
class Settled:
    """The attributes once all dependencies have had their say."""

    values: dict[str, Scalar | None]
    """None for what is not known: the machine does not show it, or the dependencies contradict each other about it."""
    flags: dict[str, frozenset[str]]
    contradicted: Mapping[str, tuple[Scalar | None, ...]] = field(default_factory=dict)
    """What the dependencies want to be different things: it hangs on which of them is looked at first."""

    def word(self, attribute: str) -> str:
        """Return what an attribute comes to, in words: of what is contradicted, each thing that it is to be."""
        if attribute in self.contradicted:
            return " or ".join(sorted(str(each) for each in self.contradicted[attribute])) + ", by which of its rules goes first"
        return str(self.values.get(attribute))

    def refuses(self, attribute: str) -> tuple[str, ...]:
        """Return why an attribute cannot be written now: ReadOnly, GrayOut, ..."""
        return tuple(flag for flag in FLAGS if flag in self.flags.get(attribute, frozenset()))


def settle(registry: Registry, present: Values, wanted: Values) -> Settled:
    """Return what becomes of the present values when others are written over them.

    No standard says which of two dependencies goes first: what is another value in the opposite order is not known (HPE:
    WorkloadProfile=HPC disables ProcAmdIoVt, and MicrosoftSecuredCoreSupport=Enabled beside it enables it).
    """
    start = {name: named(registry, name, value) for name, value in {**present, **wanted}.items()}
    values, flags, moving = _carried_out(registry, start, registry.dependencies)
    if not moving:
        return Settled(values, flags)
    other, _, _ = _carried_out(registry, start, registry.dependencies[::-1])
    contradicted = {name: (value, other[name]) for name, value in values.items() if other[name] != value}
    return Settled({**values, **dict.fromkeys(contradicted)}, flags, contradicted)


def _carried_out(
    registry: Registry, start: Values, rules: Iterable[Dependency]
) -> tuple[dict[str, Scalar | None], dict[str, frozenset[str]], bool]:
    """Return values and flags once the dependencies were carried out until nothing changes; and whether any value changed.

    A flag that some dependency can raise starts lowered: registries tell the moment, not the nature, of those.
    """
    raised = {(rule.target, rule.property) for rule in registry.dependencies if rule.property in FLAGS and rule.value is True}
    flags = {
        name: {flag for flag in attribute.flags if (name, flag) not in raised} for name, attribute in registry.attributes.items()
    }
    values, moving = dict(start), False
    for _ in range(_ROUNDS):
        done = [rule.property for rule in rules if _apply(rule, registry, values, flags)]
        moving = moving or _VALUE in done
        if not done:
            break
    return values, {name: frozenset(found) for name, found in flags.items()}, moving


def holds(rule: Dependency, registry: Registry, after: Settled) -> bool:
    """Return whether a dependency's terms hold once all have had their say."""
    return _holds(rule.terms, registry, after.values, {name: set(flags) for name, flags in after.flags.items()})


def named(registry: Registry, name: str, value: Scalar | None) -> Scalar | None:
    """Return the registry's own name for a value."""
    attribute = registry.attributes.get(name)
    return attribute.named(value) if attribute else value


def static(registry: Registry, name: str) -> tuple[str, ...]:
    """Return the flags of an attribute that no dependency ever lowers."""
    attribute = registry.attributes.get(name)
    movable = {rule.property for rule in registry.dependencies if rule.target == name}
    return tuple(flag for flag in attribute.flags if flag not in movable) if attribute else ()


def moved(registry: Registry, present: Values, wanted: Values) -> dict[str, Scalar | None]:
    """Return what changes along with the writes, None where to what is not known; not what is so before anything is written."""
    before, after = settle(registry, present, {}).values, settle(registry, present, wanted).values
    return {name: value for name, value in after.items() if name not in wanted and before.get(name) != value}


def _apply(rule: Dependency, registry: Registry, values: dict[str, Scalar | None], flags: dict[str, set[str]]) -> bool:
    """Carry out one dependency where its terms hold; return whether it changed anything."""
    if rule.property == _VALUE:
        to = named(registry, rule.target, rule.value)
        if rule.target not in values or values[rule.target] == to or not _holds(rule.terms, registry, values, flags):
            return False
        values[rule.target] = to
        return True
    own = flags.get(rule.target)
    if rule.property not in FLAGS or own is None or (rule.property in own) == (rule.value is True):
        return False
    if not _holds(rule.terms, registry, values, flags):
        return False
    (own.add if rule.value is True else own.discard)(rule.property)
    return True


def _holds(terms: tuple[Term, ...], registry: Registry, values: dict[str, Scalar | None], flags: dict[str, set[str]]) -> bool:
    """Return whether the terms hold; what is left unjoined is a choice."""
    stack: list[bool] = []
    for term in terms:
        stack.append(_term(term, registry, values, flags))
        for joined in term.joined[: len(stack) - 1]:
            last, before = stack.pop(), stack.pop()
            stack.append((before and last) if joined == "AND" else (before or last))
    return any(stack)


def _term(term: Term, registry: Registry, values: dict[str, Scalar | None], flags: dict[str, set[str]]) -> bool:
    if term.property != _VALUE:
        return (term.property in flags.get(term.attribute, ())) == (term.value is True)
    value, other = values.get(term.attribute), named(registry, term.attribute, term.value)
    if value is None:
        return False
    if term.condition in ("EQU", "NEQ"):
        return (value == other) is (term.condition == "EQU")
    if isinstance(value, int) and isinstance(other, int):
        return _COMPARE[term.condition](value, other)
    return False
