"""What an attribute registry makes of writes, read off the standard and off real registries, and apart from the product.

Three answers: forbidden, allowed, and not told, where the registry speaks of attributes that the machine does not show.
How terms are joined differs by maker; each way was checked against flags that real registries publish for their moment:

- none said (Dell): any of the terms. With all of them 9 of 33 published flags of an R750 come out wrong, with any none, and
  rules such as ``SysProfile is A, SysProfile is B`` could never hold.
- each term but the first says how it joins what came before (HPE), or each but the last how it joins the next (Lenovo).
- postfix (Supermicro): a term without an operator is put on a stack, ``OR,AND`` joins its two topmost, twice.

A flag that some dependency raises is told for the moment and not for good: it starts lowered, and the dependencies decide.
"""

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

Json = dict[str, Any]
FLAGS = ("ReadOnly", "GrayOut", "Hidden", "Immutable")
ROUNDS = 40


def both(a: bool | None, b: bool | None) -> bool | None:
    """Return whether both hold, as far as it is known."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    """Return whether one of them holds, as far as it is known."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


JOIN = {"AND": both, "OR": either}


def joined(truths: list[bool | None], operators: list[str | None]) -> bool | None:
    """Return what terms come to together."""
    if len(truths) == 1:
        return truths[0]
    if not any(operators):
        return reduce(either, truths)
    if operators[0]:  # it joins the next
        operators = [None, *operators[:-1]]
        so_far: bool | None = truths[0]
        for truth, operator in zip(truths[1:], operators[1:], strict=True):
            so_far = JOIN[operator or "AND"](so_far, truth)
        return so_far
    stack: list[bool | None] = []
    for truth, operator in zip(truths, operators, strict=True):
        stack.append(truth)
        for each in (operator or "").split(","):
            if each and len(stack) > 1:
                top = stack.pop()
                stack.append(JOIN[each](stack.pop(), top))
    return reduce(either, stack)


class Oracle:
    """One registry's rules."""

    def __init__(self, registry: Json) -> None:
        entries = registry["RegistryEntries"]
        self.attributes: dict[str, Json] = {}
        for each in entries["Attributes"]:
            self.attributes.setdefault(each["AttributeName"], each)
        self.rules = [each["Dependency"] for each in entries.get("Dependencies") or () if each.get("Type") == "Map"]
        self.raised = {(rule["MapToAttribute"], rule["MapToProperty"]) for rule in self.rules if rule.get("MapToValue") is True}
        self._names: dict[str, dict[str, str]] = {}
        for name, about in self.attributes.items():
            known = {value["ValueName"]: value["ValueName"] for value in about.get("Value") or ()}
            for value in about.get("Value") or ():
                known.setdefault(value.get("ValueDisplayName") or value["ValueName"], value["ValueName"])
            self._names[name] = known

    # single values

    def legal(self, name: str) -> list[str]:
        """Return the names of an enumeration's values."""
        return [value["ValueName"] for value in self.attributes.get(name, {}).get("Value") or ()]

    def named(self, name: str, value: Any) -> Any:
        """Return the registry's name of a value that may be the menus' word for it."""
        return self._names.get(name, {}).get(str(value), value)

    def shown(self, name: str, value: Any) -> Any:
        """Return the menus' word for a value."""
        about = self.attributes.get(name, {})
        words = {each["ValueName"]: each.get("ValueDisplayName") or each["ValueName"] for each in about.get("Value") or ()}
        return words.get(str(value), value)

    def illegal(self, name: str, value: Any) -> str | None:
        """Return why a value can never be written, or None."""
        about = self.attributes.get(name)
        if about is None:
            return "is not in the registry"
        kind = about["Type"]
        if kind == "Enumeration":
            return None if str(value) in self._names[name] else f"cannot be {value}"
        if kind == "Integer":
            if type(value) is not int:
                return f"takes a number, and {value!r} is none"
            low, high = about.get("LowerBound"), about.get("UpperBound")
            return f"cannot be {value}" if (low is not None and value < low) or (high is not None and value > high) else None
        if kind == "Boolean":
            return None if type(value) is bool else f"is true or false, not {value!r}"
        return _illegal_text(about, value) if kind == "String" else f"is a {kind}"

    def endless(self) -> set[str]:
        """Return the texts whose expression repeats a group, and not just a few times: some can be searched for ages."""
        often = re.compile(r"\)([*+]|\{(\d*,\}|\d?,?\d\d))")
        return {name for name, about in self.attributes.items() if often.search(about.get("ValueExpression") or "")}

    # dependencies

    def hanging(self, present: Mapping[str, Any]) -> set[str]:
        """Return the attributes of which rules speak that hang, at whatever remove, on a value that is not shown."""
        found: set[str] = set()
        while True:
            more = {
                rule["MapToAttribute"]
                for rule in self.rules
                for term in rule["MapFrom"]
                if term["MapFromAttribute"] not in present or term["MapFromAttribute"] in found
            }
            if more <= found:
                return found
            found |= more

    def holds(self, rule: Json, values: Mapping[str, Any], flags: Mapping[tuple[str, str], bool | None]) -> bool | None:
        """Return whether a rule's condition holds."""
        truths = [self._term(term, values, flags) for term in rule["MapFrom"]]
        return joined(truths, [term.get("MapTerms") for term in rule["MapFrom"]])

    def _term(self, term: Json, values: Mapping[str, Any], flags: Mapping[tuple[str, str], bool | None]) -> bool | None:
        name, what, wanted = term["MapFromAttribute"], term["MapFromProperty"], term["MapFromValue"]
        if what != "CurrentValue":
            flag = flags.get((name, what))
            if flag is None:
                return None
            return bool(flag == wanted) is bool(term["MapFromCondition"] == "EQU")
        if values.get(name) is None:
            return None
        have, wanted = str(self.named(name, values[name])), str(self.named(name, wanted))
        if term["MapFromCondition"] in ("EQU", "NEQ"):
            return bool(have == wanted) is bool(term["MapFromCondition"] == "EQU")
        try:
            a, b = float(have), float(wanted)
        except ValueError:
            return None
        return {"GTR": a > b, "GEQ": a >= b, "LSS": a < b, "LEQ": a <= b}[term["MapFromCondition"]]

    def settle(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[tuple[str, str], bool | None], set[str]]:
        """Return values and flags once all rules have had their say, and the attributes that are never sure.

        These never come to rest, or come to another when the rules are carried out from the last to the first.
        """
        now, flags, restless = self._settled(values, self.rules)
        other, _, more = self._settled(values, self.rules[::-1])
        return now, flags, restless | more | {name for name, value in now.items() if value != other[name]}

    def _settled(
        self, values: Mapping[str, Any], rules: list[Json]
    ) -> tuple[dict[str, Any], dict[tuple[str, str], bool | None], set[str]]:
        now = {name: self.named(name, value) for name, value in values.items()}
        flags: dict[tuple[str, str], bool | None] = {}
        restless: set[str] = set()
        for _ in range(ROUNDS):
            flags = self._flags(now, flags)
            restless = self._move(now, flags, rules)
            if not restless:
                break
        return now, self._flags(now, flags), restless

    def _flags(
        self, values: Mapping[str, Any], before: Mapping[tuple[str, str], bool | None]
    ) -> dict[tuple[str, str], bool | None]:
        flags: dict[tuple[str, str], bool | None] = {
            (name, flag): False if (name, flag) in self.raised else bool(about.get(flag))
            for name, about in self.attributes.items()
            for flag in FLAGS
        }
        for rule in self.rules:
            place = (rule["MapToAttribute"], rule["MapToProperty"])
            if place not in flags:
                continue
            truth = self.holds(rule, values, before or flags)
            if rule.get("MapToValue") is True:
                flags[place] = either(flags[place], truth)
            elif truth is not False:
                flags[place] = None if truth is None else False
        return flags

    def _move(self, values: dict[str, Any], flags: Mapping[tuple[str, str], bool | None], rules: list[Json]) -> set[str]:
        """Carry out, one after another, the rules that set a value; return what they changed."""
        changed = set()
        for rule in rules:
            name = rule["MapToAttribute"]
            if rule["MapToProperty"] != "CurrentValue" or name not in values or self.holds(rule, values, flags) is not True:
                continue
            to = self.named(name, rule.get("MapToValue"))
            if values[name] != to:
                values[name] = to
                changed.add(name)
        return changed

    # sets of writes

    def moved(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return what changes along with writes, without what the rules contradict before anything is written."""
        before, after = self.settle(present)[0], self.settle({**present, **wanted})[0]
        return {name: value for name, value in after.items() if name not in wanted and before.get(name) != value}

    def fixed(self, name: str) -> bool:
        """Return whether an attribute can never be written: a flag that no rule raises."""
        about = self.attributes.get(name, {})
        return any(about.get(flag) and (name, flag) not in self.raised for flag in FLAGS)

    def locked(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> set[str]:
        """Return which of the writes the flags surely forbid."""
        flags = self.settle({**present, **wanted})[1]
        return {name for name in wanted if any(flags.get((name, flag)) is True for flag in FLAGS)}

    def verdict(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
        """Return allowed, forbidden or not told; what is set already is no write."""
        writes = {name: value for name, value in wanted.items() if self.named(name, value) != self.named(name, present.get(name))}
        if any(name not in present or self.illegal(name, value) for name, value in writes.items()):
            return "forbidden"
        values, flags, restless = self.settle({**present, **wanted})
        told = [flags.get((name, flag)) for name in writes for flag in FLAGS]
        overridden = [name for name, value in wanted.items() if values[name] != self.named(name, value)]
        if True in told or set(overridden) - restless:
            return "forbidden"
        return "not told" if None in told or restless or overridden else "allowed"


def _illegal_text(about: Json, value: Any) -> str | None:
    if not isinstance(value, str):
        return f"takes a text, and {value!r} is none"
    expression = about.get("ValueExpression")
    if len(value) < (about.get("MinLength") or 0) or len(value) > (about.get("MaxLength") or 10_000):
        return f"is too short or too long with {len(value)} letters"
    return f"does not fit {expression}" if expression and not re.search(expression, value) else None


def names(values: Iterable[str]) -> str:
    """Return names in one line."""
    return ", ".join(sorted(values))
