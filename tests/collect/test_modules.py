"""Modules that MPI copies with, and switches of the kernel."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hosts.base import Why
from advisor.machine.machine import Kernel
from advisor.machine.sources.system import MODULES_PATHS, collect_modules
from tests.collect.os_host import FakeHost, covered

YAMA = "/proc/sys/kernel/yama/ptrace_scope"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\nGCC version: 12\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\n"


def test_loaded_modules_and_switches_are_told() -> None:
    """XPMEM is loaded, KNEM is not; the switches are numbers."""
    files = {
        "/sys/module/xpmem/refcnt": "0",
        YAMA: "1\n",
        "/proc/sys/kernel/nmi_watchdog": "1\n",
        "/sys/kernel/mm/ksm/run": "0\n",
    }
    assert collect_modules(FakeHost(files)).kernel == Kernel(modules=("xpmem",), ptrace_scope=1, nmi_watchdog=1, ksm=0)


def test_a_kernel_without_yama_and_ksm_has_them_off() -> None:
    """The file is not there because there is nothing to switch."""
    found = collect_modules(FakeHost({}))
    assert found.kernel == Kernel(modules=(), ptrace_scope=0, nmi_watchdog=0, ksm=0)
    assert "not present" in next(s.where for s in found.sources if s.fact == "kernel.ptrace_scope")


def test_a_capture_that_did_not_look_tells_nothing() -> None:
    """Unknown, with the reason, and not absent."""
    found = collect_modules(FakeHost({}, otherwise=Why.NOT_KEPT))
    assert found.kernel is None
    assert {gap.fact for gap in found.gaps} == {"kernel.modules", "kernel.ptrace_scope", "kernel.nmi_watchdog", "kernel.ksm"}


@pytest.mark.parametrize(("text", "expected"), [(OPEN, True), (CLOSED, False), ("", None), ("garbage", None)])
def test_nvidias_open_module_is_told_from_the_closed_one(text: str, expected: bool | None) -> None:
    """Its version says so."""
    kernel = collect_modules(FakeHost({"/proc/driver/nvidia/version": text})).kernel
    assert kernel is not None
    assert kernel.nvidia_open is expected


@given(st.text())
def test_no_content_makes_the_reader_fail(text: str) -> None:
    """Whatever stands in the files, there is an answer."""
    assert collect_modules(FakeHost(dict.fromkeys(MODULES_PATHS, text))).gaps is not None


def test_a_capture_keeps_what_is_read() -> None:
    """Every file asked for is among the patterns."""
    host = FakeHost({})
    collect_modules(host)
    assert [path for path in host.asked if not covered(path, MODULES_PATHS)] == []
