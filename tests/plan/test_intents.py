"""What a server is set for: one choice settles what guides dispute, and nothing that its firmware or a finding speaks against."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from advisor.advice.know.fixes import Asking, intents
from advisor.advice.know.vendors import publications
from advisor.advice.model.sheets import INTENTS, Choice
from advisor.bios.plan import load_plan, plan_bios, planned_for_before
from tests.know.listed import asks
from tests.plan.expert import SERVERS, given, outcome
from tests.plan.made import plan, reasons, written


@pytest.mark.parametrize("name", SERVERS)
def test_a_published_server_gets_what_an_expert_would_change_and_nothing_wrong(name: str) -> None:
    """For MPI each of an expert's settings is planned or left with a reason; none is missed, none is otherwise."""
    found = outcome(name, "mpi")
    assert (found.missed, found.wrong) == ((), ())
    assert all(found.left.values())


def test_of_48_settings_42_are_planned_for_mpi_and_3_without() -> None:
    """31 have a registry or firmware that was seen with the value; the others need --unchecked, for nobody can check them."""
    counts = {
        intent: tuple(
            sum(len(getattr(outcome(name, intent), part)) for name in SERVERS) for part in ("checked", "unchecked", "left")
        )
        for intent in (None, "mpi")
    }
    assert sum(len(server.wanted) for server in SERVERS.values()) == 48
    assert counts == {None: (3, 1, 35), "mpi": (31, 11, 6)}


def test_every_choice_has_a_guide_that_can_be_read() -> None:
    """Each of the six intents names its settings, and each choice the publication that asks for it."""
    assert tuple(intents()) == INTENTS
    cited = {guide.ref for each in intents().values() for many in each.settings.values() for one in many for guide in one.guides}
    assert cited - publications().keys() == set()


def test_the_first_line_says_what_a_plan_is_for_and_the_file_keeps_it(tmp_path: Path) -> None:
    """What it admits is named there, each change has its guide, and the file reads back with the same intent."""
    planned = plan_bios(given("SYS-821GE"), intent="mpi")
    text = planned.text()
    assert text.startswith(
        "# --for mpi adds 6 settings on which guides differ, each with its guide below: Hyper_Threading_ALL__F27F,"
    )
    assert text.count("# --for mpi: ") == 6
    (tmp_path / "plan.yaml").write_text(text)
    assert load_plan(tmp_path / "plan.yaml") == planned.plan
    assert planned.plan.intent == "mpi"


def test_without_an_intent_the_page_says_which_would_settle_how_many() -> None:
    """Four are left to the reader, of which the intent of this scope settles three."""
    assert "--for mpi decides 3 of the 4 settings left to you" in plan_bios(given("SYS-821GE")).notes


def test_hpes_profile_is_planned_below_256_cpus_and_says_that_the_iommu_goes_off() -> None:
    """The rule on CPUs beyond the 255th merely passes there: it vetoes nothing, and what moves along is listed."""
    planned = plan_bios(given("DL325 Gen10 Plus"), intent="mpi", unchecked=("WorkloadProfile", "ProcSMT"))
    assert planned.plan.values == {"ProcSMT": "Disabled", "WorkloadProfile": "HighPerformanceCompute(HPC)"}
    assert [planned.moves[name] for name in ("ProcAmdIoVt", "Sriov")] == [("Enabled", "Disabled")] * 2


def test_hpes_profile_yields_where_it_would_take_cpus_away_and_stays_named() -> None:
    """With 256 threads the IOMMU stays on: single settings are written, and the wish for the profile is left, with why."""
    planned = plan_bios(given("DL385"), intent="mpi")
    assert planned.plan.values["WorkloadProfile"] == "Custom"
    assert planned.plan.values["NumaMemoryDomainsPerSocket"] == "FourMemoryDomainsPerSocket"
    assert "ProcAmdIoVt" not in {*planned.plan.values, *planned.moves}
    (why,) = (each.reason for _, each in planned.left if each.setting == "power.workload_profile")
    assert why.startswith("with it cpu-beyond-255 (CPUs beyond the first 255 missing (x2APIC)).")
    custom = given("DL385")
    assert custom.bios is not None
    after = custom._replace(bios=custom.bios.model_copy(update={"attributes": {**custom.bios.attributes, **planned.plan.values}}))
    again = plan_bios(after, intent="mpi")
    assert [each.wanted for _, each in again.left if each.setting == "power.workload_profile"] == [
        "WorkloadProfile=HighPerformanceCompute(HPC)"
    ]


def test_two_settings_of_one_attribute_are_left_once() -> None:
    """Lenovo has one option for APBDIS and the P-state: one line, with the rules of both."""
    text = plan_bios(given("SR635 V3")).text()
    assert text.count("# Processors_SOCP_states=P0") == 1


def test_an_intent_sets_aside_the_rules_that_want_the_opposite() -> None:
    """For energy a balanced profile is what is asked for, and no rule speaks against it."""
    asking = Asking("energy", intents()["energy"])
    kept = asking.heard([asks("power-profile-balanced", "power.profile", "performance"), asks("boost", "power.boost", "on")])
    assert [each.id for each in kept] == ["boost"]


def test_a_finding_of_weight_is_not_overruled_by_an_intent() -> None:
    """Both are named, and neither is written."""
    chosen = asks("for-mpi", "cpu.smt", "off").model_copy(update={"topic": "intent"})
    made = plan([asks("fault", "cpu.smt", "on", severity="high"), chosen], {"cpu.smt": "auto"}, bios={"LogicalProc": "Disabled"})
    assert (written(made), len(reasons(made.refused))) == ([], 1)


def test_what_no_registry_and_no_firmware_shows_is_a_choice_that_is_not_written() -> None:
    """Without a registry a value that firmware of this generation was never seen with is left, until --unchecked names it."""
    bios = given("R6615")
    assert [each.reason for _, each in plan_bios(bios, intent="mpi").left if each.attribute == "ApbDis"] == [
        "that value was not seen in firmware of this generation: give the attribute registry with another --bios"
    ]
    assert plan_bios(bios, intent="mpi", unchecked=("SysProfile", "ApbDis", "ProcPwrPerf")).plan.values["ApbDis"] == "Enabled"


def test_a_profile_that_cannot_be_changed_keeps_what_it_holds() -> None:
    """A locked R750: each held setting says by which profile, and that this one is read-only."""
    left = {each.attribute: each.reason for _, each in plan_bios(given("R750 1.13"), intent="mpi").left}
    because = "it is read-only according to the attribute registry"
    held = f"SysProfile=PerfPerWattOptimizedDapc controls it, and for SysProfile {because}"
    assert left["ProcC1E"] == held


def test_a_plan_that_is_made_again_is_for_the_same_work(tmp_path: Path) -> None:
    """The file that it takes the place of says for what; another file, or none, says nothing."""
    place = tmp_path / "plan.yaml"
    place.write_text(plan_bios(given("DGX H100"), intent="latency").text())
    (tmp_path / "other.yaml").write_text("a: 1\n")
    assert [planned_for_before(tmp_path / name) for name in ("plan.yaml", "other.yaml", "none.yaml")] == ["latency", None, None]


def test_the_document_names_what_only_the_intent_asks_for() -> None:
    """For programs: the intent, and the attributes that it admits."""
    found = json.loads(json.dumps(plan_bios(given("DGX H100"), intent="mpi").document()))
    assert (found["intent"], found["admitted"]) == ("mpi", ["ProcessorHyperThreadingDisable", "PackageCState", "AltEngPerfBIAS"])


def test_a_choice_without_a_guide_is_refused() -> None:
    """Nothing is settled that nobody asks for."""
    with pytest.raises(ValidationError, match="guides"):
        Choice.model_validate({"value": "off", "guides": []})
