import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Limits, Machine
from advisor.machine.sources import system as process
from tests.collect.os_host import FakeHost, covered

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            unlimited            unlimited            bytes
Max open files            20000                524288               files
Max locked memory         8388608              unlimited            bytes
"""
STATUS = (
    "Name:\tadvisor\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7,64-71\nMems_allowed:\t00000000,00000001\nMems_allowed_list:\t0\n"
)


def host(**files: str) -> FakeHost:
    """Return a machine with these files of /proc/self."""
    return FakeHost({f"/proc/self/{name}": text for name, text in files.items()})


def test_limits_affinity_and_cgroup_are_read() -> None:
    """Unlimited is -1, and the sets are those the kernel allows this process."""
    machine = host(limits=LIMITS, status=STATUS, cgroup="0::/system.slice/slurmstepd.scope/job_7\n")
    expected = Limits(
        memlock=8388608,
        stack=-1,
        files=20000,
        affinity=CpuSet.parse("0-7,64-71"),
        memory_nodes=CpuSet([0]),
        cgroup="/system.slice/slurmstepd.scope/job_7",
    )
    assert expected == process.collect_process(machine).limits
    assert all(covered(path, process.PROCESS_PATHS) for path in machine.asked)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9:name=systemd:/\n3:cpuset:/slurm/uid_0/job_7\n0::/x\n", "/slurm/uid_0/job_7"),
        ("5:cpuset,cpu:/a:b\n", "/a:b"),
        ("0::/user.slice\n", "/user.slice"),
        ("2:memory:/m\n", None),
        (None, None),
    ],
)
def test_the_cpuset_hierarchy_counts_before_the_unified_one(text: str | None, expected: str | None) -> None:
    """On cgroup v1 the cpuset line says where the CPUs come from; on v2 there is one line."""
    assert expected == process.cgroup_path(text)


def test_nothing_kept_is_one_gap() -> None:
    """A lone hwloc XML gives one gap for the section."""
    machine = process.collect_process(FakeHost(otherwise=Why.NOT_KEPT))
    expected = (None, ["limits"])
    assert expected == (machine.limits, [gap.fact for gap in machine.gaps])


def test_a_part_is_not_the_whole() -> None:
    """A root that kept only the status gives the sets, and gaps for the rest."""
    machine = process.collect_process(host(status=STATUS))
    assert {"limits.memlock", "limits.cgroup"} == {gap.fact for gap in machine.gaps}


def test_a_broken_list_is_a_gap() -> None:
    """A list that is none is named, not raised."""
    machine = process.collect_process(host(limits=LIMITS, status="Cpus_allowed_list:\t7-3\n"))
    assert machine.limits is not None
    expected = (None, True)
    assert expected == (machine.limits.affinity, any("7-3" in gap.why for gap in machine.gaps))


@given(st.text(), st.text(), st.text())
def test_any_text_is_survived(limits: str, status: str, cgroup: str) -> None:
    """No content of the files stops the source."""
    assert isinstance(process.collect_process(host(limits=limits, status=status, cgroup=cgroup)), Machine)
