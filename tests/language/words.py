"""A small scope and how the tests evaluate in it."""

from collections.abc import Mapping
from typing import Any

from advisor.advice.expression import Name, Scope, parse
from advisor.advice.expression_tree import CPUS, NUMBER, PAIRS, STEPS, TABLE, TEXT, TRUTH, Kind, Record, Text, Unknown, listed

THING = Record(name="thing", tree={"n": NUMBER, "name": TEXT, "on": TRUTH, "cpus": CPUS})
KINDS: dict[str, Kind] = {
    "a": NUMBER,
    "b": NUMBER,
    "p": TRUTH,
    "q": TRUTH,
    "word": Text(options=("linear", "round-robin")),
    "text": TEXT,
    "cpus": CPUS,
    "others": CPUS,
    "numbers": listed(NUMBER),
    "texts": listed(TEXT),
    "things": listed(THING),
    "thing": THING,
    "line": PAIRS,
    "table": TABLE,
}
SCOPE: Scope = {name: Name(kind, name) for name, kind in KINDS.items()}


def value(text: str, facts: Mapping[str, Any] | None = None) -> Any:
    """Return what an expression yields; of an unknown value the facts that would tell, sorted."""
    found = parse(text, SCOPE).value({**(facts or {}), "_steps": [STEPS]})
    return sorted(found.facts) if isinstance(found, Unknown) else found
