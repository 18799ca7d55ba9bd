import pytest

from advisor.advice.judge.case import Adapter, Case, Standing
from advisor.advice.judge.rule import BIOS, env_of, setting_readers, settings_in_effect
from advisor.advice.know.vendors import settings as vocabulary
from advisor.advice.model.sheets import Reading, Setting
from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, IdleState
from advisor.machine.machine import Kernel
from tests.judge.made import SETTINGS


def settings(*ways: str) -> dict[str, Setting]:
    """Return a setting that is read in these ways."""
    read = tuple(Reading(value=way, sure="high", how=f"way {at}") for at, way in enumerate(ways))
    return {"cpu.boost": SETTINGS["cpu.boost"].model_copy(update={"read": read})}


KERNEL = Case(kernel=Kernel(thp="always", numa_balancing=0, irqbalance=True))


@pytest.mark.parametrize(
    ("ways", "value", "how"),
    [
        (("kernel.irqbalance",), "on", "way 0"), (("kernel.numa_balancing + 1.0",), "1", "way 0"),
        (("kernel.release", "'off'"), "off", "way 1"),
        (("1 / kernel.numa_balancing", "kernel.thp"), "always", "way 1"),
    ],
)  # fmt: skip
def test_the_first_way_that_tells_counts(ways: tuple[str, ...], value: str, how: str) -> None:
    """A way that cannot tell, or cannot be computed, gives place to the next."""
    known = settings(*ways)
    (only,) = settings_in_effect(KERNEL, known, setting_readers(known), {}, {})
    assert (only.value, only.how, only.seen) == (value, how, value)


def test_the_bios_is_believed_where_the_system_shows_nothing() -> None:
    """What the system shows is in effect; the BIOS's word and what is pending stand beside it."""
    shown = settings("'on'")
    (seen,) = settings_in_effect(KERNEL, shown, setting_readers(shown), {"cpu.boost": "off"}, {"cpu.boost": "on"})
    assert (seen.value, seen.seen, seen.applied, seen.pending) == ("on", "on", "off", "on")
    hidden = settings("unknown")
    (told,) = settings_in_effect(KERNEL, hidden, setting_readers(hidden), {"cpu.boost": "off"}, {})
    assert (told.value, told.sure, told.how, told.seen) == ("off", "high", BIOS, None)
    assert settings_in_effect(KERNEL, hidden, setting_readers(hidden), {}, {}) == ()


def test_a_wrong_way_is_refused() -> None:
    """An expression that does not fit names what it misses."""
    with pytest.raises(BadValue, match="column 1: there is no fact kernl"):
        setting_readers(settings("kernl.thp"))


def test_settings_are_values_of_their_kind() -> None:
    """A number is a number; a word in place of a number tells none."""
    told = [("numa.nps", "4"), ("os.memlock", "auto"), ("cpu.boost", "on")]
    case = Case(standings=tuple(Standing(name=name, title=name, value=value) for name, value in told))
    assert env_of(case, SETTINGS)["setting"] == {"numa": {"nps": 4}, "os": {}, "cpu": {"boost": "on"}}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("force_relax", "force_relax"), "on"),
        (("per_mkey", "per_mkey"), "off"),
        (("per_mkey", "force_relax"), None),
        ((None,), None),
    ],
)
def test_an_option_of_adapters_firmware_stands_as_all_of_them_tell(words: tuple[str | None, ...], value: str | None) -> None:
    """Where they differ, or nobody was root, nothing is said."""
    cards = tuple(
        Adapter(name=f"mlx5_{at}", firmware_options=None if word is None else {"PCI_WR_ORDERING": word})
        for at, word in enumerate(words)
    )
    found = settings_in_effect(Case(adapters=cards), vocabulary(), setting_readers(vocabulary()), {}, {})
    assert {each.name: each.value for each in found}.get("fabric.relaxed_ordering") == value


def _shown(case: Case, setting: str) -> tuple[str | None, str | None] | None:
    """Return what a setting of the product's own is said to be set to, and how surely."""
    own = {setting: vocabulary()[setting]}
    standing = next(iter(settings_in_effect(case, own, setting_readers(own), {}, {})), None)
    return None if standing is None else (standing.value, standing.sure)


@pytest.mark.parametrize(
    ("driver", "begins", "options", "expected"),
    [
        ("intel_idle", True, (), ("off", "high")),
        ("intel_idle", True, (("intel_idle.states_off", "8"),), ("on", "low")),
        ("intel_idle", False, (), ("on", "medium")),
        ("intel_idle", None, (), ("on", "low")),
        ("acpi_idle", None, (), ("on", "high")),
    ],
)
def test_a_deep_state_that_intel_idle_lists_is_no_proof_of_the_bios(
    driver: str, begins: bool | None, options: tuple[tuple[str, str], ...], expected: tuple[str, str]
) -> None:
    """The driver lists C6 from its own table, and begins with it switched off where the firmware's _CST lacks it."""
    c1e = IdleState(name="C1E", latency=10, disabled=CpuSet(), off_by_default=False)
    deep = IdleState(name="C6", latency=133, disabled=CpuSet(), off_by_default=begins)
    case = Case(cpu=Cpu(idle_driver=driver, idle_states=(c1e, deep)), kernel=Kernel(cmdline=options))
    assert _shown(case, "power.cstates") == expected


@pytest.mark.parametrize(
    ("biases", "expected"),
    [((6,), None), ((0,), ("performance", "medium")), ((4,), ("balanced-performance", "medium")), ((15,), ("power", "medium"))],
)
def test_an_energy_bias_of_6_is_the_kernels_word(biases: tuple[int, ...], expected: tuple[str, str] | None) -> None:
    """The kernel writes 6 where it finds 0 at the first look, so that 6 says nothing of the BIOS."""
    assert _shown(Case(cpu=Cpu(epb=biases)), "power.energy_bias") == expected
