"""Measurements for tests: one result, and results as one run. EVERY VALUE IS INVENTED where the test does not say otherwise."""

from collections.abc import Iterable
from typing import Any

from advisor.machine.machine import Machine
from advisor.measure.measurement import Conditions, Identity, Measurements, Missing, Result, identity_of


def one_result(**fields: Any) -> Result:
    """Return a result of load on one CPU of the machine, but for what is given."""
    usual: dict[str, Any] = {"kernel": "membw", "purpose": "part", "variant": "load", "part": "machine", "cpus": (0,)}
    usual |= {"unit": "bytes/s", "values": (1e10,), **fields}
    return Result.model_validate({"task": f"{usual['kernel']}/{usual['purpose']}/{usual['part']}", **usual})


def one_run(
    results: Iterable[Result], of: Machine | Identity | None = None, missing: Iterable[Missing] = (), **under: Any
) -> Measurements:
    """Return results as one run of a machine, an idle one but for the conditions that are given."""
    conditions = Conditions.model_validate({"started": "2026-11-21T12:00:00+00:00", "idle": True, **under})
    who = identity_of(of) if isinstance(of, Machine) else of or Identity()
    return Measurements(advisor="0", machine=who, conditions=conditions, results=tuple(results), missing=tuple(missing))
