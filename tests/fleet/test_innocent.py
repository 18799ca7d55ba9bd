"""Nodes that differ only in what names them, or in whose DIMMs they have, are equal: judged once, one kind, no questions."""

from pathlib import Path

import pytest

from advisor.fleet.audit import audit_fleet
from advisor.fleet.fold import MODULES, digest_of, fold, masked
from advisor.machine.hardware import Bios, Nic
from advisor.machine.machine import Machine, Tool
from tests.fleet.innocent import innocents
from tests.fleet.test_essence import ONE


def test_24_nodes_with_their_own_pxe_words_and_makers_of_dimms_are_one_kind(tmp_path: Path) -> None:
    """One kind, judged once; neither drift nor split, and nobody is to be kept from jobs."""
    innocents(tmp_path, 24)
    found = audit_fleet([tmp_path])
    assert (len(found.fleet.kinds), len(found.read.distinct)) == (1, 1)
    assert (found.fleet.drift, found.fleet.split, found.fleet.exclude) == ((), (), "")
    assert {each.count for each in found.fleet.wrong} == {24}


def test_nodes_whose_dimms_are_mixed_are_one_kind_and_each_is_told_of_its_own(tmp_path: Path) -> None:
    """The finding on mixed modules names the parts of the first node that has it; nothing else sets them apart."""
    innocents(tmp_path, 12, mixed=True)
    found = audit_fleet([tmp_path])
    assert (len(found.fleet.kinds), found.fleet.drift, found.fleet.split) == (1, (), ())
    assert {each.rule for each in found.fleet.wrong if each.count != 12} <= {"memory-modules-mixed"}
    for node, judged in found.nodes.judged.items():
        claims = [each.claim for each in judged if each.rule == "memory-modules-mixed"]
        named = {part for claim in claims for part in claim.partition("DIMMs: ")[2].split(", ")}
        assert (bool(claims), [part for part in named if part not in found.nodes.folded[node].facts[MODULES].text]) == (True, [])


def test_few_nodes_with_other_dimms_are_drift_and_stay_in_jobs(tmp_path: Path) -> None:
    """One node of eleven with another maker's modules is told of, in one line; it is no reason to leave it out."""
    memory = ONE.memory
    assert memory is not None
    assert memory.dimms is not None
    other = tuple(each.model_copy(update={"maker": "Micron", "part": "36ASF2G72PZ-2G6D"}) for each in memory.dimms)
    odd = ONE.model_copy(update={"memory": memory.model_copy(update={"dimms": other})})
    for at in range(11):
        node = odd if at == 4 else ONE
        (tmp_path / f"n{at:02}.json").write_text(node.model_copy(update={"name": f"n{at:02}"}).model_dump_json())
    found = audit_fleet([tmp_path])
    (drift,) = found.fleet.drift
    assert (drift.fact, drift.nodes, drift.value) == (MODULES, "n04", "8 x Micron 36ASF2G72PZ-2G6D")
    assert (len(found.read.distinct), found.fleet.exclude) == (1, "")


def own(name: str, mac: str) -> Machine:
    """Return a node whose own names stand where nobody would look for them."""
    update = {
        "name": f"{name}.site.org",
        "tools": (Tool(name="openmpi", version="5.0.6", path=f"/nodes/{name}/mpi/bin/mpirun"),),
        "nics": (Nic(name=f"enx{mac.replace(':', '')}", address="0000:02:00.0"),),
        "bios": Bios(attributes={"SystemServiceTag": f"TAG{name}", "MemOpMode": "Optimizer", "PxeNic": f"NIC.{mac}"}),
    }
    return ONE.model_copy(update=update)


def test_names_are_no_facts_wherever_they_stand() -> None:
    """In a path, in an interface's name, in BIOS attributes: two nodes have one digest, and are folded alike."""
    one, other = own("cn01", "0c:42:a1:00:00:01"), own("cn02", "0c:42:a1:ff:00:02")
    assert digest_of(one) == digest_of(other)
    assert {name: part.digest for name, part in fold(one).parts.items()} == {
        n: part.digest for n, part in fold(other).parts.items()
    }
    assert [name for name, fact in fold(one).facts.items() if "cn01" in f"{name} {fact.text}" or "0c42a1" in name] == []


def test_the_order_of_boot_options_means_nothing() -> None:
    """A boot server that writes the same words in another order makes no other node."""
    kernel = ONE.kernel
    assert kernel is not None
    assert kernel.cmdline is not None
    turned = kernel.model_copy(update={"cmdline": kernel.cmdline[::-1]})
    assert digest_of(ONE.model_copy(update={"kernel": turned})) == digest_of(ONE)


@pytest.mark.parametrize(
    "text",
    ["5.8-1.1.2.1", "96.00.74.00.01", "0000:61:00.0", "0-9,20-29", "cn010 cn1 ucn01", "2024-01-31T06:10:00Z"],
)
def test_what_names_nobody_stays(text: str) -> None:
    """Versions, PCI addresses, lists of CPUs, and names of others are facts."""
    assert masked(text, "cn01.site.org") == text


def test_a_site_whose_rule_asks_for_a_maker_judges_each(tmp_path: Path) -> None:
    """Where a rule asks whose DIMMs a node has, makers are in what is judged."""
    rule = """
- id: site-no-hynix
  title: A maker that is called back
  severity: low
  only: known(memory.dimms)
  when: any(each.maker == "Hynix" for each in memory.dimms)
  say: it has modules that are called back
  why: They are. Indeed.
  where: hardware
  want: other modules
  fix: replace them
  check: sudo dmidecode -t memory
  undo: nothing to revert
  refs: [dell-c6525-manual]
  tests:
    - {given: {memory.dimms: [{locator: A1, size: 1, maker: Hynix}]}, expect: finding, say: called back}
    - {given: {memory.dimms: [{locator: A1, size: 1, maker: Other}]}, expect: pass}
    - {given: {}, expect: not-applicable}
"""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/site.yaml").write_text(rule)
    innocents(tmp_path / "fleet", 6)
    found = audit_fleet([tmp_path / "fleet"], site=[tmp_path / "rules"])
    having = {node for node, each in found.nodes.folded.items() if "Hynix" in each.facts[MODULES].text}
    named = {node for node, each in found.nodes.judged.items() if any(one.rule == "site-no-hynix" for one in each)}
    assert named == having != set()
