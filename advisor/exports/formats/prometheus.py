"""Prometheus text for node_exporter's textfile collector: no timestamps, no sample twice, a newline at the end.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/. node_exporter skips a whole file that has
timestamps and complains of a sample that is there twice at every scrape; promtool lets both pass.
"""

from collections.abc import Iterator, Mapping

from advisor.exports.export import ExportOptions, ExportSubject, Family, Labels, families

TITLE = "metrics for node_exporter's textfile collector: findings, counts by verdict, age of the audit"
ORDER = 20
PROVEN = "promtool 2.42.0 (check metrics), node_exporter 1.5.0 (served), Prometheus 2.42.0 (scraped)"
TAKES = ("machine", "fleet")


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file."""
    return {f"{options.prefix}.prom": "".join(line for family in families(subject, options) for line in _family(family))}


def _family(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}\n"
    yield f"# TYPE {family.name} gauge\n"
    yield from (f"{family.name}{in_braces(labels)} {number(value)}\n" for labels, value in family.samples)


def in_braces(labels: Labels) -> str:
    """Return labels as they stand behind a metric's name; nothing where there are none."""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    """Return a label's value with the three letters escaped that must be, and no other."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value: float) -> str:
    """Return a value: whole numbers in full, of others six digits, for no measurement has more."""
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
