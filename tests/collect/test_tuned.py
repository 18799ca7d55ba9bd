"""What the active tuned profile asks of waking up."""

import pytest

from advisor.machine.hosts.base import Why
from advisor.machine.machine import Kernel
from advisor.machine.sources import cpu as power
from tests.collect.os_host import FakeHost, covered

LIB, ETC = "/usr/lib/tuned", "/etc/tuned"
FILES = {
    "/run/tuned/tuned.pid": "812\n",
    f"{LIB}/throughput-performance/tuned.conf": "[cpu]\ngovernor=performance\n",
    f"{LIB}/latency-performance/tuned.conf": "[main]\n[cpu]\nforce_latency=cstate.id_no_zero:1|3\n",
    f"{LIB}/hpc-compute/tuned.conf": "[main]\ninclude=latency-performance\n[vm]\ntransparent_hugepages=always\n",
    f"{LIB}/profiles/new/tuned.conf": "[main]\ninclude = throughput-performance latency-performance\n",
    f"{LIB}/accelerator-performance/tuned.conf": "[main]\ninclude=throughput-performance\n[cpu]\nforce_latency=99 # us\n",
    f"{ETC}/ring/tuned.conf": "[main]\ninclude=ring\n",
    f"{ETC}/lost/tuned.conf": "[main]\ninclude=nowhere\n",
    f"{ETC}/hpc-free/tuned.conf": "[main]\ninclude=hpc-compute\n[cpu]\nforce_latency=none\n",
}


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        ("hpc-compute", "cstate.id_no_zero:1|3"),
        ("throughput-performance", "none"),
        ("new", "cstate.id_no_zero:1|3"),
        ("accelerator-performance", "99"),
        ("hpc-free", "none"),
        ("throughput-performance hpc-compute", "cstate.id_no_zero:1|3"),
        ("ring", None),
        ("lost", None),
        ("../../etc", None),
    ],
)
def test_force_latency_is_found_through_includes(active: str, expected: str | None) -> None:
    """hpc-compute includes latency-performance, which holds C1; a profile that cannot be followed leaves it unknown."""
    host = FakeHost({**FILES, f"{ETC}/active_profile": f"{active}\n"})
    kernel = power.collect_tuned(host).kernel
    assert (kernel.tuned_latency if kernel else None) == expected
    assert all(covered(path, power.TUNED_PATHS) for path in host.asked)


def test_a_daemon_that_does_not_run_holds_nothing() -> None:
    """The profile stays named when tuned is stopped, and the device is let go."""
    files = {**FILES, f"{ETC}/active_profile": "hpc-compute\n"}
    assert power.collect_tuned(FakeHost(files)).kernel == Kernel(tuned_latency="cstate.id_no_zero:1|3")
    del files["/run/tuned/tuned.pid"]
    assert power.collect_tuned(FakeHost(files)).kernel == Kernel(tuned_latency="none")
    # A folder of files that somebody else copied does not tell.
    assert power.collect_tuned(FakeHost(files, kind="root")).kernel == Kernel(tuned_latency="cstate.id_no_zero:1|3")


def test_a_machine_without_tuned_is_held_by_no_profile() -> None:
    """An /etc without an active profile; a host that keeps no /etc is not known."""
    kernel = power.collect_tuned(FakeHost({"/etc/os-release": "ID=rocky\n"})).kernel
    assert kernel is not None
    assert kernel.tuned_latency == "none"
    assert power.collect_tuned(FakeHost(otherwise=Why.NOT_KEPT)).kernel is None
