import pytest

from advisor.advice.model.findings import Finding, Lack
from advisor.advice.model.plan import NOTE_FIRST, Item
from tests.know.listed import asks, listed, sample, state


def only(findings: list, now: dict[str, str] | None = None, **more: object) -> Item:  # type: ignore[type-arg]
    """Return the one line of a checklist."""
    (item,) = listed(findings, now, **more).items  # type: ignore[arg-type]
    return item


def test_groups_stand_in_the_order_of_one_visit_and_one_restart() -> None:
    """Hardware comes first, what needs the restart next, what takes effect at once last; empty groups are not there."""
    assert [group.where for group in sample().groups] == ["hardware", "bios", "boot", "os", "fabric", "scheduler"]
    assert sample().left_out == 1


def test_several_rules_of_one_setting_share_a_line() -> None:
    """Two rules that want the same make one line that names both, with the guides of both and the severity of what was found."""
    item = only(
        [asks("a", "cpu.smt", "off", "pass", severity="high"), asks("b", "cpu.smt", "off", severity="low")], {"cpu.smt": "on"}
    )
    assert (item.id, item.rules, item.severity, item.done, item.others) == ("b", ("b", "a"), "low", False, ())


def test_rules_that_want_different_values_are_shown_both() -> None:
    """Where two rules want different values, the line has the weightier one and names the other, with its source."""
    item = only([asks("a", "cpu.smt", "off", severity="high"), asks("b", "cpu.smt", "on", "unknown", refs=("suse-7001",))])
    assert item.wanted == "off"
    assert [(other.id, other.wanted, other.refs) for other in item.others] == [("b", "on", ("suse-7001",))]


@pytest.mark.parametrize(
    ("verdicts", "now", "done"),
    [
        (["pass"], None, True),
        (["pass", "unknown"], "on", None),
        (["unknown"], "off", True),
        (["pass", "finding"], "off", False),
        (["waived"], "on", False),
        (["unknown"], None, None),
    ],
)
def test_done_is_what_every_rule_is_content_with(verdicts: list[str], now: str | None, *, done: bool | None) -> None:
    """A finding or a waiver is not done, all passes are, an unknown is done only where the value is the wanted one."""
    findings = [asks(f"r{at}", "cpu.smt", "off", verdict) for at, verdict in enumerate(verdicts)]
    assert only(findings, {"cpu.smt": now} if now else {}).done is done


def test_a_value_that_satisfies_its_rule_stays() -> None:
    """A rule that is content with another value than the one it would choose leaves that value in the list."""
    item = only([asks("thp", "os.thp", "madvise", "pass")], {"os.thp": "always"})
    assert (item.done, item.now, item.wanted, item.fix.value) == (True, "always", "always", "always")


def test_a_value_that_is_not_known_has_its_menu_and_words() -> None:
    """Where no machine tells the value, the line has the menu, the hint or the rule's words, and no command."""
    item = only([asks("nps", "numa.nps", None, "unknown")], hints={"numa.nps": "the highest"})
    assert (item.wanted, item.fix.menu, item.fix.commands) == ("the highest", "Processor Settings > NUMA Nodes Per Socket", ())
    assert item.undo == NOTE_FIRST
    assert only([asks("nps", "numa.nps", None, "unknown", want="four")]).wanted == "four"


def test_other_makers_settings_and_what_the_vendor_lacks_are_left_out() -> None:
    """An Intel setting is no line of an AMD machine; what the maker does not offer is named below the list, or in its finding."""
    findings = [asks("snc", "cpu.snc", "snc2"), asks("ppt", "power.ppt", "280", "unknown"), asks("smt", "cpu.smt", "off")]
    found = listed(findings, maker="amd")
    assert [item.setting for item in found.items] == ["cpu.smt"]
    assert [line.partition(":")[0] for line in found.absent] == ["PPT (ppt)"]
    item = only([asks("ppt", "power.ppt", "280")])
    assert (item.numbers, item.fix.notes) == ((1,), ("Dell: Dell offers the TDP by name only (power.tdp)",))


def test_what_others_depend_on_comes_first() -> None:
    """The option that unlocks others stands before them, whatever its severity."""
    findings = [
        asks("boost", "power.boost", "on", severity="high"),
        asks("profile", "power.profile", "performance", severity="info"),
    ]
    found = listed(findings)
    assert [item.id for item in found.items] == ["profile", "boost"]


def test_subjects_of_a_state_stand_together() -> None:
    """A rule that fired for several things is one line that names them."""
    item = only([state("link", "fabric", subject=f"mlx5_{at}", claim=f"mlx5_{at} is slow") for at in range(5)])
    assert item.subjects == ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4")
    assert item.now == "mlx5_0 is slow; mlx5_1 is slow; mlx5_2 is slow; and 2 more"


def test_what_is_not_known_is_an_x() -> None:
    """A question mark that stands for a value becomes a blank; one that ends a question stays."""
    item = only([state("dimm", "hardware", "unknown", advice="fill socket ?, then ask: is it full?", check="lspci -s ? -vv")])
    assert (item.fix.text, item.check) == ("fill socket X, then ask: is it full?", "lspci -s X -vv")


def test_amounts_have_their_unit() -> None:
    """Bytes and watts are told with their unit."""
    item = only([asks("free", "os.min_free", "138412032")], {"os.min_free": "67584000"})
    assert (item.now, item.wanted, item.fix.value) == ("64.5 MiB", "132 MiB", "138412032")


def test_todo_leaves_out_what_is_done() -> None:
    """The short list has no line that is done and no empty group."""
    assert [item.id for item in sample().todo().items if item.done] == []
    assert "fabric" not in [group.where for group in sample().todo().groups]
    assert (sample().done, sample().unknown) == (3, 3)


def test_the_restart_is_named_once() -> None:
    """The lines that apply all BIOS changes are there once; nothing is applied where nothing is to do."""
    assert sample().apply == ("racadm jobqueue create BIOS.Setup.1-1 -r pwrcycle -s TIME_NOW -e TIME_NA",)
    assert listed([asks("smt", "cpu.smt", "off", "pass")], {"cpu.smt": "off"}).apply == ()


def test_what_was_not_measured_is_a_note_and_no_line() -> None:
    """Rules that wait for measurements ask for no box to tick; one note says with which command how many become known."""

    def waits(name: str, way: str) -> Finding:
        return state(name, "os", "unknown", lacks=(Lack(fact="measured", why="nothing was measured", help=way),))

    waiting = [waits("h", "advisor measure hpl"), waits("r1", "advisor measure --quick"), waits("r2", "advisor measure --quick")]
    made = listed([*waiting, state("b", "os", "unknown")])
    assert [item.id for item in made.items] == ["b"]
    assert made.notes[-1] == ("Nothing was measured: 2 rules need advisor measure --quick; 1 rule needs advisor measure hpl.")


def test_counters_that_nobody_looked_at_are_no_line_to_tick_off() -> None:
    """An audit looks at them; a checklist for next month has no box for what came in within a second."""
    lack = Lack(fact="watch.packages", why="not in this input", help="run advisor")
    made = listed([state("errors-heat", "hardware", "unknown", lacks=(lack,)), state("memory-set-aside", "hardware", "unknown")])
    assert [item.id for item in made.items] == ["memory-set-aside"]


def test_the_title_of_a_state_names_its_few_subjects() -> None:
    """Up to three subjects stand in the title, the wanted state first; more stand below it."""
    few = only([state("link", "fabric", want="PCIe link at full width", subject="mlx5_0")])
    many = only([state("link", "fabric", want="PCIe link at full width", subject=f"mlx5_{at}") for at in range(4)])
    assert (few.title, many.title) == ("PCIe link at full width (mlx5_0)", "PCIe link at full width")
