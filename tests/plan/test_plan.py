from typing import Any

import pytest

from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import planned
from advisor.advice.know.vendors import vendors
from advisor.advice.model.plan import Plan
from advisor.advice.plan.make import with_plan
from advisor.machine.hardware import Bios
from tests.know.listed import asks, state, wished
from tests.plan.made import DAPC, DELL, PROFILE, change, choice, plan, reasons, registry, written


def test_a_plan_holds_what_is_known_to_differ_and_no_guide_contradicts() -> None:
    """Of a finding, an unknown, a contested one and a pass, the finding alone is written, with its way back."""
    findings = [
        asks("nps", "numa.nps", "4", severity="high"),
        asks("ccx", "numa.l3_as_node", "off", "unknown"),
        asks("order", "cpu.enumeration", "linear", severity="info"),
        asks("smt", "cpu.smt", "off", "pass"),
    ]
    made = plan(findings, {"numa.nps": "1", "cpu.enumeration": "round-robin", "cpu.smt": "off"}, platform="rome")
    assert written(made) == [("NumaNodesPerSocket", "4")]
    assert change(made, "NumaNodesPerSocket").back[0].command == "racadm set BIOS.ProcSettings.NumaNodesPerSocket 1"
    assert [each.setting for each in made.look_up] == ["numa.l3_as_node"]
    assert [each.setting for each in made.contested] == ["cpu.enumeration"]


def test_one_command_reads_all_that_is_not_known() -> None:
    """What is to be looked up first is read by one line of the maker's own tool."""
    findings = [asks("a", "cpu.smt", "off", "unknown"), asks("b", "cpu.x2apic", "on", "unknown")]
    assert plan(findings).look_up_with == (
        'for key in ProcSettings.LogicalProc ProcSettings.ProcX2Apic; do racadm get "BIOS.$key"; done'
    )
    assert plan(findings, vendor="hpe", platform="milan").look_up_with == "ilorest get ProcSMT ProcX2Apic --select Bios."
    assert plan(findings[:1], vendor="gigabyte", platform="rome").look_up_with == (
        "curl -fn --cacert BMC.pem https://BMC/redfish/v1/Systems/Self/Bios"
    )


def test_what_is_known_is_not_looked_up_again() -> None:
    """Where a rule cannot tell though the BIOS does, the line stays, and no command reads what is known."""
    made = plan([asks("a", "cpu.smt", "off", "unknown")], bios={"LogicalProc": "Enabled"})
    assert ([each.now for each in made.look_up], made.look_up_with) == (["Enabled"], None)


def test_what_is_included_is_marked() -> None:
    """--include adds unknown and contested changes, each with its mark; the way back of the first is the saved file."""
    findings = [asks("a", "cpu.smt", "off", "unknown"), asks("b", "cpu.enumeration", "linear", severity="info")]
    made = plan(findings, {"cpu.enumeration": "round-robin"}, include=("unknown", "contested"))
    assert [(each.attribute, each.marks, each.back[0].value) for each in made.changes] == [
        ("LogicalProc", ("unknown",), None),
        ("MadtCoreEnumeration", ("contested",), "RoundRobin"),
    ]


def test_what_guides_want_otherwise_is_contested_where_little_is_won() -> None:
    """A low finding that a guide contradicts is not written unasked; one of weight is, and names the guide."""
    guides = [{"says": "on", "ref": "perfspect", "otherwise": True}]
    for severity, expected in (("low", []), ("high", [("LogicalProc", "Disabled")])):
        assert written(plan([asks("a", "cpu.smt", "off", severity=severity, guides=guides)], {"cpu.smt": "on"})) == expected


def test_a_site_that_waives_a_finding_finds_nothing_written() -> None:
    """What a site accepts is told, and never changed."""
    made = plan([asks("a", "cpu.smt", "off", "waived")], {"cpu.smt": "on"})
    assert (written(made), reasons(made.by_hand)) == ([], [("LogicalProc=Disabled", "waived: the site accepts it as it is")])


def test_two_findings_that_contradict_each_other_are_both_named_and_neither_is_written() -> None:
    """Where rules of weight want different values, the plan refuses; taste yields to what is not."""
    both = [asks("a", "cpu.smt", "off", severity="high"), asks("b", "cpu.smt", "on")]
    made = plan(both, {"cpu.smt": "on"})
    assert (written(made), reasons(made.refused)) == ([], [("LogicalProc=Disabled", "a wants off, b wants on")])
    both[1] = asks("b", "cpu.smt", "on", severity="info")
    assert written(plan(both, {"cpu.smt": "on"})) == [("LogicalProc", "Disabled")]


def test_two_settings_of_one_attribute_are_one_change_or_none() -> None:
    """The same value serves both settings once; different ones are refused, each naming the other."""
    now = {"io.preferred": "off", "io.preferred_bus": "1"}
    attributes = {"PreferredIOBusEnable": "Disabled", "PreferredIOBusNumber": 1}
    findings = [asks("on", "io.preferred", "on"), asks("bus", "io.preferred_bus", "65")]
    made = plan(findings, now, "hpe", "milan", bios=attributes)
    assert written(made) == [("PreferredIOBusEnable", "Enabled"), ("PreferredIOBusNumber", 65)]


def test_what_the_file_has_not_is_never_written() -> None:
    """An attribute that the BIOS lacks, has no value for or calls not available is told as not on this machine."""
    findings = [
        asks(each, each, value) for each, value in (("cpu.smt", "off"), ("cpu.x2apic", "on"), ("cpu.enumeration", "linear"))
    ]
    bios: dict[str, Any] = {"LogicalProc": None, "MadtCoreEnumeration": "NotAvailable"}
    made = plan(findings, {"cpu.smt": "on"}, bios=bios)
    assert (written(made), sorted(reasons(made.absent))) == (
        [],
        [
            ("LogicalProc=Disabled", "the BIOS reports no value for it"),
            ("MadtCoreEnumeration=Linear", "the BIOS reports NotAvailable"),
            ("ProcX2Apic=Enabled", "it is not among the given BIOS attributes"),
        ],
    )


def test_what_the_registry_does_not_allow_is_never_written() -> None:
    """A value that the registry lacks, an attribute that it lacks and one that nothing ever unlocks are left, with the reason."""
    known = registry([choice("LogicalProc", "Enabled"), choice("ProcX2Apic", "Enabled", "Disabled", Immutable=True)])
    findings = [asks("a", "cpu.smt", "off"), asks("b", "cpu.x2apic", "on"), asks("c", "cpu.enumeration", "linear")]
    made = plan(
        findings, bios={"LogicalProc": "Enabled", "ProcX2Apic": "Disabled", "MadtCoreEnumeration": "RoundRobin"}, registry=known
    )
    assert (written(made), sorted(reasons(made.absent))) == (
        [],
        [
            ("LogicalProc=Disabled", "Disabled is not a legal value of LogicalProc on this machine"),
            ("MadtCoreEnumeration=Linear", "the attribute registry does not list it"),
            ("ProcX2Apic=Enabled", "it is immutable according to the attribute registry"),
        ],
    )


@pytest.mark.parametrize("now", ["Round Robin", "RoundRobin"], ids=["menu", "own"])
def test_a_value_is_written_by_name_and_goes_back_by_name(now: str) -> None:
    """Tools take the registry's names; a file in the menu's words is answered in them no more than one in names."""
    known = registry([choice("MadtCoreEnumeration", "RoundRobin=Round Robin", "Linear=Linear Numbering")])
    made = plan([asks("c", "cpu.enumeration", "linear")], bios={"MadtCoreEnumeration": now}, registry=known)
    assert written(made) == [("MadtCoreEnumeration", "Linear")]
    assert [each.value for change in made.writes for each in change.back] == ["RoundRobin"]


def test_a_word_of_the_menu_whose_name_nobody_has_is_not_written() -> None:
    """Without a registry the sheet has some names: of a file that shows others by their words, the rest is left to a person."""
    menu = {"SysProfile": "Performance", "MemFrequency": "Maximum Performance", "MadtCoreEnumeration": "One After Another"}
    made = plan([asks("c", "cpu.enumeration", "linear")], bios=menu)
    assert written(made) == []
    assert [why for _, why in reasons(made.refused) if "the menu's words" in why] != []


@pytest.mark.parametrize("now", ["Enable", True, 1])
def test_what_stands_at_a_value_that_the_registry_refuses_is_not_written(now: Any) -> None:
    """Such a value could not be written again, so a change of it would have no way back."""
    known = registry([choice("MadtCoreEnumeration", "RoundRobin=Round Robin", "Linear=Linear Numbering")])
    made = plan([asks("c", "cpu.enumeration", "linear")], bios={"MadtCoreEnumeration": now}, registry=known)
    why = f"it is set to {now}, which the attribute registry does not allow: the change could not be undone"
    assert (written(made), reasons(made.refused)) == ([], [("MadtCoreEnumeration=Linear", why)])


def test_a_value_in_another_spelling_than_the_registrys_has_no_way_back_either() -> None:
    """A registry that has Enabled refuses Enable: the undo would be refused after the change went through."""
    known = registry([choice("LogicalProc", "Enabled", "Disabled")])
    made = plan([asks("c", "cpu.smt", "off")], bios={"LogicalProc": "Enable"}, registry=known)
    why = "it is set to Enable, which the attribute registry does not allow: the change could not be undone"
    assert (written(made), reasons(made.refused)) == ([], [("LogicalProc=Disabled", why)])


def test_an_older_firmware_is_answered_in_its_spelling() -> None:
    """Where the file says Enable, Disable is written, not Disabled."""
    made = plan([asks("a", "cpu.smt", "off")], {"cpu.smt": "on"}, "lenovo", bios={"Processors_HyperThreading": "Enable"})
    assert written(made) == [("Processors_HyperThreading", "Disable")]


def test_a_registry_decides_kind_and_spelling() -> None:
    """An Integer takes a number where the sheet has a text, and Disable stands for Disabled where that is the registry's word."""
    known = registry([choice("LogicalProc", "Enable", "Disable"), {"AttributeName": "NumaNodesPerSocket", "Type": "Integer"}])
    findings = [asks("a", "cpu.smt", "off"), asks("b", "numa.nps", "4")]
    made = plan(findings, platform="rome", bios={"LogicalProc": "Enable", "NumaNodesPerSocket": 1}, registry=known)
    assert written(made) == [("LogicalProc", "Disable"), ("NumaNodesPerSocket", 4)]


def test_the_way_back_is_the_value_that_the_file_has() -> None:
    """The undo is word for word what stood there, not what the sheet would call it."""
    made = plan([asks("a", "cpu.smt", "off")], {"cpu.smt": "on"}, bios={"LogicalProc": "Enabled"})
    assert [(each.attribute, each.value) for each in change(made, "LogicalProc").back] == [("LogicalProc", "Enabled")]


def test_preferred_io_is_never_switched_on_without_a_bus() -> None:
    """Where the adapter's bus is known both are written; where it is not, or has no name, the line is done by hand."""
    on, bus = asks("on", "io.preferred", "on"), asks("on", "io.preferred_bus", "65")
    attributes = {"PreferredIOBusEnable": "Disabled", "PreferredIOBusNumber": 0}
    now = {"io.preferred": "off"}
    assert written(plan([on, bus], now, "hpe", "milan", bios=attributes)) == [
        ("PreferredIOBusEnable", "Enabled"),
        ("PreferredIOBusNumber", 65),
    ]
    for findings, vendor, bios in (
        ([on], "hpe", attributes),
        ([on, asks("on", "io.preferred_bus", None)], "hpe", attributes),
        ([on, bus], "dell", {"PciePreferredIoBus": "Disabled"}),
    ):
        made = plan(findings, now, vendor, "milan", bios=bios, include=("unknown", "contested"))
        assert (written(made), "it needs io.preferred_bus" in str(made.by_hand)) == ([], True)


def test_preferred_io_goes_where_its_bus_is_refused() -> None:
    """A registry that does not take the bus takes the switch out of the plan as well."""
    bus = {"AttributeName": "PreferredIOBusNumber", "Type": "Integer", "LowerBound": 0, "UpperBound": 32}
    known = registry([choice("PreferredIOBusEnable", "Enabled", "Disabled"), bus])
    findings = [asks("on", "io.preferred", "on"), asks("on", "io.preferred_bus", "65")]
    bios = {"PreferredIOBusEnable": "Disabled", "PreferredIOBusNumber": 0}
    assert written(plan(findings, {"io.preferred": "off"}, "hpe", "milan", bios=bios, registry=known)) == []


def test_a_change_brings_what_it_needs_first() -> None:
    """A slider that counts only with Manual is written behind it, and both go back."""
    bios = {"DeterminismControl": "DeterminismCtrlAuto", "PerformanceDeterminism": "PerformanceDeterministic"}
    made = plan([asks("d", "power.determinism", "power")], {"power.determinism": "performance"}, "hpe", "milan", bios=bios)
    assert written(made) == [("DeterminismControl", "DeterminismCtrlManual"), ("PerformanceDeterminism", "PowerDeterministic")]
    assert change(made, "PerformanceDeterminism").first == ("DeterminismControl",)


def test_what_counts_only_with_an_option_that_nobody_wants_is_refused() -> None:
    """A fabric P-state means nothing while APBDIS is off, and APBDIS is its own decision."""
    bios = {"ApplicationPowerBoost": "Enabled", "InfinityFabricPstate": "Auto", "WorkloadProfile": "Custom"}
    made = plan([asks("p", "fabric.pstate", "p0")], None, "hpe", "milan", bios=bios)
    assert (written(made), [each.reason for each in made.refused]) == (
        [],
        ["it takes effect only with ApplicationPowerBoost=Disabled, which no finding asks for"],
    )


def test_the_bios_that_says_so_already_is_not_written_again() -> None:
    """Where the system shows another value than the BIOS, a restart is due, and no write."""
    made = plan([asks("a", "cpu.smt", "off")], {"cpu.smt": "on"}, bios={"LogicalProc": "Disabled"})
    assert (written(made), "already has this value" in made.by_hand[0].reason) == ([], True)


def test_a_plan_dumps_and_reads_back() -> None:
    """Any command can start from the file of a plan."""
    findings = [asks("a", "cpu.smt", "off"), asks("b", "power.profile", "performance"), state("c", "bios")]
    made = plan(findings, {"cpu.smt": "on", "power.profile": "balanced"}, bios=DAPC, registry=PROFILE)
    assert len(made.writes) == 2
    assert Plan.model_validate_json(made.model_dump_json()) == made


def test_the_system_keeps_what_is_so_and_what_findings_want() -> None:
    """Of the operating system too nothing unknown or contested is written unasked, and what waives or contradicts is told."""
    findings = [
        asks("n", "os.numa_balancing", "off"),
        asks("s", "os.swappiness", "10", severity="info"),
        asks("m", "limits.memlock", "unlimited", "unknown"),
        asks("t", "os.thp", "always", "pass"),
    ]
    now = {"os.numa_balancing": "on", "os.swappiness": "60", "os.thp": "always"}
    system = plan(findings, now).system
    assert [(each.key, each.value, each.done) for each in system.kept] == [
        ("kernel.numa_balancing", "0", False),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always", True),
    ]
    assert sorted((each.setting, each.reason) for each in system.left) == [
        ("limits.memlock", "check first: its current value is unknown"),
        ("os.swappiness", "worth considering, not a fault"),
    ]
    assert system.kept[0].back == "sysctl -w kernel.numa_balancing=1"


def test_of_hardware_on_order_the_uncontested_is_written_and_the_rest_stands_beside() -> None:
    """Nothing of it is known: what matters is written over a saved file, what is low or contested is a comment."""
    findings = [
        asks("nps", "numa.nps", "4", "unknown", severity="high"),
        asks("order", "cpu.enumeration", "linear", "unknown", severity="low"),
        asks("smt", "cpu.smt", "off", "unknown", severity="info"),
        asks("swap", "os.swappiness", "10", "unknown", severity="info"),
        asks("bal", "os.numa_balancing", "off", "unknown"),
    ]
    made = plan(findings, platform="rome", order=True)
    assert [(each.attribute, each.active) for each in made.changes] == [
        ("NumaNodesPerSocket", True),
        ("MadtCoreEnumeration", False),
        ("LogicalProc", False),
    ]
    kept = sorted((each.key, each.active) for each in made.system.kept)
    assert kept == [("kernel.numa_balancing", True), ("vm.swappiness", False)]
    assert {back.value for each in made.changes for back in each.back} == {None}


def test_names_that_are_not_certain_are_left_to_hands() -> None:
    """A value only the machine tells, a state, a board's suffix and an unknown processor are told with the reason."""
    made = plan([asks("nps", "numa.nps", None, "unknown"), state("cut", "bios")], platform="milan")
    assert [each.rules for each in made.by_hand] == [("nps",), ("cut",)]
    suffixed = plan([asks("smt", "cpu.smt", "off")], vendor="supermicro", platform="sapphire-rapids")
    assert "give the BIOS attributes with --bios" in suffixed.by_hand[0].reason
    known = plan([asks("smt", "cpu.smt", "off")], {"cpu.smt": "on"}, "supermicro", "sapphire-rapids",
                 bios={"Hyper_Threading_ALL__F27F": "Enable"})  # fmt: skip
    assert written(known) == [("Hyper_Threading_ALL__F27F", "Disable")]
    assert written(plan([asks("l3", "cpu.prefetch", "on")], platform=None, bios=DELL)) == []


def test_nobody_is_asked_for_attributes_that_were_given() -> None:
    """Where the BIOS was given, what it has not is not on this machine; where several may be meant, that is said."""
    nothing = plan([asks("smt", "cpu.smt", "off")], vendor="supermicro", platform="sapphire-rapids", bios={"SNC_1A2B": "Auto"})
    assert reasons(nothing.absent) == [("off", "the BIOS attributes given have no Hyper_Threading_ALL_...")]
    two = {"Hyper_Threading_ALL__F27F": "Enable", "Hyper_Threading_ALL__F280": "Enable"}
    several = plan([asks("smt", "cpu.smt", "off")], vendor="supermicro", platform="sapphire-rapids", bios=two)
    assert reasons(several.by_hand) == [("off", "it is uncertain which of the attributes Hyper_Threading_ALL_... applies here")]


def test_a_page_gives_the_line_of_the_makers_tool_with_what_goes_first() -> None:
    """Where the tool takes several attributes in one line, what must be set first stands in it."""
    bios = Bios(attributes={"WorkloadProfile": "GeneralPowerEfficientCompute", "NumaMemoryDomainsPerSocket": "Auto"})
    findings = [asks("nps", "numa.nps", "4", severity="high")]
    checklist, wishes = wished(findings, {"numa.nps": "1"}, "milan", vendor="hpe", bios=bios)
    made = planned(checklist, wishes, vendors()["hpe"], BiosInput(bios))
    (item,) = with_plan(checklist, made, vendors()["hpe"]).items
    assert item.fix.commands == (
        "ilorest set WorkloadProfile=Custom NumaMemoryDomainsPerSocket=FourMemoryDomainsPerSocket --select Bios. --commit",
    )
    assert item.undo == "set it back to Auto"


def test_what_waits_already_is_not_written_over() -> None:
    """Somebody else's value for the next restart would be lost unseen; the very value that is wanted may be staged again."""
    now, finding = {"LogicalProc": "Enabled", "SubNumaCluster": "Disabled"}, [asks("snc", "cpu.snc", "snc2")]
    checklist, wishes = wished(finding, {"cpu.snc": "off"}, "ice-lake", vendor="dell", bios=Bios(attributes=now))
    found = []
    for waiting in ("4-Way", "2-Way"):
        bios = Bios(attributes=now, pending={"SubNumaCluster": waiting})
        made = planned(checklist, wishes, vendors()["dell"], BiosInput(bios))
        found.append((written(made), [each.reason for each in made.refused]))
    why = "SubNumaCluster=4-Way is already pending for the next restart: let it take effect or clear it first"
    assert found == [([], [why]), ([("SubNumaCluster", "2-Way")], [])]


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (
            None,
            (
                [],
                [
                    (
                        "no registry: the meaning of Rome0075 differs between boards; give its attribute registry with another "
                        "--bios"
                    )
                ],
            ),
        ),
        ("NUMA nodes per socket", ([("Rome0075", "NPS4")], [])),
        ("SVM Mode", ([], ["the attribute registry labels Rome0075 'SVM Mode' here, not 'NUMA nodes per socket'"])),
    ],
)
def test_a_code_is_written_only_where_its_registry_says_what_it_is(shown: str | None, found: tuple[Any, Any]) -> None:
    """AMI's codes are of each board's own: the next BIOS may have another option under the same one."""
    known = registry([choice("Rome0075", "NPS1", "NPS4") | {"DisplayName": shown}]) if shown else None
    wanted, bios = [asks("nps", "numa.nps", "4")], {"Rome0075": "NPS1"}
    made = plan(wanted, {"numa.nps": "1"}, "gigabyte", "rome", bios=bios, registry=known)
    assert (written(made), [each.reason for each in made.by_hand]) == found
