import json

from advisor.advice.audit import audit_document
from advisor.machine.hardware import Locality
from advisor.machine.machine import Machine
from advisor.show.terminal import topology_document
from tests.render import audits, made


def test_counts_are_those_of_the_cgroup_and_of_the_whole() -> None:
    """Counts are of what the process may use, as in hwloc, and of the whole beside it."""
    data = topology_document(made.confined(), made.layout())
    assert data["counts"] == {"packages": 1, "numa_nodes": 2, "l3": 2, "cores": 6, "pus": 6}
    assert data["counts_whole"] == {"packages": 2, "numa_nodes": 4, "l3": 4, "cores": 16, "pus": 16}


def test_plain_json() -> None:
    """The document is plain JSON and reads back the same."""
    data = topology_document(made.rome(), made.layout())
    assert json.loads(json.dumps(data)) == data


def test_machine_reads_back() -> None:
    """The machine in the document is the machine."""
    machine = made.rome()
    assert Machine.model_validate_json(json.dumps(topology_document(machine, made.layout())["machine"])) == machine


def test_hca() -> None:
    """An HCA has its place, why it is there, and its ports in base units."""
    data = topology_document(made.rome(), made.layout())
    assert data["hcas"] == [
        {
            "name": "mlx5_0",
            "numa_nodes": [1],
            "inferred": "its root bridge is in socket 1",
            "address": "0000:a1:00.0",
            "firmware": "16.35.4030",
            "ports": [
                {
                    "number": 1,
                    "state": "active",
                    "rate": 100_000_000_000,
                    "rate_name": "4X EDR",
                    "link_layer": "infiniband",
                    "netdev": "ib0",
                }
            ],
        }
    ]


def test_a_place_that_could_not_be_told_is_null() -> None:
    """A device without a node has null for its nodes, not an empty list, and why."""
    near = Locality(numa_nodes=(), inferred="numa_node is -1, and no neighbouring device shows its location")
    hca = made.hca("mlx5_0", "0000:a1:00.0", None).model_copy(update={"locality": near})
    data = topology_document(made.rome().model_copy(update={"hcas": (hca,)}), made.layout())
    assert (data["hcas"][0]["numa_nodes"], data["hcas"][0]["inferred"]) == (None, near.inferred)


def test_nodes() -> None:
    """A node has its CPUs as a list text, its memory in bytes, its kind and its package."""
    node = topology_document(made.gpu_memory(), made.layout())["nodes"][2]
    assert node == {"os_index": 252, "cpus": "", "near": "0-7", "memory": 16 << 30, "kind": "gpu", "package": 0}


def test_layout_and_distances() -> None:
    """What was inferred stands with its reasons, the distances with their table."""
    data = topology_document(made.gpu_memory(), made.layout())
    assert data["cut"]["why"] == ["every socket has as many nodes", "whole L3 groups"]
    assert (data["distances"]["name"], data["distances"]["nodes"]) == ("full", [0, 1, 252, 253, 254, 255])


def test_nothing_known() -> None:
    """Without a topology counts are null, not zero."""
    data = topology_document(Machine(), made.layout())
    assert (data["counts"], data["hcas"], data["nodes"]) == (None, None, [])


def test_audit() -> None:
    """An audit's document has its own schema, what was inferred and what could not be seen."""
    data = audit_document(made.rome(), made.layout(), audits.audit())
    assert (data["schema"], data["cut"]["name"], data["gaps"][0]["help"]) == ("advisor-audit/2", "NPS4", "run as root")
