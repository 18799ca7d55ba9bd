import pytest

from advisor.advice.judge.case import Case
from advisor.advice.judge.engine import Asked, Origins, answer
from advisor.advice.judge.rule import Stand, Words, check_rule, scope_with
from advisor.advice.judge.rulebook import asked_of_example
from advisor.advice.model.findings import Answer, Step
from advisor.advice.model.sheets import ExampleText, RuleText
from advisor.machine.machine import Source

ORIGINS = Origins((Source(fact="kernel.swappiness", where="/proc/sys/vm/swappiness"),), (), Case(), {})


def answers(when: str, **given: object) -> list[Answer]:
    """Return the explained verdicts of a rule with one expression on some facts."""
    text = RuleText.model_validate(
        {
            "id": "x-y",
            "title": "t",
            "severity": "low",
            "where": "os",
            "when": when,
            "say": "s",
            "why": "w",
            "want": "a",
            "fix": "f",
            "undo": "u",
            "check": "c",
            "refs": ["site"],
            "tests": [{"given": {}, "expect": "unknown"}],
        }
    )
    rule = check_rule(text, Words(scope_with(None), {}, frozenset()), Stand("x", "x.yaml", 1))
    facts = {name.replace("__", "."): value for name, value in given.items()}
    asked: tuple[Asked, ...] = asked_of_example(rule, ExampleText(given=facts, expect="pass"), scope_with(None))
    return [answer(each, ORIGINS) for each in asked]


def steps(when: str, **given: object) -> tuple[Step, ...]:
    """Return the steps of the one expression."""
    return answers(when, **given)[0].parts[0].steps


def deciding(when: str, **given: object) -> list[str]:
    """Return the parts that decided, without the whole."""
    return [step.text for step in steps(when, **given)[1:] if step.decides]


def test_every_part_has_its_value_and_place() -> None:
    """Each part stands below the whole with its value; a fact with where it was read."""
    assert [(s.depth, s.text, s.value, s.where) for s in steps("kernel.swappiness > 10", kernel__swappiness=60)] == [
        (0, "kernel.swappiness > 10", "true", None),
        (1, "kernel.swappiness", "60", "/proc/sys/vm/swappiness"),
    ]


@pytest.mark.parametrize(
    ("join", "facts", "expected"),
    [
        ("and", (60, 5), ["kernel.zone_reclaim_mode > 10"]),
        ("and", (5, 5), ["kernel.swappiness > 10", "kernel.zone_reclaim_mode > 10"]),
        ("and", (60, None), ["kernel.zone_reclaim_mode > 10"]),
        ("or", (60, 5), ["kernel.swappiness > 10"]),
        ("or", (5, 5), ["kernel.swappiness > 10", "kernel.zone_reclaim_mode > 10"]),
    ],
)
def test_what_decides(join: str, facts: tuple[int | None, int | None], expected: list[str]) -> None:
    """Of and that is false what is false decides, of or that is true what is true, of unknown what is unknown."""
    when = f"kernel.swappiness > 10 {join} kernel.zone_reclaim_mode > 10"
    found = deciding(when, kernel__swappiness=facts[0], kernel__zone_reclaim_mode=facts[1])
    assert [text for text in found if ">" in text] == expected


def test_only_the_chosen_branch_decides() -> None:
    """Of a choice the condition and the branch that was taken decide."""
    found = deciding(
        'kernel.swappiness > 10 if kernel.thp == "always" else kernel.numa_balancing == 0',
        kernel__thp="never",
        kernel__numa_balancing=1,
    )
    assert ("kernel.swappiness > 10" in found, "kernel.numa_balancing == 0" in found) == (False, True)


def test_items_that_decide_come_first() -> None:
    """Of any that is true the items that are true stand first, by name; of a long list the others are counted."""
    nodes = [{"index": at, "cores": at} for at in range(10)]
    found = steps("any(node.cores == 9 for node in nodes)", nodes=nodes)
    items = [step for step in found if step.depth == 1]
    assert (items[0].text, items[0].value, items[0].decides, items[-1].text) == ("node 9", "true", True, "and 4 more")


def test_an_item_left_out_says_so() -> None:
    """An item that a comprehension's condition leaves out is marked."""
    found = steps("any(node.cores == 1 for node in nodes if node.index > 0)", nodes=[{"index": 0, "cores": 1}])
    assert "left out" in [step.value for step in found]


def test_an_unknown_list() -> None:
    """A list that is not known is named."""
    assert "nodes" in deciding("any(node.cores == 1 for node in nodes)")


def test_trouble_is_told() -> None:
    """What cannot be computed says why."""
    assert steps("1 / kernel.swappiness > 1", kernel__swappiness=0)[0].value.startswith("error: division by zero")
