"""A fleet as it is found in the wild: each fault is one incident with its own words and action, and nothing else is one."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Fleet
from advisor.machine.hosts.errands import expanded
from tests.fleet.wild import DAMAGES, FAULTS, OWN, Wild, wild

SILENT = {"truncated": "truncated", "empty": "empty", "junk": "root element", "lost": "missing"}


def mistakes(made: Wild, fleet: Fleet) -> Iterator[str]:
    """Yield which faults are not named in their own words and action, and which nodes are named for nothing."""
    told: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for each in fleet.incidents:
        if each.action != "ignore" and each.count * 2 < fleet.asked:
            for node in expanded(each.nodes):
                told[node].append((each.action, each.text))
    for fault in FAULTS:
        for node in made.faults.get(fault.name, ()):
            said = told.pop(node, [])
            if len(said) != 1 or said[0][0] != fault.action or fault.says not in said[0][1]:
                yield f"{fault.name}: {said} instead of {fault.action}, {fault.says}"
    for node, damage in made.damaged.items():
        said = told.pop("cn00001" if damage == "same name twice" else node, [])
        if len(said) != 1 or SILENT.get(damage, damage) not in said[0][1]:
            yield f"{damage}: {said}"
    yield from (f"{node} is innocent: {said}" for node, said in told.items())
    if len(fleet.kinds) != len(made.kinds):
        yield f"{len(fleet.kinds)} kinds"
    yield from (f"SPLIT {each.fact}" for each in fleet.split)


def test_the_generator_holds_what_it_promises() -> None:
    """49 faults of different names, 20 innocents and more, 7 damages."""
    assert (len({each.name for each in FAULTS}), len(OWN) >= 20, len(DAMAGES)) == (49, True, 7)


def test_some_faults_and_damages_are_found_named_and_classed(tmp_path: Path) -> None:
    """Each in one incident; nobody else is named."""
    made = wild(tmp_path, 36, faults=FAULTS[::8])
    assert list(mistakes(made, audit_fleet([tmp_path]).fleet)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_all_faults_are_found_named_and_classed(tmp_path: Path, seed: int) -> None:
    """49 of 49 in two kinds of 100 nodes, 7 of 7 damages, no false alarm; kept from jobs is who has a severe one or is silent."""
    made = wild(tmp_path, 200, seed)
    fleet = audit_fleet([tmp_path]).fleet
    severe = {node for fault in FAULTS if fault.action == "drain" for node in made.faults[fault.name]}
    silent = {node for node, damage in made.damaged.items() if damage in SILENT}
    assert (list(mistakes(made, fleet)), set(expanded(fleet.exclude))) == ([], severe | silent)
