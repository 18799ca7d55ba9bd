"""Reads what a kernel told beside its values, which is as untrusted as any file. Pure."""

from advisor.model.measurement import Result


def text(result: Result, name: str) -> str:
    """Return a word; empty where it is none."""
    value = result.details.get(name, "")
    return value if isinstance(value, str) else ""


def figure(result: Result, name: str) -> float | None:
    """Return a number above 0; None where it is none."""
    value = result.details.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def amount(result: Result, name: str) -> float:
    """Return a number above 0, to be shown or counted with; 0 where it is none."""
    return figure(result, name) or 0.0


def whole(result: Result, name: str) -> int | None:
    """Return a whole number above 0; None where it is none."""
    found = figure(result, name)
    return int(found) if found is not None and found == int(found) else None
