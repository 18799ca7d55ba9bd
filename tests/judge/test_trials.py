from typing import Any

import pytest

from advisor.advice.judge.rulebook import run_examples, verdicts_without_example
from tests.judge.made import rule, words


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        ({"given": {"kernel.thp": "always"}, "expect": "finding", "say": "is so"}, None),
        ({"given": {"kernel.thp": "never"}, "expect": "pass"}, None),
        ({"given": {}, "expect": "unknown"}, None),
        ({"given": {}, "expect": "not-applicable", "scope": "latency"}, None),
        ({"given": {}, "expect": "pass"}, "expected pass, found unknown: kernel.thp"),
        ({"given": {"kernel.thp": "never"}, "expect": "finding"}, "expected finding, found pass: "),
        ({"given": {"kernel.thp": "always"}, "expect": "finding", "say": "x"}, "says 'it is so', expected words 'x'"),
    ],
)
def test_examples_are_tried(example: dict[str, Any], problem: str | None) -> None:
    """An example that goes otherwise says what was found and why."""
    (trial,) = run_examples(rule(scope=["mpi", "hpl"], tests=[example]), words().scope)
    assert (trial.rule, trial.number, trial.expected, trial.problem) == ("made-rule", 1, example["expect"], problem)


def test_of_several_subjects_the_worst_counts() -> None:
    """A finding on one of two sockets is the example's verdict."""
    given = {"sockets": [{"index": 0, "nodes": 1}, {"index": 1, "nodes": 4}]}
    made = rule(each="socket in sockets", when="socket.nodes > 2", tests=[{"given": given, "expect": "finding"}])
    assert [trial.problem for trial in run_examples(made, words().scope)] == [None]


def test_a_rule_shows_when_it_fires_passes_and_cannot_tell() -> None:
    """What no example shows is named."""
    assert verdicts_without_example(rule()) == ("pass", "unknown")
