"""The registry of strategies."""

import pytest

from advisor.model.placement import STRATEGIES, Strategy
from advisor.place.strategies import WAYS, sentence


def test_every_strategy_is_there() -> None:
    """A job may name what the room can do, and nothing else."""
    assert sorted(WAYS) == sorted(STRATEGIES)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sentences(strategy: Strategy) -> None:
    """A strategy's explanation is one sentence."""
    text = sentence(strategy)
    assert (text[0].isupper(), text.endswith("."), text.count(". ")) == (True, True, 0)
