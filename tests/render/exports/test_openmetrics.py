"""OpenMetrics: the reader of prometheus_client takes it, and refuses the other text."""

import json

import pytest

from tests import exports
from tests.conftest import Golden
from tests.exports import text_of

READ = """
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
try:
    print(json.dumps([[each.name, each.type, each.unit, len(each.samples)] for each in read(sys.stdin.read())]))
except ValueError as error:
    sys.exit(str(error))
"""
SUBJECTS = {"machine": exports.machine, "fleet": exports.fleet, "hostile": exports.hostile}


def test_it_prints_as_it_did(golden: Golden) -> None:
    """The whole file is kept as a golden text."""
    golden("machine.openmetrics", text_of("openmetrics", exports.machine()))


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_reader_of_prometheus_client_takes_it(name: str) -> None:
    """Every family with its type and unit; the words are an info metric."""
    python = exports.python_with("prometheus_client")
    status, told = exports.said(python, "-c", READ, given=text_of("openmetrics", SUBJECTS[name]()))
    assert status == 0, told
    found = {name: (kind, unit) for name, kind, unit, _ in json.loads(told)}
    assert (found["advisor_build"], found["advisor_last_audit_timestamp_seconds"]) == (("info", ""), ("gauge", "seconds"))


def test_the_text_for_the_textfile_collector_is_not_openmetrics() -> None:
    """The reader is awake: the plain text has no end."""
    python = exports.python_with("prometheus_client")
    status, told = exports.said(python, "-c", READ, given=text_of("prometheus", exports.machine()))
    assert (status, "Missing # EOF at end" in told) == (1, True)


def test_both_texts_have_the_same_samples() -> None:
    """They differ in what stands about the samples alone."""
    plain, other = ([line for line in text_of(name, exports.machine()).splitlines() if line[0] != "#"] for name in
                    ("prometheus", "openmetrics"))  # fmt: skip
    assert plain == other
