"""Where ranks go on machines whose cores are of several kinds."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.placement import STRATEGIES, JobShape, Placement
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import CoreKind, Cpu
from advisor.machine.machine import Machine
from tests.examples import examples
from tests.jobs.place.samples import cpus
from tests.machines.read import published
from tests.model import shapes

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[4] / "shared" / "machines"))


def of_kinds(*kinds: tuple[str, int | None], cores: int = 20) -> Machine:
    """Return a node of two L3 groups with kinds of cores, each by its CPUs and its speed."""
    found = tuple(CoreKind(name=f"kind{at}", cpus=CpuSet.parse(listed), speed=speed) for at, (listed, speed) in enumerate(kinds))
    return shapes.machine(shapes.shape(1, 1, 2, cores), Cpu(kinds=found))


SPARK = of_kinds(("5-9,15-19", 1), ("0-4,10-14", 0))
"""As a DGX Spark numbers its cores."""


def on(machine: Machine, **job: Any) -> Placement:
    """Return the placement of a job."""
    return place(JobShape(**job), [machine])


def test_ten_ranks_take_the_ten_fast_cores() -> None:
    """Although the slow ones have the lower numbers, and both L3 groups are used."""
    assert cpus(on(SPARK, ranks=10)) == ["5", "6", "7", "8", "9", "15", "16", "17", "18", "19"]


def test_slow_cores_take_what_finds_no_room_on_fast_ones() -> None:
    """Of fourteen ranks four are on slow cores, two in each L3 group."""
    made = on(SPARK, ranks=14)
    assert sorted(set(map(int, cpus(made)))) == [0, 1, *range(5, 12), *range(15, 20)]
    assert "4 ranks on kind1; the slower ones make the others wait; --core-kind fast uses only" in " ".join(made.notes)


def test_a_rank_stays_on_cores_of_one_kind() -> None:
    """Three ranks of four threads: two on the fast cores of an L3 group each, the third on slow ones."""
    assert cpus(on(SPARK, ranks=3, threads=4)) == ["0-3", "5-8", "15-18"]


@pytest.mark.parametrize(
    ("wish", "first"), [("slow", "0"), ("fast", "5"), ("any", "0"), ("kind1", "0"), ("KIND0", "5"), ("auto", "5")]
)
def test_the_kind_that_is_asked_for(wish: str, first: str) -> None:
    """By its place or by its name, in any case."""
    assert cpus(on(SPARK, ranks=4, core_kind=wish))[0] == first


@pytest.mark.parametrize(
    ("machine", "job", "said"),
    [
        (
            SPARK,
            {"ranks": 12, "core_kind": "fast"},
            "12 ranks x 1 thread need 12 cores, but only 10 are free; try 10 ranks x 1 thread",
        ),
        (SPARK, {"core_kind": "P-core"}, "--core-kind P-core: this node has no such kind of core; available: kind0, kind1"),
        (
            of_kinds(("0-9", None), ("10-19", None)),
            {"core_kind": "fast"},
            "--core-kind fast: this input does not rank its kinds of cores; name one: kind0, kind1",
        ),
        (
            shapes.machine(shapes.shape(1, 1, 1, 4)),
            {"core_kind": "slow"},
            "--core-kind slow: this node has only one kind of core; leave --core-kind out",
        ),
    ],
)
def test_a_kind_that_is_not_there_is_refused(machine: Machine, job: dict[str, Any], said: str) -> None:
    """In one line with what there is."""
    with pytest.raises(BadValue) as caught:
        on(machine, **job)
    assert str(caught.value) == said


def test_kinds_that_nothing_ranks_change_no_plan() -> None:
    """The order of their CPUs is as good as any."""
    assert cpus(on(of_kinds(("5-9,15-19", None), ("0-4,10-14", None)), ranks=4)) == ["0", "1", "10", "11"]


def test_the_plan_says_which_kind_it_took_and_how_to_take_the_other() -> None:
    """A note names the kind and the option."""
    assert (
        "cores of several kinds: 10 ranks on kind0, the fastest; --core-kind slow uses other cores" in on(SPARK, ranks=10).notes
    )
    assert (
        "cores of several kinds: 10 ranks on kind1, the slowest; --core-kind fast uses other cores"
        in on(SPARK, ranks=10, core_kind="slow").notes
    )


@st.composite
def hybrids(draw: st.DrawFn) -> Machine:
    """Return a machine whose cores are of two or three kinds, spread in any way over sockets and L3 groups."""
    sockets, caches, cores = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 5))
    topology = shapes.shape(sockets, 1, caches, caches * cores)
    many = draw(st.integers(2, 3))
    chosen = [draw(st.integers(0, many - 1)) for _ in topology.cores]
    kinds = tuple(
        CoreKind(name=f"kind{at}", cpus=found, speed=many - 1 - at)
        for at in range(many)
        if (found := union(core.cpuset for core, own in zip(topology.cores, chosen, strict=True) if own == at))
    )
    return shapes.machine(topology, Cpu(kinds=kinds))


@examples(400)
@given(machine=hybrids(), ranks=st.integers(1, 30), threads=st.integers(1, 4), strategy=st.sampled_from(["auto", *STRATEGIES]))
def test_no_rank_is_on_slow_cores_while_fast_ones_are_free(machine: Machine, ranks: int, threads: int, strategy: Any) -> None:
    """In no socket, or L3 group if the strategy goes by them, are as many faster cores free as a slower rank has threads."""
    try:
        made = on(machine, ranks=ranks, threads=threads, strategy=strategy)
    except BadValue:
        return
    assert machine.cpu is not None
    assert machine.topology is not None
    kinds = machine.cpu.kinds or ()
    used = union(rank.slot.cpus for rank in made.ranks())
    slowest = max(at for at, kind in enumerate(kinds) if kind.cpus & used)
    free = [kind.cpus - used for kind in kinds[:slowest]]
    groups = machine.topology.l3 if strategy == "spread-l3" else machine.topology.packages
    room = [len(cpus & group.cpuset) for cpus in free for group in groups]
    assert max(room, default=0) < threads


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir() or not shutil.which("hwloc-calc"), reason="no published machines, or no hwloc")
@pytest.mark.parametrize(
    ("name", "fastest", "ranks"),
    [
        ("hwloc-linux-nvidia-dgx-gb10", ("2", "3", "4"), 10),
        ("hwloc-linux-20em64t-hybrid-1p6c2t+2ca4co1t", ("1",), 6),
        ("hwloc-x86linux-5intel64-hybrid-lakefield", ("1",), 1),
    ],
)
def test_published_hybrids_give_their_fast_cores_as_hwloc_counts_them(name: str, fastest: tuple[str, ...], ranks: int) -> None:
    """As many ranks as there are fast cores are on the CPUs of the kinds that hwloc-calc ranks highest."""
    path = CORPUS / "xml" / f"{name}.xml"
    theirs = CpuSet()
    for kind in fastest:
        command = ["hwloc-calc", "-i", str(path), "--cpukind", kind, "all"]
        theirs |= CpuSet.from_mask(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    made = on(published(path), ranks=ranks)
    assert union(rank.slot.cpus for rank in made.ranks()) == theirs
