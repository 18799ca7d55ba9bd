"""A Grafana dashboard on the metrics of the format ``prometheus``: what to do now, by node and kind, and how it went.

The model is that of dashboards in files (grafana.com/docs, "JSON model"), schema version 39, which Grafana 11 writes. The data
source is a variable: nothing in it names a site.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from advisor.exports.export import ExportOptions, ExportSubject

TITLE = "a Grafana dashboard for the prometheus export's metrics: what to do, by kind and node, and the history of findings"
ORDER = 22
PROVEN = "grafana-foundation-sdk 10.1.0 (its models read and rewrite the dashboard), Prometheus 2.42.0 (answers its queries)"
TAKES = ("golden",)

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_NODE = 'node=~"$node",kind=~"$kind|"'
_WIDE = 24


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file."""
    del subject
    prefix = options.prefix
    dashboard = {
        "uid": f"{prefix.replace('_', '-')}-fleet",
        "title": f"{prefix}: fleet",
        "tags": ["hpc", prefix],
        "timezone": "browser",
        "editable": True,
        "schemaVersion": 39,
        "refresh": "5m",
        "time": {"from": "now-30d", "to": "now"},
        "templating": {"list": list(_variables(prefix))},
        "panels": list(_panels(prefix)),
    }
    return {f"{prefix}-grafana.json": json.dumps(dashboard, indent=1) + "\n"}


def _variables(prefix: str) -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "type": "datasource", "label": "Data source", "query": "prometheus"}
    for name, label in (("kind", "Kind"), ("node", "Node")):
        metric = f"{prefix}_fleet_kind_nodes" if name == "kind" else f"{prefix}_finding"
        yield {
            "name": name,
            "type": "query",
            "label": label,
            "datasource": _SOURCE,
            "query": f"label_values({metric}, {name})",
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
        }


def _panels(prefix: str) -> Iterator[dict[str, Any]]:
    """Yield the panels, two in a row: first what is to be done now."""
    finding = f"{prefix}_finding"
    asked = f'{prefix}_fleet_nodes{{state="asked"}}'
    rows = (
        ("stat", "Nodes to drain", f'count(count by (node) ({finding}{{action="drain",{_NODE}}})) or vector(0)', ""),
        ("stat", "Nodes that did not answer", f'{asked} - ignoring(state) {prefix}_fleet_nodes{{state="answered"}}', ""),
        ("table", "What to do", f"{finding}{{{_NODE}}}", ""),
        ("bargauge", "Nodes by incident", f"sort_desc(count by (rule) ({finding}{{{_NODE}}}))", "{{rule}}"),
        ("timeseries", "Nodes by action", f"count by (action) ({finding}{{{_NODE}}})", "{{action}}"),
        ("timeseries", "Nodes of each kind", f'{prefix}_fleet_kind_nodes{{kind=~"$kind"}}', "{{kind}}"),
        ("timeseries", "Incidents on the chosen nodes", f"sum by (node, rule) ({finding}{{{_NODE}}})", "{{node}} {{rule}}"),
        ("stat", "Age of the audit", f"time() - {prefix}_last_audit_timestamp_seconds", ""),
    )
    for number, (kind, title, query, legend) in enumerate(rows):
        unit = {"unit": "s"} if "time()" in query else {}
        target: dict[str, Any] = {"refId": "A", "expr": query, "datasource": _SOURCE}
        target |= {"legendFormat": legend} if legend else {}
        target |= {"instant": True, "format": "table"} if kind == "table" else {}
        yield {
            "id": number + 1,
            "type": kind,
            "title": title,
            "datasource": _SOURCE,
            "gridPos": {"x": number % 2 * _WIDE // 2, "y": number // 2 * 8, "w": _WIDE // 2, "h": 8},
            "fieldConfig": {"defaults": unit, "overrides": []},
            "options": {},
            "targets": [target],
        }
