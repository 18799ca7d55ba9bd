"""Lines of jsrun: an explicit resource file, or the wrapper."""

import pytest

from advisor.errors import BadValue
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import jsrun
from advisor.jobs.placement import NodePlan, Placement
from tests.jobs.plan import node, planned, slot
from tests.model.shapes import shape

ROME = shape(2, 4, 16, 64)


def on(*hosts: tuple[str | None, int, int], cpus: tuple[str, ...] = ("0-3", "64-67")) -> Placement:
    """Return a plan of hosts alike."""
    return planned((node(ROME, *cpus),), *hosts)


def written(plan: Placement, *, wrap: bool = False) -> Launch:
    """Return the line of a plan."""
    return jsrun.launch(plan, LaunchRequest(("./app",), environment={"OMP_NUM_THREADS": "4"}, wrap=wrap))


def test_a_plan_is_an_explicit_resource_file_in_the_kernels_numbers() -> None:
    """Each rank a resource set, hosts by their names; ranks without names are on the first host."""
    made = written(on(("a", 0, 2), ("b", 0, 1)))
    assert made.argv[:3] == ("jsrun", "--erf_input", "erf")
    assert list(made.files["erf"]()) == [
        "cpu_index_using: physical",
        "overlapping-rs: warn",
        "launch_distribution: packed",
        "rank: 0: { hostname: a; cpu: {0-3} ; mem: * }",
        "rank: 1: { hostname: a; cpu: {64-67} ; mem: * }",
        "rank: 2: { hostname: b; cpu: {0-3} ; mem: * }",
    ]
    assert "rank: 0: { host: 1; cpu: {0-3} ; mem: * }" in list(written(on((None, 0, 2))).files["erf"]())


def test_sets_that_share_cpus_are_allowed_to() -> None:
    """The default is an error."""
    assert list(written(on((None, 0, 2), cpus=("0-3", "2-5"))).files["erf"]())[1] == "overlapping-rs: allow"


def test_hosts_with_other_cpus_need_no_wrapper() -> None:
    """The file says each host's own."""
    plan = planned((node(ROME, "0-3"), node(ROME, "4-7")), ("a", 0, 1), ("b", 1, 1))
    rows = list(written(plan).files["erf"]())
    assert rows[3:] == ["rank: 0: { hostname: a; cpu: {0-3} ; mem: * }", "rank: 1: { hostname: b; cpu: {4-7} ; mem: * }"]


def test_the_wrapper_gets_whole_hosts_and_all_gpus_where_ranks_have_some() -> None:
    """One resource set a host; jsrun binds nothing in it."""
    plan = on(("a", 0, 2), ("b", 0, 2))
    line = " ".join(written(plan, wrap=True).argv)
    assert line.startswith("jsrun -n 2 -r 1 -a 2 -c ALL_CPUS -b none -d packed -E OMP_NUM_THREADS=4 sh bind-wrapper.sh")
    places = tuple(
        slot(ROME, cpus).model_copy(update={"gpu": gpu}) for cpus, gpu in (("0-3", "0004:04:00.0"), ("4-7", "0035:03:00.0"))
    )
    gpus = planned((NodePlan(topology=ROME, slots=places),), (None, 0, 2))
    assert written(gpus).argv[7:9] == ("-g", "ALL_GPUS")
    with pytest.raises(BadValue, match="same number of ranks in every resource set"):
        written(on(("a", 0, 2), ("b", 0, 1)), wrap=True)


def test_the_wrapper_finds_its_rank_in_the_variables_of_jsrun() -> None:
    """JSM_NAMESPACE_RANK and JSM_NAMESPACE_LOCAL_RANK."""
    script = "\n".join(written(on((None, 0, 2)), wrap=True).files["bind-wrapper.sh"]())
    assert ["${JSM_NAMESPACE_RANK:-" in script, "${JSM_NAMESPACE_LOCAL_RANK:-" in script] == [True, True]
