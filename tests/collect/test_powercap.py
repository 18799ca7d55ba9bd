"""RAPL's limits of the packages."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import PowerCap
from advisor.machine.hosts.base import Why
from advisor.machine.sources.cpu import POWERCAP_PATHS, collect_powercap
from tests.collect.os_host import FakeHost, covered

RAPL = "/sys/class/powercap"


def zone(number: str, name: str, limit: str = "205000000", **more: str) -> dict[str, str]:
    """Return the files of a zone."""
    files = {"name": name, "enabled": "1", "constraint_0_name": "long_term", "constraint_0_power_limit_uw": limit, **more}
    return {f"{RAPL}/intel-rapl:{number}/{file}": f"{text}\n" for file, text in files.items()}


def test_a_package_has_its_limits_and_the_power_it_is_made_for() -> None:
    """Watts, long term and short term."""
    more = {
        "constraint_0_max_power_uw": "205000000",
        "constraint_1_name": "short_term",
        "constraint_1_power_limit_uw": "246000000",
    }
    files = {**zone("0", "package-0", "165000000", **more), **zone("0:0", "dram"), **zone("1", "psys")}
    found = collect_powercap(FakeHost(files)).cpu
    assert found is not None
    assert found.power_caps == (PowerCap(name="package-0", enabled=True, limit=165.0, short=246.0, nominal=205.0),)


def test_amds_zones_have_no_limits() -> None:
    """They count energy alone: there is no limit, and that is known."""
    found = collect_powercap(FakeHost({f"{RAPL}/intel-rapl:0/name": "package-0\n", f"{RAPL}/intel-rapl:0/energy_uj": "1\n"})).cpu
    assert found is not None
    assert found.power_caps == ()


def test_where_nobody_looked_nothing_is_known() -> None:
    """An old capture has a gap; a machine without the driver has none of them."""
    old = collect_powercap(FakeHost({}, otherwise=Why.NOT_KEPT))
    assert (old.cpu, [gap.fact for gap in old.gaps]) == (None, ["cpu.power_caps"])
    here = collect_powercap(FakeHost({})).cpu
    assert here is not None
    assert here.power_caps == ()


def test_a_limit_of_no_limit_is_none() -> None:
    """A register full of ones is no limit of a quarter of a million watts."""
    found = collect_powercap(FakeHost(zone("0", "package-0", "262143875000"))).cpu
    assert found is not None
    assert found.power_caps == ()


@given(st.text())
def test_no_content_makes_the_reader_fail(text: str) -> None:
    """Whatever stands in the files, there is an answer."""
    files = {pattern.replace("*", "0"): text for pattern in POWERCAP_PATHS}
    files[f"{RAPL}/intel-rapl:0/name"] = "package-0"
    assert collect_powercap(FakeHost(files)).cpu is not None


def test_a_capture_keeps_what_is_read() -> None:
    """Every file asked for is among the patterns."""
    host = FakeHost(zone("0", "package-0"))
    collect_powercap(host)
    assert [path for path in host.asked if not covered(path, POWERCAP_PATHS)] == []
