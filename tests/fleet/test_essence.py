"""Nodes that differ in what names them have one digest; one in which a verdict may differ has another."""

import random
from pathlib import Path
from typing import Any

import pytest

from advisor.fleet.fold import digest_of, fold
from advisor.machine.hosts.capture import MemoryStore
from advisor.machine.hosts.source import host_of_store, unpack
from advisor.machine.machine import Machine
from advisor.machine.sources.registry import collect_machine
from tests.fleet.planted import noise, shape


def machine(seed: int, sort: str = "haswell") -> Machine:
    """Return the machine of a node."""
    own = shape(sort)
    data = own.copy(noise(own, f"n{seed}", random.Random(seed)))  # noqa: S311 - no secret
    return collect_machine(host_of_store(MemoryStore(unpack(data, "x"), "x"), "x"))


ONE = machine(1)


def test_equal_nodes_have_one_digest_and_are_folded_alike() -> None:
    """Names, addresses, LIDs, clocks, counters and a little memory: none of them makes another node."""
    parts = [{name: part.digest for name, part in fold(each).parts.items()} for each in (ONE, machine(2))]
    assert (digest_of(ONE) == digest_of(machine(2)), machine(2) == ONE, parts[0] == parts[1]) == (True, False, True)


@pytest.mark.parametrize("sort", ["haswell cod", "haswell down", "haswell slot", "haswell dimm", "haswell bios", "naples"])
def test_another_node_has_another_digest(sort: str) -> None:
    """Another setting, port, slot, DIMM, BIOS or machine."""
    assert digest_of(machine(1, sort)) != digest_of(ONE)


@pytest.mark.parametrize(
    "update", [{"lid": 0}, {"lid": None}, {"state": "down"}, {"rate": 1}], ids=lambda update: next(iter(update.items()))[0]
)
def test_what_a_rule_asks_of_a_port_stays(update: dict[str, Any]) -> None:
    """Rules ask whether a port has a LID at all."""
    assert ONE.hcas is not None
    (hca,) = ONE.hcas
    (port,) = hca.ports or ()
    other = hca.model_copy(update={"ports": (port.model_copy(update=update),)})
    assert digest_of(ONE.model_copy(update={"hcas": (other,)})) != digest_of(ONE)


def test_a_screen_names_no_node_by_its_own_facts(tmp_path: Path) -> None:
    """No fact that is folded holds the node's name, a MAC or a serial number."""
    del tmp_path
    facts = fold(ONE).facts
    assert [name for name, fact in facts.items() if "n1" in str(fact.key).split() or "0c:42" in fact.text] == []
