"""OpenMetrics text, for what scrapes over HTTP: units, an info metric, and an end; node_exporter's textfile takes the other.

The format: https://github.com/prometheus/OpenMetrics, specification 1.0.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from advisor.render.export import ExportOptions, ExportSubject
from advisor.render.exports.prometheus import in_braces, number
from advisor.render.metrics import Family, families

NAME: Final = "openmetrics"
TITLE: Final = "the same metrics as OpenMetrics 1.0, for what is scraped over HTTP; not for node_exporter"
ORDER: Final = 70
PROVEN: Final = "prometheus_client 0.26.0 (its OpenMetrics parser)"
TAKES: Final = ("machine", "fleet")
_INFO: Final = "_info"


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file."""
    lines = (line for family in families(subject, options) for line in _family(family))
    return {f"{options.prefix}.txt": "".join(lines) + "# EOF\n"}


def _family(family: Family) -> Iterator[str]:
    """Yield a family; that of words is of the type info, whose name lacks the ending that its samples have."""
    name = family.name.removesuffix(_INFO)
    yield f"# TYPE {name} {'gauge' if name == family.name else 'info'}\n"
    if family.unit:
        yield f"# UNIT {name} {family.unit}\n"
    yield f"# HELP {name} {family.help}\n"
    yield from (f"{family.name}{in_braces(labels)} {number(value)}\n" for labels, value in family.samples)
