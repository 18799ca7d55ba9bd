"""The product's own rules, and the page that teaches a site to write one."""

import re
from pathlib import Path

import pytest

from advisor.advice.judge.rule import Rule
from advisor.advice.judge.rulebook import run_examples, verdicts_without_example
from advisor.advice.judgement import own_rules, words
from advisor.cli.main import status

RULES = own_rules().rules
README = Path(__file__).parents[1] / "rules" / "README.md"
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


@every_rule
def test_examples_come_out_as_they_say(rule: Rule) -> None:
    """Each example gives the verdict, and the words, that stand beside it."""
    assert [trial.problem for trial in run_examples(rule, words().scope) if trial.problem] == []


@every_rule
def test_examples_show_finding_pass_and_unknown(rule: Rule) -> None:
    """Each rule fires, passes and stays unknown; one that may not apply shows that too."""
    shown = {example.expect for example in rule.text.tests}
    assert verdicts_without_example(rule) == ()
    assert rule.text.only is None or "not-applicable" in shown


@every_rule
def test_sentences_end(rule: Rule) -> None:
    """The mechanism is told in whole sentences, the claim is a clause without a full stop."""
    assert (rule.text.why[-1] in ".)", rule.text.say[-1] != ".") == (True, True)


def test_ids_begin_with_their_topic() -> None:
    """A waiver tells from the id what it is about."""
    assert [rule.id for rule in RULES if not rule.id.startswith(f"{rule.topic}-")] == []


def test_topics_of_the_house_are_there() -> None:
    """Eleven topics and seventy rules or more."""
    topics = {rule.topic for rule in RULES}
    expected = {"numa", "cpu", "power", "memory", "firmware", "io", "fabric", "os", "scheduler", "mpi", "measured"}
    assert (expected - topics, len(RULES) >= 70) == (set(), True)


def test_the_rule_of_the_readme_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Copied from the page into a file, it is accepted and its examples come out, in some fifteen lines."""
    example = re.search(r"```yaml\n(- id: site-.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    file = tmp_path / "mine.yaml"
    file.write_text(example[1])
    name = example[1].split()[2]
    assert status(["rules", "test", name, "--rules", str(file)]) == 0
    assert capsys.readouterr().out == "3 of 3 examples of 1 rule as expected\n"
    assert len(re.findall(r"^  \w+:", example[1], re.MULTILINE)) <= 15


def test_the_readme_names_every_key() -> None:
    """Each key of a rule stands in the table of keys."""
    page = README.read_text()
    assert [key for key in type(RULES[0].text).model_fields if not re.search(rf"`[^`]*\b{key}\b[^`]*`", page)] == []
