"""The dashboard is one that Grafana's own models take, and asks for metrics that there are."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from advisor.exports.export import ExportOptions, ExportSubject, export, families
from tests.fleet.test_page_screen import large


def test_every_metric_that_it_asks_for_is_one_that_is_written() -> None:
    """In its panels and its variables; under another prefix as well."""
    text = export("grafana", prefix="site_a").text
    asked = {*re.findall(r"\bsite_a_\w+", text)} - {"site_a"}
    written = {each.name for each in families(ExportSubject(fleet=large(2), read=1.0), ExportOptions("0", 0.0, "site_a"))}
    assert (asked - written, "advisor" in text) == (set(), False)


def test_the_models_of_grafana_take_it_and_give_it_back() -> None:
    """Nothing in it is unknown to the dashboard's schema."""
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="grafana-foundation-sdk is missing")
    encoder, plugins = (pytest.importorskip(f"grafana_foundation_sdk.cog.{name}") for name in ("encoder", "plugins"))
    plugins.register_default_plugins()
    told = json.loads(export("grafana").text)
    back = json.loads(encoder.JSONEncoder(sort_keys=False).encode(models.Dashboard.from_json(told)))
    assert list(_lost(told, back)) == []


def _lost(told: Any, back: Any, name: str = "") -> Iterator[str]:
    """Yield what the models do not give back as it was; what they add is theirs."""
    if isinstance(told, dict):
        for key, value in told.items():
            yield from _lost(value, back.get(key), f"{name}.{key}")
    elif isinstance(told, list):
        for at, value in enumerate(told):
            yield from _lost(value, back[at], f"{name}[{at}]")
    elif told != back:
        yield f"{name}: {told!r} is {back!r}"


def test_an_incident_is_a_series_of_each_of_its_nodes() -> None:
    """By node, rule and severity; what is only to know is none."""
    made = {each.name: each for each in families(ExportSubject(fleet=large(2)), ExportOptions("0", 0.0))}
    assert next(dict(labels) for labels, _ in made["advisor_finding"].samples) == {
        "node": "n0000", "rule": "rule-0", "severity": "high", "action": "drain", "kind": "A",
    }  # fmt: skip
    assert len(made["advisor_finding"].samples) == 8
