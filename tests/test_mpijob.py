"""The example of a job of the MPI operator: its numbers fit each other, and its line binds inside of whatever a pod gets."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.machine.cpuset import union
from tests.jobs.place.samples import machine

JOB: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "docs/examples/mpijob.yaml").read_text())["spec"]
EPYC = "epyc-nps4-smt-linear"


def container(kind: str) -> dict[str, Any]:
    """Return the one container of the launcher's or the workers' pods."""
    (found,) = JOB["mpiReplicaSpecs"][kind]["template"]["spec"]["containers"]
    return dict(found)


def test_a_worker_gets_cpus_of_its_own() -> None:
    """The static policy gives them to pods whose limits and requests are the same whole numbers alone (QoS Guaranteed)."""
    resources = container("Worker")["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["cpu"].isdecimal()


def test_ranks_slots_and_cpus_fit() -> None:
    """As many ranks as slots of all workers, and two cores of two threads for each."""
    words = container("Launcher")["command"]
    ranks, workers = int(words[words.index("-np") + 1]), JOB["mpiReplicaSpecs"]["Worker"]["replicas"]
    assert ranks == workers * JOB["slotsPerWorker"]
    assert int(container("Worker")["resources"]["limits"]["cpu"]) == JOB["slotsPerWorker"] * 2 * 2


@pytest.mark.parametrize("start", [0, 1, 2])
def test_ranks_are_bound_inside_of_any_pod(start: int) -> None:
    """By Open MPI 4.1: eight cores, wherever the kubelet takes them: each rank has two cores of the pod's, and shares none."""
    whole = machine(EPYC)
    assert whole.topology is not None
    pod = union(core.cpuset for core in whole.topology.cores[8 * start : 8 * start + 8])
    inside = whole.model_copy(update={"topology": whole.topology.model_copy(update={"allowed": pod})})
    words = container("Launcher")["command"]
    here = [*words[:1], "-np", str(JOB["slotsPerWorker"]), *words[3:]]
    found = [rank.cpus for rank in predict(parse(here, "4.1.4"), inside, {}).ranks or ()]
    assert [len(cpus or ()) for cpus in found] == [4] * JOB["slotsPerWorker"]
    assert union(cpus for cpus in found if cpus) == pod
