from itertools import permutations

import pytest

from advisor.advice.checklist_page import closing, undo_lines, untouched
from advisor.advice.know.vendors import vendors
from advisor.advice.plan.draft import moved, settle, static
from tests.know.listed import asks
from tests.plan.made import DELL, PROFILE, change, choice, depends, plan, registry, written


def test_a_flag_that_a_dependency_can_raise_tells_the_moment_not_the_nature() -> None:
    """ProcC1E is read-only at Performance, and free at Custom, whatever the registry states of it."""
    assert settle(PROFILE, DELL, {}).refuses("ProcC1E") == ("ReadOnly",)
    assert settle(PROFILE, DELL, {"SysProfile": "Custom"}).refuses("ProcC1E") == ()
    assert (static(PROFILE, "ProcC1E"), static(PROFILE, "Frozen")) == ((), ("Immutable",))


def test_what_changes_along_is_told_without_what_is_contradicted_before() -> None:
    """A profile moves C-states; what the dependencies contradict without any wish is no side effect of one."""
    present = {**DELL, "SysProfile": "Custom", "ProcCStates": "Enabled"}
    assert moved(PROFILE, present, {"SysProfile": "PerfOptimized"}) == {"ProcCStates": "Disabled"}
    assert moved(PROFILE, {**DELL, "ProcCStates": "Enabled"}, {"LogicalProc": "Disabled"}) == {}


def test_what_two_dependencies_want_to_be_different_is_not_known() -> None:
    """Neither the one that comes first in the registry nor the last is believed, and what hangs on it is not known either."""
    about = [choice(name, "on", "off") for name in ("A", "B", "X", "Y")]
    rules = [
        depends("X", "CurrentValue", "on", ("A", "EQU", "on")),
        depends("X", "CurrentValue", "off", ("B", "EQU", "on")),
        depends("Y", "CurrentValue", "on", ("X", "EQU", "on")),
    ]
    present = {"A": "off", "B": "off", "X": "off", "Y": "off"}
    both = {"A": "on", "B": "on"}
    for listed in permutations(rules):
        known = registry(about, list(listed))
        after = settle(known, present, both)
        assert (after.values, set(after.contradicted["X"])) == ({**both, "X": None, "Y": None}, {"on", "off"})
        assert moved(known, present, both) == {"X": None, "Y": None}
        assert moved(known, present, {"A": "on"}) == {"X": "on", "Y": "on"}


def test_conditions_are_joined_as_each_maker_writes_it() -> None:
    """Dell says nothing and means any; HPE writes the operator to those before, Lenovo that to the next, Supermicro postfix."""
    on = [("A", "EQU", "on"), ("B", "EQU", "on"), ("C", "EQU", "on")]
    written = {
        "dell": (None, None, None),
        "hpe": (None, "AND", "OR"),
        "lenovo": ("AND", "OR", None),
        "supermicro": (None, None, "OR,AND"),
    }
    states = {"only a": ("on", "off", "off"), "a and b": ("on", "on", "off"), "only c": ("off", "off", "on")}
    told = {
        maker: [name for name, state in states.items() if _locks(on, how, dict(zip("ABC", state, strict=True)))]
        for maker, how in written.items()
    }
    assert told == {
        "dell": ["only a", "a and b", "only c"],
        "hpe": ["a and b", "only c"],
        "lenovo": ["a and b", "only c"],
        "supermicro": ["a and b"],
    }


@pytest.mark.parametrize(
    ("text", "expression", "fits"),
    [
        ("10.1.2.3", r"^(\d{1,3}\.){3}\d{1,3}$", True),
        ("Banana", r"^(\d{1,3}\.){3}\d{1,3}$", False),
        ("a" * 40, "^a{1,30}$", False),
        ("a" * 30, "^(a+)+$", False),
        ("a" * 5, "^(?:a{2,}b|a{5})$", True),
        ("a", "(", False),
        ("a", "a" * 3000, False),
    ],
)
def test_a_text_must_match_its_expression(text: str, expression: str, fits: bool) -> None:
    """A text outside the expression or the length is not taken; nor is one that only an endless search could judge."""
    about = {"AttributeName": "T", "Type": "String", "MinLength": 1, "MaxLength": 30, "ValueExpression": expression}
    assert registry([about]).attributes["T"].takes(text) is fits


def _locks(terms: list[tuple[str, str, str]], how: tuple[str | None, ...], present: dict[str, str]) -> bool:
    """Return whether terms that are joined in some way make T read-only."""
    rule = depends("T", "ReadOnly", True, *terms)
    for term, joined in zip(rule["Dependency"]["MapFrom"], how, strict=True):
        term["MapTerms"] = joined
    known = registry([choice(name, "on", "off") for name in "ABCT"], [rule])
    return settle(known, present, {}).refuses("T") == ("ReadOnly",)


def test_conditions_in_the_menus_words_are_understood() -> None:
    """A file that holds ValueDisplayNames is judged by the registry's own names."""
    present = {**DELL, "SysProfile": "Performance"}
    assert settle(PROFILE, present, {}).refuses("ProcC1E") == ("ReadOnly",)


def test_a_write_that_another_makes_read_only_is_refused() -> None:
    """Node interleaving locks sub-NUMA clusters: the plan does not write both, and says which stands in the way."""
    findings = [asks("snc", "cpu.snc", "snc2", severity="high")]
    bios = {**DELL, "NodeInterleave": "Enabled"}
    made = plan(findings, {"cpu.snc": "off"}, bios=bios, registry=PROFILE)
    assert (written(made), made.refused[0].reason) == ([], "the attribute registry makes it ReadOnly")


def test_a_write_comes_before_what_it_frees() -> None:
    """Interleaving off frees the clusters, so it goes first, whatever order the findings have."""
    findings = [asks("snc", "cpu.snc", "snc2", severity="high"), asks("nodes", "memory.node_interleave", "off", severity="low")]
    bios = {**DELL, "NodeInterleave": "Enabled"}
    made = plan(findings, {"cpu.snc": "off", "memory.node_interleave": "on"}, bios=bios, registry=PROFILE)
    assert written(made) == [("NodeInterleave", "Disabled"), ("SubNumaCluster", "2-Way")]


def test_what_moves_along_is_named_and_goes_back() -> None:
    """A change names what the registry moves with it, and puts back what does not go back by itself."""
    known = registry(
        [choice("NodeInterleave", "Enabled", "Disabled"), choice("SubNumaCluster", "2-Way", "Disabled")],
        [depends("SubNumaCluster", "CurrentValue", "Disabled", ("NodeInterleave", "EQU", "Disabled"))],
    )
    bios = {"NodeInterleave": "Enabled", "SubNumaCluster": "2-Way"}
    made = plan([asks("n", "memory.node_interleave", "off")], {"memory.node_interleave": "on"}, bios=bios, registry=known)
    found = change(made, "NodeInterleave")
    assert (found.moves, [(back.attribute, back.value) for back in found.back]) == (
        ("SubNumaCluster=Disabled",),
        [("NodeInterleave", "Enabled"), ("SubNumaCluster", "2-Way")],
    )


def test_the_way_back_of_what_moves_along_is_a_line_of_the_makers_tool() -> None:
    """Every line of the way back can be pasted: also that of an attribute which the registry alone changed."""
    known = registry(
        [choice("NodeInterleave", "Enabled", "Disabled"), choice("SubNumaCluster", "2-Way", "Disabled"), choice("Odd", "A", "B")],
        [
            depends("SubNumaCluster", "CurrentValue", "Disabled", ("NodeInterleave", "EQU", "Disabled")),
            depends("Odd", "CurrentValue", "B", ("NodeInterleave", "EQU", "Disabled")),
        ],
    )
    bios = {"NodeInterleave": "Enabled", "SubNumaCluster": "2-Way", "Odd": "A"}
    made = plan([asks("n", "memory.node_interleave", "off")], {"memory.node_interleave": "on"}, bios=bios, registry=known)
    assert list(undo_lines(made, vendors()["dell"])) == [
        "racadm set BIOS.MemSettings.NodeInterleave Enabled",
        "racadm set BIOS.ProcSettings.SubNumaCluster 2-Way",
        "# set in the setup menus, because the tool's name for it is unknown: Odd=A",
    ]


def test_what_would_change_something_that_cannot_be_put_back_is_not_written() -> None:
    """A value that the registry does not allow stays as it is: a change that moves it along has no way back."""
    known = registry(
        [choice("NodeInterleave", "Enabled", "Disabled"), choice("MemOpMode", "MirrorMode")],
        [depends("MemOpMode", "CurrentValue", "MirrorMode", ("NodeInterleave", "EQU", "Disabled"))],
    )
    bios = {"NodeInterleave": "Enabled", "MemOpMode": "OptimizerMode"}
    made = plan([asks("n", "memory.node_interleave", "off")], {"memory.node_interleave": "on"}, bios=bios, registry=known)
    why = "it would change MemOpMode from OptimizerMode to MirrorMode, which could not be restored"
    assert (written(made), made.refused[0].reason) == ([], why)


def test_no_write_is_taken_back_before_the_next_one() -> None:
    """While nodes are interleaved the registry puts the clusters back to Disabled: interleaving goes off first."""
    known = registry(
        [choice("NodeInterleave", "Enabled", "Disabled"), choice("SubNumaCluster", "2-Way", "Disabled")],
        [depends("SubNumaCluster", "CurrentValue", "Disabled", ("NodeInterleave", "EQU", "Enabled"))],
    )
    findings = [asks("snc", "cpu.snc", "snc2", severity="high"), asks("nodes", "memory.node_interleave", "off", severity="low")]
    bios = {"NodeInterleave": "Enabled", "SubNumaCluster": "Disabled"}
    made = plan(findings, {"cpu.snc": "off", "memory.node_interleave": "on"}, bios=bios, registry=known)
    assert written(made) == [("NodeInterleave", "Disabled"), ("SubNumaCluster", "2-Way")]


def test_a_name_that_the_registry_has_is_verified_by_it() -> None:
    """Whatever the sheet's evidence covers: of 17G with P-cores no firmware was seen, and this server's registry is at hand."""
    wish = asks("boost", "power.boost", "on")
    bios, known = {"ProcTurboMode": "Disabled"}, registry([choice("ProcTurboMode", "Enabled", "Disabled")])
    made = [plan([wish], {}, platform="granite-rapids", bios=bios, registry=each) for each in (None, known)]
    assert [(each.changes[0].verified, "name not verified against a registry" in each.changes[0].why) for each in made] == [
        (False, True),
        (True, False),
    ]


def test_a_script_that_writes_nothing_points_to_its_comments_only_where_there_are_any() -> None:
    """With nothing left out nothing is needed; what is to be looked up is named, with the one command that reads it."""
    empty, unknown = plan([]), plan([asks("boost", "power.boost", "on")])
    assert list(closing(empty)) == ["advisor: nothing to write: no finding needs this file"]
    assert list(closing(unknown)) == [
        "advisor: nothing to write: no finding needs this file; the comments below say what is not written, and why"
    ]
    ((heading, lines),) = untouched(unknown)
    assert (heading.partition(":")[0], lines[-1]) == ("Check first", f"read all at once: {unknown.look_up_with}")
