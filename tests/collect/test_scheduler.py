import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Allocation, Machine, SlurmNode
from advisor.machine.sources import scheduler as software
from tests.collect.os_host import FakeHost, covered, printed

SLURMD, SCONTROL = ("slurmd", "-C"), ("scontrol", "--oneliner", "show", "node")
# Printed by Slurm 22.05.8.
DETECTED = "NodeName=vm CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=24105\nUpTime=0-00:25:46\n"


def configured(name: str, cpus: int = 128) -> str:
    """Return a line of scontrol, as Slurm 22.05 and later write it."""
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket=64 CPUAlloc=0 CPUEfctv={cpus} CPUTot={cpus} CPULoad=0.84 "
        f"AvailableFeatures=(null) Gres=gpu:2(S:0) NodeAddr={name} NodeHostName={name} Version=22.05.8 "
        "OS=Linux 4.18.0-372.19.1.el8_6.x86_64 #1 SMP Tue Aug 2 16:19:42 UTC 2022 "
        "RealMemory=257000 AllocMem=0 FreeMem=127045 Sockets=2 Boards=1 State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1\n"
    )


CONFIGURED = SlurmNode(
    source="scontrol show node",
    cpus=128,
    boards=1,
    sockets=2,
    cores_per_socket=64,
    threads_per_core=1,
    core_spec=0,
    cpu_spec=CpuSet(),
    gres="gpu",
    memory=257000 << 20,
)


def test_both_descriptions_of_the_node_are_kept() -> None:
    """What slurmd detects and what slurm.conf says stand side by side, for a rule to compare."""
    host = FakeHost(
        {"/proc/sys/kernel/hostname": "n17.cluster\n"},
        {SLURMD: printed(DETECTED), SCONTROL: printed(configured("n1") + configured("n17") + configured("n170", cpus=1))},
    )
    detected = SlurmNode(
        source="slurmd -C", cpus=2, boards=1, sockets=1, cores_per_socket=2, threads_per_core=1, memory=24105 << 20
    )
    assert (detected, CONFIGURED) == software.collect_scheduler(host).slurm_nodes
    assert all(covered(path, software.SCHEDULER_PATHS) for path in host.asked)
    assert set(host.ran) == set(software.SCHEDULER_COMMANDS)
    assert max(host.patience.values()) <= 3


def test_a_node_may_go_by_another_name() -> None:
    """Slurm's NodeName may differ from the host name, which then stands as NodeHostName."""
    line = configured("n17").replace("NodeName=n17", "NodeName=rack1-blade7")
    assert line.strip() == software.own_line(configured("n1") + line, "n17")


@pytest.mark.parametrize("host", ["", "n9", "."])
def test_other_nodes_are_not_this_one(host: str) -> None:
    """Without this host's own line there is none."""
    assert software.own_line(configured("n1") + configured("n99"), host) is None


def test_without_slurm_there_are_no_nodes() -> None:
    """Neither program on the machine is an answer."""
    assert software.collect_scheduler(FakeHost()).slurm_nodes == ()


@pytest.mark.parametrize(
    ("control", "why"),
    [
        (Ran(why=Why.TIMEOUT), "scontrol: took too long; slurmd -C: not present"),
        (
            Ran(err=b"slurm_load_node error: Unable to contact slurm controller (connect failure)\n", status=1),
            "scontrol: slurm_load_node error: Unable to contact slurm controller (connect failure); slurmd -C: not present",
        ),
        (printed(configured("n1")), "scontrol: this node is not in its list; slurmd -C: not present"),
    ],
    ids=["silent", "refused", "login node"],
)
def test_a_silent_controller_is_a_gap(control: Ran, why: str) -> None:
    """A login node, or a controller that is down, leaves the node not known."""
    machine = software.collect_scheduler(FakeHost({"/proc/sys/kernel/hostname": "login1\n"}, {SCONTROL: control}))
    assert (None, [why]) == (machine.slurm_nodes, [gap.why for gap in machine.gaps])


def test_nothing_kept_is_one_gap() -> None:
    """A lone hwloc XML gives one gap."""
    machine = software.collect_scheduler(FakeHost(otherwise=Why.NOT_KEPT))
    expected = (None, None, ["slurm_nodes"])
    assert expected == (machine.slurm_nodes, machine.allocation, [gap.fact for gap in machine.gaps])


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"OMP_NUM_THREADS": "4"}, None),
        (
            {"SLURM_JOB_ID": "77", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NTASKS": "256"},
            Allocation(scheduler="slurm", job="77", hosts="n[1-2]", tasks=256),
        ),
        ({"SLURM_JOBID": "5", "SLURM_NODELIST": "n3"}, Allocation(scheduler="slurm", job="5", hosts="n3")),
        ({"PBS_JOBID": "12.head", "PBS_NP": "64"}, Allocation(scheduler="pbs", job="12.head", tasks=64)),
        (
            {"FLUX_JOB_ID": "f7", "FLUX_JOB_SIZE": "8", "SLURM_JOB_ID": "77"},
            Allocation(scheduler="flux", job="f7", tasks=8),
        ),
        (
            {"LSB_JOBID": "3", "LSB_MCPU_HOSTS": "n1 16 n2 16", "LSB_DJOB_NUMPROC": "32", "LSB_BIND_CPU_LIST": "0-15"},
            Allocation(scheduler="lsf", job="3", hosts="n1 16 n2 16", tasks=32, cpus=CpuSet.parse("0-15")),
        ),
        ({"LSB_JOBID": "3", "LSB_BIND_CPU_LIST": "all"}, Allocation(scheduler="lsf", job="3")),
        ({"SLURM_JOB_ID": "77", "SLURM_NTASKS": "many"}, Allocation(scheduler="slurm", job="77")),
    ],
)
def test_the_environment_tells_the_job(variables: dict[str, str], expected: Allocation | None) -> None:
    """Flux counts before the scheduler it was started under; a variable that is not a number is not known."""
    assert expected == software.collect_scheduler(FakeHost(variables=variables)).allocation


@given(st.text(), st.text())
def test_any_output_is_survived(detected: str, listed: str) -> None:
    """No output stops the source."""
    host = FakeHost({"/proc/sys/kernel/hostname": "n1"}, {SLURMD: printed(detected), SCONTROL: printed("NodeName=n1 " + listed)})
    assert isinstance(software.collect_scheduler(host), Machine)
