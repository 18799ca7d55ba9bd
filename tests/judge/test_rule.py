from typing import Any

import pytest

from advisor.advice.judge.rule import Misplaced, WrongOverride
from tests.judge.made import found, rule


def test_let_names_values_in_order_and_a_site_may_change_them() -> None:
    """A named value may use those before it; another value of the same kind may stand for it."""
    keys: dict[str, Any] = {"let": {"most": 2, "twice": "most * 2"}, "when": "kernel.numa_balancing > twice"}
    assert [f.verdict for f in found(rule(**keys), kernel__numa_balancing=5)] == ["finding"]
    assert [f.verdict for f in found(rule({"most": "3"}, **keys), kernel__numa_balancing=5)] == ["pass"]


def test_a_word_may_be_changed_to_another() -> None:
    """A named word is any text: a site may choose another than the rule's own."""
    keys: dict[str, Any] = {"let": {"mode": "'lenient'"}, "when": "mode == 'strict' and kernel.thp == 'always'"}
    assert [f.verdict for f in found(rule({"mode": "'strict'"}, **keys), kernel__thp="always")] == ["finding"]


def test_a_record_may_have_a_short_name() -> None:
    """Facts behind a named record keep their own names."""
    made = rule(let={"cut": "layout.cut"}, when="cut.nodes_per_socket > 1")
    assert [lack.fact for lack in found(made)[0].lacks] == ["layout.cut"]
    assert [f.verdict for f in found(made, layout__cut__nodes_per_socket=4)] == ["finding"]


@pytest.mark.parametrize(
    ("override", "words"),
    [({"mots": "3"}, "did you mean most?"), ({"most": "'x'"}, "must be a number"), ({"most": "3 +"}, "not an expression")],
)
def test_a_wrong_override_is_told_from_a_wrong_rule(override: dict[str, str], words: str) -> None:
    """What a site overrides wrongly is no mistake of the rule."""
    with pytest.raises(WrongOverride) as error:
        rule(override, let={"most": 2}, when="kernel.numa_balancing > most")
    assert (error.value.inside, words in str(error.value)) == ((next(iter(override)),), True)


def test_the_place_of_a_mistake_is_named() -> None:
    """A mistake names the keys that lead to it."""
    with pytest.raises(Misplaced) as error:
        rule(guides=[{"says": "x", "ref": "dell-rome-2091"}])
    assert error.value.inside == ("guides", 0, "ref")


def test_where_comes_from_the_setting() -> None:
    """A rule that sets is mended where its setting is."""
    assert rule(set={"numa.nps": 4}, where=None, want=None, fix=None, undo=None).where == "bios"
