"""What a change brought: which figures are compared, and how sure a difference is. EVERY VALUE IS INVENTED."""

from typing import Any

from advisor.advice.compare import what_it_brought
from advisor.measure.measurement import Identity, Measurements, Part, Result
from tests.measuring import one_result, one_run

ROME = Identity(name="n1", cpu="EPYC 7702", cpus=128, nodes=("0-63", "64-127"))
NPS4 = ROME.model_copy(update={"nodes": tuple(f"{16 * at}-{16 * at + 15}" for at in range(8))})


def triad(part: Part, rate: float, repeats: int = 5, **told: Any) -> Result:
    """Return the bandwidth of a part; its repeats lie a little apart."""
    values = tuple(rate * (1 + 0.001 * at) for at in range(repeats))
    known: dict[str, Any] = {"task": f"membw/{part}", "kernel": "membw", "purpose": "part", "index": 0, "unit": "bytes/s"}
    return one_result(part=part, values=values, **({"variant": "triad"} | known | told))


def run(*results: Result, of: Identity = ROME) -> Measurements:
    """Return a run."""
    return one_run(results, of, idle=True)


def test_five_above_five_others_have_the_least_p_there_is() -> None:
    """Two of the 252 ways to deal ten values out: exact, two-sided; three above three show nothing."""
    (row,) = what_it_brought(run(triad("machine", 240e9)), run(triad("machine", 288e9)))
    assert (round(row.p, 6), round(row.ratio, 3), str(row.says)) == (round(2 / 252, 6), 1.2, "faster")
    (few,) = what_it_brought(run(triad("machine", 240e9, 3)), run(triad("machine", 288e9, 3)))
    assert (round(few.p, 6), str(few.says)) == (0.1, "no difference shown")


def test_a_time_that_fell_is_faster() -> None:
    """A latency of 90 ns after 120 ns is better, though the number is smaller."""
    times = [run(triad("machine", value, unit="seconds", variant="chase")) for value in (120e-9, 90e-9)]
    assert [row.says for row in what_it_brought(*times)] == ["faster"]


def test_where_numa_nodes_changed_only_what_means_the_same_is_compared() -> None:
    """The machine and its sockets: node 0 of eight is another part than node 0 of two."""
    parts: tuple[Part, ...] = ("numa", "core", "socket", "machine")
    results = [triad(part, 1e11) for part in parts]
    changed = what_it_brought(run(*results), run(*results, of=NPS4))
    same = what_it_brought(run(*results), run(*results))
    assert ([row.part for row in changed], sorted(str(row.part) for row in same)) == (["machine", "socket"], sorted(parts))


def test_another_processor_is_compared_in_nothing() -> None:
    """What a change brought is asked of one machine; so it is of other CPUs, or one figure that only one side has."""
    other = ROME.model_copy(update={"cpu": "EPYC 9965"})
    assert what_it_brought(run(triad("machine", 1e11)), run(triad("machine", 2e11), of=other)) == ()
    assert what_it_brought(run(triad("machine", 1e11)), run(triad("socket", 2e11))) == ()
