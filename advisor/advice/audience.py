"""For whom a report is: what of the machine, and of what was measured on it, is withheld from them."""

from contextlib import suppress
from typing import Final, Literal, get_args

from advisor.errors import AdvisorError
from advisor.machine.anonymise import AnonymousHost
from advisor.machine.fact import without_identities
from advisor.machine.machine import Machine
from advisor.machine.read import json_data, open_machine
from advisor.machine.secrecy import WITHHELD
from advisor.machine.sources.registry import collect_machine, identities_of, public
from advisor.measure.measurement import Measurements

Audience = Literal["internal", "vendor", "public"]
AUDIENCES: Final[tuple[str, ...]] = get_args(Audience)
"""internal: all but credentials; vendor: no people, hosts and networks; public: nothing that an anonymised capture drops."""


def told_to(audience: Audience, machine: Machine, source: str | None) -> Machine:
    """Return a machine as an audience may know it."""
    if audience == "internal":
        return machine
    if audience == "public" and (source is None or json_data(source) is None):
        host = open_machine(source)
        with suppress(AdvisorError):  # an hwloc XML may have nothing but what an anonymous one lacks
            machine = collect_machine(AnonymousHost(host, identities=identities_of(host), public=public()))
    return without_identities(machine)


def measured_for(audience: Audience, measurements: Measurements | None) -> Measurements | None:
    """Return measurements as an audience may know them: without hosts, and without who else worked there."""
    if audience == "internal" or measurements is None:
        return measurements
    named = measurements.machine.name
    conditions = measurements.conditions
    busy = (WITHHELD,) if conditions.busy else ()
    results = tuple(
        each.model_copy(update={"details": {**each.details, "hosts_named": WITHHELD}}) if "hosts_named" in each.details else each
        for each in measurements.results
    )
    return measurements.model_copy(
        update={
            "machine": measurements.machine.model_copy(update={"name": named and WITHHELD}),
            "conditions": conditions.model_copy(update={"busy": busy}),
            "results": results,
        }
    )
