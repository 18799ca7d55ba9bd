"""What an audit was asked to measure beside its quick set: the tables of HPL and of messages between hosts."""

from typing import Final

from advisor.model.measurement import Measurements
from advisor.render import measured_hpl, measured_network, measured_rest
from advisor.render.lines import Line

_ADDED: Final = ("hpl", "mbw_mr")


def added(measurements: Measurements, width: int) -> list[Line]:
    """Return those tables, and what of them is not believed or is missing; nothing where neither was measured."""
    found = measurements.model_copy(
        update={
            "results": tuple(each for each in measurements.results if each.kernel in _ADDED),
            "missing": tuple(each for each in measurements.missing if each.task.startswith(_ADDED)),
        }
    )
    return [
        *measured_hpl.efficiency(found, width),
        *measured_network.tables(found, width),
        *measured_rest.refused(found, width),
        *measured_rest.missing(found, width),
    ]
