from advisor.plan.registry import moved, settle, static
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


def test_values_of_one_attribute_are_choices_where_the_registry_does_not_join_them() -> None:
    """Two equalities of one attribute can never both hold: either is meant; conditions of two attributes must both hold."""
    known = registry(
        [choice("A", "1", "2", "3"), choice("B", "on", "off"), choice("T", "x", "y")],
        [
            depends("T", "ReadOnly", True, ("A", "EQU", "1"), ("A", "EQU", "2")),
            depends("T", "Hidden", True, ("A", "EQU", "1"), ("B", "EQU", "on")),
            depends("T", "GrayOut", True, ("A", "EQU", "3"), ("B", "EQU", "on"), joined="OR"),
        ],
    )
    assert settle(known, {"A": "2", "B": "off"}, {}).refuses("T") == ("ReadOnly",)
    assert settle(known, {"A": "1", "B": "off"}, {}).refuses("T") == ("ReadOnly",)
    assert settle(known, {"A": "3", "B": "off"}, {}).refuses("T") == ("GrayOut",)
    assert set(settle(known, {"A": "1", "B": "on"}, {}).refuses("T")) == {"ReadOnly", "GrayOut", "Hidden"}


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
