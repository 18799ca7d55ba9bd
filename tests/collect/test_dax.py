"""Memory that lies beside the system's, and how a processor's HBM is used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Cpu, DaxDevice, Dimm, Firmware, Memory, MemoryTier
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Machine
from advisor.machine.partitioning import hbm_mode
from advisor.machine.sources.sysfs import DAX_PATHS, collect_dax
from tests.collect.device_host import DeviceHost, uncovered
from tests.collect.os_host import FakeHost

GIB = 1 << 30
MAX = Cpu(model_name="Intel(R) Xeon(R) CPU Max 9462")
DAX = "/sys/bus/dax/devices"


def host(place: str, driver: str | None, size: str = "68719476736") -> DeviceHost:
    """Return a host with a DAX device."""
    files: dict[str, str | bytes | Why] = {f"{place}/size": size, f"{place}/target_node": "2"}
    links = {f"{DAX}/dax0.0": place}
    if driver:
        files[f"/sys/bus/dax/drivers/{driver}/bind"] = ""
        links[f"{place}/driver"] = f"/sys/bus/dax/drivers/{driver}"
    return DeviceHost(files, links, {}, "live")


@pytest.mark.parametrize(
    ("place", "driver", "kind", "use"),
    [
        ("/sys/devices/platform/hmem.0/dax0.0", "device_dax", "reserved", "device"),
        ("/sys/devices/platform/ACPI0017:00/root0/decoder0.0/cxl_region0/dax0.0", "kmem", "cxl", "system"),
        ("/sys/devices/LNXSYSTM:00/ndbus0/region0/dax0.0", None, "nvdimm", None),
    ],
)
def test_a_dax_device_tells_its_kind_and_who_uses_it(place: str, driver: str | None, kind: str, use: str | None) -> None:
    """Where it hangs tells what it is, its driver who gets it."""
    found = collect_dax(host(place, driver))
    assert found.dax == (DaxDevice(name="dax0.0", kind=kind, size=64 * GIB, node=2, use=use),)


def test_no_device_is_none_and_an_old_capture_is_unknown() -> None:
    """Looked for and not there, against never looked for."""
    assert collect_dax(FakeHost({})).dax == ()
    assert collect_dax(FakeHost({}, otherwise=Why.NOT_KEPT)).dax is None


@given(st.text())
def test_no_content_makes_the_reader_fail(text: str) -> None:
    """Whatever stands in the files."""
    (found,) = collect_dax(host("/sys/devices/platform/hmem.0/dax0.0", "kmem", text)).dax or ()
    assert found.name == "dax0.0"


def test_a_capture_keeps_what_is_read() -> None:
    """Every file asked for is among the patterns."""
    asked = host("/sys/devices/platform/hmem.0/dax0.0", "kmem")
    collect_dax(asked)
    assert uncovered(asked, DAX_PATHS) == []


def dimms(*kinds: str) -> Memory:
    """Return modules of kinds."""
    return Memory(dimms=tuple(Dimm(locator=str(number), size=GIB, kind=kind) for number, kind in enumerate(kinds)))


@pytest.mark.parametrize(
    ("machine", "mode"),
    [
        (Machine(cpu=MAX, dax=(DaxDevice(name="dax0.0", kind="reserved"),)), "flat"),
        (Machine(cpu=MAX, tiers=(MemoryTier(node=0, cache=64 * GIB),)), "cache"),
        (Machine(cpu=MAX, memory=dimms("HBM2e", "HBM2e")), "only"),
        (Machine(cpu=MAX, memory=dimms("HBM2e", "DDR5")), None),
        (Machine(cpu=MAX), None),
        (Machine(cpu=Cpu(model_name="AMD EPYC 9654"), tiers=(MemoryTier(node=0, cache=64 * GIB),)), None),
        (Machine(firmware=Firmware(memory_mode="Cache")), "cache"),
        (Machine(firmware=Firmware(memory_mode="Hybrid50")), None),
    ],
)
def test_the_mode_of_the_hbm_is_told_where_something_shows_it(machine: Machine, mode: str | None) -> None:
    """Never by the processor's name alone."""
    assert hbm_mode(machine) == mode
