"""The limits of slurmd, which are those of its jobs."""

import pytest

from advisor.machine.hosts.base import Ran
from advisor.machine.machine import Limits
from advisor.machine.sources import scheduler as slurm
from advisor.machine.sources.scheduler import SLURM
from tests.collect.os_host import FakeHost, printed

UNIT = "LoadState=loaded\nMainPID=812\nLimitMEMLOCK=infinity\nLimitSTACK=infinity\nLimitNOFILE=131072\n"
PROCESS = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max open files            1024                 524288               files
Max locked memory         8388608              8388608              bytes
"""


def limits(shown: str | None, files: dict[str, str] | None = None) -> Limits | None:
    """Return what is read where systemctl prints a text."""
    commands: dict[tuple[str, ...], Ran] = {} if shown is None else {slurm._SHOW: printed(shown)}
    return slurm.collect_slurmd(FakeHost(files, commands, live=("/proc/[0-9]*/limits",))).limits


def test_the_process_of_slurmd_tells_its_hard_limits() -> None:
    """What runs is believed before what the unit says: it may have been started before the unit was changed."""
    expected = Limits(slurmd_memlock=8388608, slurmd_stack=-1, slurmd_files=524288)
    assert limits(UNIT, {"/proc/812/limits": PROCESS}) == expected


def test_the_unit_tells_the_limits_where_the_process_is_not_kept() -> None:
    """A capture holds the unit's properties."""
    assert limits(UNIT) == Limits(slurmd_memlock=-1, slurmd_stack=-1, slurmd_files=131072)


@pytest.mark.parametrize("shown", [None, "", UNIT.replace("loaded", "not-found"), "Failed to connect to bus\n"])
def test_a_machine_without_slurmd_tells_no_limit(shown: str | None) -> None:
    """The manager prints its defaults for a unit that does not exist; those are nobody's limits."""
    assert limits(shown) is None


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ("ClusterName=x\n", ("memlock", "stack", "nofile")),
        ("PropagateResourceLimits=NONE\n", ()),
        ("PropagateResourceLimitsExcept=MEMLOCK # RDMA\n", ("stack", "nofile")),
        ("propagateresourcelimits = STACK,NOFILE\n", ("stack", "nofile")),
        ("#PropagateResourceLimits=NONE\n", ("memlock", "stack", "nofile")),
        ("PropagateResourceLimitsExcept=ALL\n", ()),
    ],
)
def test_slurm_conf_tells_which_limits_come_from_the_submitting_shell(conf: str, expected: tuple[str, ...]) -> None:
    """All of them unless slurm.conf says otherwise."""
    ran = Ran(out=f"file=read\n{conf}".encode(), status=2)
    assert slurm.collect_slurmd(FakeHost({}, {SLURM: ran})).limits == Limits(slurm_carries=expected)
