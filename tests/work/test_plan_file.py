"""The plan of a job, as it is written and as it is read: nothing is lost in between."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.jobs.bind_page import plan_lines, rank_texts
from advisor.jobs.observe import PlannedRank, planned_ranks
from advisor.jobs.placement import Placement
from advisor.jobs.started.hosts import (
    FoldedPlan,
    HostRanks,
    PlannedNode,
    PlannedSlot,
    expand,
    fold,
    folded_hosts,
    folded_in_order,
    plan_in,
    unfolded,
)
from advisor.machine.cpuset import CpuSet
from tests.examples import examples
from tests.jobs.plan import node, planned
from tests.jobs.strategies import placements
from tests.model.shapes import shape

NAMES = st.lists(
    st.one_of(
        st.builds("{}{:0{}d}".format, st.sampled_from(["n", "r1i", "node-"]), st.integers(0, 120), st.sampled_from([1, 3])),
        st.builds("n{}-ib0.{}".format, st.integers(0, 9), st.sampled_from(["a", "b1"])),
        st.sampled_from(["login", "a.example.org", "n99999999999"]),
    ),
    min_size=1,
    max_size=30,
    unique=True,
)
NODE = PlannedNode(slots=tuple(PlannedSlot(cpus=CpuSet([cpu]), numa_nodes=(0,), memory=(0,)) for cpu in range(4)))


def read(text: str, folder: Path) -> tuple[PlannedRank, ...]:
    """Return the ranks of a plan's text."""
    (folder / "plan.json").write_text(text)
    return plan_in(str(folder / "plan.json")).ranks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for one plan after the other."""
    return tmp_path_factory.mktemp("plans")


@st.composite
def jobs(draw: st.DrawFn) -> Placement:
    """Return a placement on few hosts of any CPUs, or on many whose kinds alternate or change at random."""
    made = draw(placements())
    if made.hosts[0].name is None or draw(st.booleans()):
        return made
    names = draw(NAMES)
    kinds = draw(st.lists(st.integers(0, len(made.plans) - 1), min_size=len(names), max_size=len(names)))
    return planned(made.plans, *((name, kind, len(made.plans[kind].slots)) for name, kind in zip(names, kinds, strict=True)))


@examples(400)
@given(made=jobs(), sets=st.booleans())
def test_a_plan_is_read_as_it_was_folded(made: Placement, sets: bool, folder: Path) -> None:
    """Unfolding a folded plan gives each rank as it was placed: one node, alike and unlike hosts, kinds that alternate."""
    assert read("\n".join(plan_lines(fold(made, sets=sets))), folder) == planned_ranks(made)


@examples(200)
@given(names=NAMES, each=st.integers(1, 4))
def test_round_robin_ranks_are_unfolded(names: list[str], each: int) -> None:
    """Ranks that go to the hosts in turn are ranges with a stride, and are unfolded to each host's own."""
    size, many = len(names) * each, len(names)
    hosts = [HostRanks(name, 0, range(at, size, many)) for at, name in enumerate(names)]
    found = unfolded(FoldedPlan(nodes=(NODE,), hosts=tuple(folded_hosts(hosts))))
    assert [(one.rank, one.host, one.local) for one in found] == [
        (rank, names[rank % many], rank // many) for rank in range(size)
    ]


@examples(400)
@given(names=NAMES)
def test_folded_names_keep_their_order(names: list[str]) -> None:
    """A set of names names them all, in the order in which they were given."""
    assert expand(",".join(folded_in_order(names))) == tuple(names)


def spelt_out(ranks: Iterable[str]) -> str:
    """Return a plan in the form that has every rank for itself."""
    return f'{{"schema": "advisor-plan/1", "ranks": [{",".join(ranks)}]}}'


@examples(100)
@given(made=jobs())
def test_both_forms_say_the_same(made: Placement, folder: Path) -> None:
    """A plan that has every rank for itself, as earlier versions wrote it, gives the same ranks as the folded one."""
    folded = "\n".join(plan_lines(fold(made)))
    assert read(spelt_out(rank_texts(made)), folder) == read(folded, folder)


def large(*kinds: int) -> Placement:
    """Return a job of 128 ranks on each of 8,192 hosts, whose kinds alternate."""
    whole = shape(2, 4, 16, 128)
    orders = [range(128), range(127, -1, -1)]
    plans = tuple(node(whole, *map(str, orders[kind])) for kind in sorted(set(kinds)))
    return planned(plans, *((f"node{at:05d}", kinds[at % len(kinds)], 128) for at in range(8192)))


def test_a_million_ranks_on_alike_nodes_are_a_small_plan() -> None:
    """Of 8,192 alike nodes the plan has one's 128 slots, one set of names and one range: far below 1 MB."""
    made = fold(large(0))
    assert [(len(one.slots)) for one in made.nodes] == [128]
    assert [(one.names, one.ranks) for one in made.hosts] == [(("node[00000-08191]",), "0-1048575")]
    assert sum(len(line) + 1 for line in plan_lines(made)) < 20_000


def test_a_million_ranks_on_nodes_of_two_kinds_are_a_small_plan() -> None:
    """Where every other node is of another kind each kind is there once, and its hosts are one entry: below 1 MB."""
    made = fold(large(0, 1))
    assert [len(one.slots) for one in made.nodes] == [128, 128]
    assert [one.ranks.count(",") + 1 for one in made.hosts] == [4096, 4096]
    assert sum(len(line) + 1 for line in plan_lines(made)) < 1_000_000


def test_nodes_that_differ_in_nothing_that_a_plan_says_are_one() -> None:
    """Hosts with unlike machines and the same places share one kind of node."""
    one, other = (node(shape(1, 1, 0, cores), "0", "1") for cores in (2, 4))
    assert len(fold(planned((one, other), ("a", 0, 2), ("b", 1, 2))).nodes) == 1


def test_a_written_plan_keeps_to_its_schema() -> None:
    """The published schema holds of what is written, with hosts and without."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = FoldedPlan.model_json_schema(mode="serialization", by_alias=True)
    kind = node(shape(2, 2, 4, 8), "0", "1")
    for made in (planned((kind,), (None, 0, 2)), planned((kind,), ("a", 0, 2), ("b", 0, 1))):
        jsonschema.validate(json.loads("\n".join(plan_lines(fold(made)))), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(spelt_out(())), schema)


SLOTS = '"nodes":[{"slots":[{"cpus":"0"},{"cpus":"1"}]}]'


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (f"{SLOTS}", "hosts: is missing"),
        (f'{SLOTS},"hosts":[]', "it contains no ranks"),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"0-1"}}]', "hosts[0].names: is missing"),
        (f'{SLOTS},"hosts":[{{"node":7,"ranks":"0-1","names":null}}]', "hosts[0]: the plan has no node 7"),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"0-2","names":null}}]', "hosts[0]: it has 3 ranks for 1 hosts with 2 slots each"),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"0-2","names":["a","b"]}}]', "it has 3 ranks for 2 hosts with 2 slots each"),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"","names":["a"]}}]', "it has 0 ranks for 1 hosts with 2 slots each"),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"0","names":[]}}]', "hosts[0]: it names no host"),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"0","names":["a;b"]}}]', "hosts[0]: 'a;b' is not a host name"),
        (
            f'{SLOTS},"hosts":[{{"node":0,"ranks":"5-x","names":null}}]',
            "hosts[0]: '5-x' is not a list of rank numbers below 1048576",
        ),
        (
            f'{SLOTS},"hosts":[{{"node":0,"ranks":"1048576","names":null}}]',
            "'1048576' is not a list of rank numbers below 1048576",
        ),
        (
            f'{SLOTS},"hosts":[{{"node":0,"ranks":"0-1","names":null}},{{"node":0,"ranks":"1","names":null}}]',
            "hosts[1]: rank 1 occurs twice",
        ),
        (f'{SLOTS},"hosts":[{{"node":0,"ranks":"0-65536","names":["n[0-65535]","m1"]}}]', "hosts[0]: more than 65536 hosts"),
        ('"nodes":[{"slots":[{"cpus":"0-x"}]}],"hosts":[]', "nodes[0].slots[0].cpus: "),
        ('"nodes":[{"rank":0,"cpus":"0"}],"hosts":[]', "a plan with schema advisor-plan/2 must not list ranks one by one"),
    ],
)
def test_a_broken_plan_is_refused_with_its_place(inside: str, message: str, tmp_path: Path) -> None:
    """What contradicts itself in a folded plan is named in one line, with the file and the place in it."""
    with pytest.raises(BadInput) as refused:
        read(f'{{"schema":"advisor-plan/2",{inside}}}', tmp_path)
    assert (message in str(refused.value), str(refused.value).count("\n")) == (True, 0), str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "plan.json"))


def test_new_keys_may_come_at_any_time(tmp_path: Path) -> None:
    """A key that this version does not know does not keep it from reading a plan."""
    nodes, hosts = '[{"slots":[{"cpus":"0","new":1}],"new":2}]', '[{"node":0,"ranks":"3","names":null,"new":3}]'
    text = f'{{"schema":"advisor-plan/2","new":4,"nodes":{nodes},"hosts":{hosts}}}'
    assert read(text, tmp_path) == (PlannedRank(rank=3, host=None, local=0, cpus=CpuSet([0])),)
