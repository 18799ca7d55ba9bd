"""Machines about which the first screen was false once, or silent: each with the screen it gets, read by somebody."""

from functools import cache

import pytest

from advisor.advice.judgement import Judgement, judged
from advisor.machine.sources.registry import collect_machine
from tests.conftest import Golden
from tests.machines.read import hosted
from tests.machines.seen import trees
from tests.test_findings import first_screen
from tests.totals import without_totals

FIXES = {
    "gb10": [],
    "x722-optane": [],
    "xeon-max-flat": [],
    "genoa-128-192": ["numa-memory-unequal", "numa-nps-below-best"],
    "r740xd-systemd-affinity": ["cpu-systemd-affinity"],
}
"""What stands under FIX, the first first."""


@cache
def judgement(name: str) -> Judgement:
    """Return what the rules say of one of them."""
    return judged(collect_machine(hosted(trees()[name], name)))


@pytest.mark.parametrize("name", sorted(FIXES))
def test_what_stands_under_fix(name: str) -> None:
    """What is unequal stands before what guides say, and nothing that is no fault stands there."""
    rules = [own[0] for own in judgement(name).audit.by_rule]
    assert [head.id for head in rules if head.severity != "info"] == FIXES[name]


@pytest.mark.parametrize("name", sorted(FIXES))
def test_the_first_screen_was_read(name: str, golden: Golden) -> None:
    """As somebody read it with a sysadmin's eyes."""
    golden(f"screens/{name}.txt", without_totals("\n".join(first_screen(judgement(name))) + "\n"))
