"""Ansible reads the facts of a machine and the inventory of a fleet."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.exports.formats.ansible import group_name
from advisor.exports.formats.ansible import inventory as fleet_inventory
from tests import exports
from tests.conftest import Golden
from tests.exports import text_of


def asked(tmp_path: Path, *words: str | Path) -> str:
    """Return what a command of Ansible answers on its standard output and error; its own files go to a folder of the test."""
    (tmp_path / "ansible.cfg").write_text("[defaults]\n")  # nobody's own
    home = {"HOME": str(tmp_path), "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    quiet = {"LC_ALL": "C.UTF-8", "ANSIBLE_LOCALHOST_WARNING": "False", "ANSIBLE_DEPRECATION_WARNINGS": "0"}
    status, told = exports.said(*words, **home, **quiet)
    assert status == 0, told
    return told


def test_the_facts_print_as_they_did(golden: Golden) -> None:
    """The whole file is kept as a golden text."""
    golden("machine.fact", text_of("ansible", exports.machine()))


def test_the_inventory_prints_as_it_did(golden: Golden) -> None:
    """The whole program is kept as a golden text."""
    golden("fleet-inventory.sh", text_of("ansible", exports.fleet()))


@pytest.mark.parametrize("name", ["machine", pytest.param("hostile", marks=pytest.mark.slow)])
def test_ansible_reads_the_facts(name: str, tmp_path: Path) -> None:
    """They are ansible_local.advisor: nodes per socket, findings, settings, each as it was written."""
    (tmp_path / "facts").mkdir()
    text = text_of("ansible", getattr(exports, name)())
    (tmp_path / "facts" / "advisor.fact").write_text(text)
    module = ("-m", "setup", "-a", f"filter=ansible_local fact_path={tmp_path / 'facts'}", "-o")
    told = asked(tmp_path, exports.program("ansible"), "localhost", "-c", "local", *module)
    found = json.loads(told[told.index("=> ") + 3 :])["ansible_facts"]["ansible_local"]["advisor"]
    assert (found, found["numa_nodes_per_socket"], found["sockets"]) == (json.loads(text), [4, 4], 2)


def inventory(tmp_path: Path, *words: str) -> str:
    """Return what ansible-inventory says of the fleet's program."""
    file = tmp_path / "inventory.sh"
    file.write_text(text_of("ansible", exports.fleet()))
    file.chmod(0o755)
    return asked(tmp_path, exports.program("ansible-inventory"), "-i", file, *words)


def test_ansible_reads_the_inventory(tmp_path: Path) -> None:
    """Groups by kind, finding, severity, incident and action, of those that are slow and of those that did not answer."""
    found: dict[str, Any] = json.loads(inventory(tmp_path, "--list"))
    groups = {name: each["hosts"] for name, each in found.items() if name.startswith("advisor_")}
    assert groups == {
        "advisor_kind_a": ["n001", "n002", "n003", "n004"],
        "advisor_kind_b": ["login"],
        "advisor_severity_high": ["n002", "n003"],
        "advisor_severity_info": ["login"],
        "advisor_finding_numa_nps_below_best": ["n002", "n003"],
        "advisor_finding_os_swappiness": ["login"],
        "advisor_incident_port_down": ["n001"],
        "advisor_incident_kernel_thp": ["n003", "n004"],
        "advisor_incident_silent": ["n006"],
        "advisor_action_drain": ["n001", "n006"],
        "advisor_action_watch": ["n003", "n004"],
        "advisor_slow": ["n001"],
        "advisor_silent": ["n006"],
    }


def test_a_host_has_its_kind_and_findings(tmp_path: Path) -> None:
    """Without a second call of the program: _meta holds them."""
    found = json.loads(inventory(tmp_path, "--host", "n002"))
    assert found == {"advisor_kind": "A", "advisor_findings": ["numa-nps-below-best"]}


def test_the_program_refuses_what_it_is_not_asked(tmp_path: Path) -> None:
    """--host answers for programs that ask so; anything else is a usage error."""
    file = tmp_path / "inventory.sh"
    file.write_text(text_of("ansible", exports.fleet()))
    assert (exports.said("sh", file, "--host", "n1"), exports.said("sh", file, "--odd")[0]) == ((0, "{}\n"), 2)


def test_what_is_not_known_is_null() -> None:
    """A machine without topology, adapters and a time has facts all the same, and no 0 in place of what nobody knows."""
    bare = exports.machine()
    assert bare.machine is not None
    machine = bare.machine.model_copy(update={"topology": None, "hcas": None, "gpus": None})
    found = json.loads(text_of("ansible", replace(bare, machine=machine, layout=None, read=None)))
    names = ("sockets", "cores", "cpus", "numa_nodes_per_socket", "adapters", "gpus", "audited", "partitioning")
    assert {found[name] for name in names} == {None}


def test_groups_are_letters_digits_and_underscores() -> None:
    """Ansible warns of any other."""
    assert group_name("advisor", "drift_hcas.mlx5_0.ports[1]") == "advisor_drift_hcas_mlx5_0_ports_1_"


def test_what_looks_like_a_template_is_marked_unsafe() -> None:
    """Ansible would evaluate it with the rights of whoever runs the playbook; the mark is that of its own JSON."""
    found = exports.fleet().fleet
    assert found is not None
    wrong = found.wrong[0].model_copy(update={"rule": "{{ lookup('pipe', 'id') }}"})
    variables = fleet_inventory(found.model_copy(update={"wrong": (wrong,)}), "advisor")["_meta"]["hostvars"]
    assert variables["n002"]["advisor_findings"] == [{"__ansible_unsafe": "{{ lookup('pipe', 'id') }}"}]
    assert variables["n001"]["advisor_kind"] == "A"
