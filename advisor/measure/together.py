"""Joins what several runs brought of one machine, for rules and pages that see one Measurements. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from advisor.model.measurement import Conditions, Measurements, Result

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def together(runs: Sequence[Measurements]) -> Measurements:
    """Return several runs as one, in the order in which they began; of a thing that two of them have, the later run's."""
    if len(runs) == 1:
        return runs[0]
    ordered = sorted(runs, key=began)
    latest = {_thing(result): at for at, run in enumerate(ordered) for result in run.results}
    told = {result.task for run in ordered for result in run.results}
    lacking = {each.task: each for run in ordered for each in run.missing if each.task not in told}
    return ordered[0].model_copy(
        update={
            "conditions": _conditions([run.conditions for run in ordered]),
            "results": tuple(r for at, run in enumerate(ordered) for r in run.results if latest[_thing(r)] == at),
            "missing": tuple(lacking.values()),
        }
    )


def began(run: Measurements) -> datetime:
    """Return when a run began; what is no time comes before all others."""
    try:
        return datetime.fromisoformat(run.conditions.started).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return _EARLIEST


def _thing(result: Result) -> tuple[object, ...]:
    """Return what was measured: the same thing has the same task in every run; messages go between two hosts."""
    return result.task, result.variant, result.bytes, result.page_kind, result.details.get("hosts_named")


def _conditions(under: Sequence[Conditions]) -> Conditions:
    """Return what holds for all: not idle where one run was not, and what spoke against any of them."""
    looks = [each.idle for each in under]
    return under[0].model_copy(
        update={
            "seconds": round(sum(each.seconds for each in under), 1),
            "idle": False if False in looks else True if True in looks else None,
            "busy": tuple(dict.fromkeys(words for each in under for words in each.busy)),
            "compiler": _joined((each.compiler for each in under), "; "),
            "flags": _joined((each.flags for each in under), "; "),
            "governor": _joined((name for each in under for name in (each.governor or "").split(",")), ","),
            "hugepages": _joined((each.hugepages for each in under), ","),
        }
    )


def _joined(words: Iterable[str | None], mark: str) -> str | None:
    return mark.join(dict.fromkeys(word for word in words if word)) or None
