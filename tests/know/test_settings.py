"""The neutral vocabulary and the lines that set what Linux keeps itself."""

import ast
import re

import pytest
import yaml

from advisor.advice.know.vendors import lines_kept, lines_now, setting, settings, tuned_lines
from advisor.errors import BadValue
from advisor.paths import rules


def test_every_setting_can_be_looked_at_and_names_its_sources() -> None:
    """Each says what it breaks, and each that Linux keeps says how it is shown."""
    assert [name for name, each in settings().items() if not each.breaks or not each.sources or each.name != name] == []
    assert [name for name, each in settings().items() if each.where in ("boot", "os") and not each.show] == []
    assert [name for name, each in settings().items() if each.where == "bios" and not each.menu] == []


def test_sources_are_those_of_the_list() -> None:
    """Every source a setting cites has its entry in sources.yaml."""
    listed = set(yaml.safe_load((rules() / "sources.yaml").read_text()))
    assert [(name, source) for name, each in settings().items() for source in each.sources if source not in listed] == []


def test_groups_stand_in_the_checklists_order() -> None:
    """BIOS first, then boot, then the system: one restart serves all of a group."""
    order = ["hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job"]
    places = [order.index(each.where) for each in settings().values()]
    assert places == sorted(places)


@pytest.mark.parametrize("name", settings())
def test_readings_are_expressions_that_yield_words_of_the_setting(name: str) -> None:
    """Every reading is one expression, and each text it can yield is a value of the setting."""
    each = settings()[name]
    for reading in each.read:
        tree = ast.parse(reading.value, mode="eval").body
        assert [word for word in _yields(tree) if not each.takes(word)] == []


def _yields(tree: ast.expr) -> list[str | int]:
    if isinstance(tree, ast.IfExp):
        return [*_yields(tree.body), *_yields(tree.orelse)]
    return [tree.value] if isinstance(tree, ast.Constant) and isinstance(tree.value, str | int) else []


def test_a_wrong_name_is_told_the_right_one() -> None:
    """The error names the nearest setting."""
    with pytest.raises(BadValue, match=r"did you mean numa\.nps"):
        setting("numa.npss")


def test_a_value_is_one_of_the_settings() -> None:
    """Numbers are numbers, choices are words."""
    assert setting("numa.nps").takes(4)
    assert not setting("numa.nps").takes("4")
    assert not setting("numa.nps").takes(3)
    assert not setting("cpu.smt").takes("yes")
    assert not setting("cpu.smt").takes(True)
    assert setting("os.min_free").takes(123456789)


def test_lines_set_a_value_now() -> None:
    """Kernel values, files of /sys, services and commands each have their line."""
    assert lines_now(setting("os.numa_balancing"), "off") == ("sysctl -w kernel.numa_balancing=0",)
    assert lines_now(setting("os.thp"), "always") == ("echo always > /sys/kernel/mm/transparent_hugepage/enabled",)
    assert lines_now(setting("os.irqbalance"), "off") == ("systemctl stop irqbalance",)
    assert lines_now(setting("os.governor"), "performance") == ("cpupower frequency-set -g performance",)
    assert lines_now(setting("os.idle_states"), "all") == ("cpupower idle-set -E",)
    assert lines_now(setting("os.min_free"), 1 << 30) == ("sysctl -w vm.min_free_kbytes=1048576",)
    assert lines_now(setting("boot.iommu"), "pt") == ()


def test_lines_keep_a_value_over_the_next_start() -> None:
    """Boot options take those of the other values away first."""
    assert lines_kept(setting("boot.iommu"), "pt") == ("grubby --update-kernel=ALL --remove-args=iommu=off --args=iommu=pt",)
    assert lines_kept(setting("limits.memlock"), "unlimited") == (
        "echo '* - memlock unlimited' > /etc/security/limits.d/90-memlock.conf",
    )
    assert tuned_lines(setting("os.thp"), "madvise") == ("[vm]", "transparent_hugepages=madvise")


def test_what_is_only_found_is_never_written() -> None:
    """No line sets a mixture of governors or an unnamed clock."""
    for each in settings().values():
        for value in each.only_read:
            assert lines_now(each, value) + lines_kept(each, value) + tuned_lines(each, value) == ()


def test_hostile_texts_are_quoted() -> None:
    """A text value is one word of the shell's line."""
    assert lines_now(setting("os.tuned"), "x; reboot") == ("tuned-adm profile 'x; reboot'",)
    assert lines_kept(setting("boot.isolcpus"), "1 $(reboot)") == ("grubby --update-kernel=ALL '--args=isolcpus=1 $(reboot)'",)


def test_menus_and_texts_are_one_line() -> None:
    """Every text fits a line of the checklist."""
    texts = [text for each in settings().values() for text in (each.title, each.breaks, *each.menu, *each.values.values())]
    assert [text for text in texts if re.search(r"\n|\s{2}", text) or text != text.strip()] == []
