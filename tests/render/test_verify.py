import pytest

from advisor.jobs.observe import (
    Caution,
    Comparison,
    GatheredReports,
    Observation,
    PlannedRank,
    Process,
    RunningProcesses,
    Thread,
)
from advisor.jobs.verdict import (
    compare_ranks,
    comparison_document,
    comparison_page,
    running_document,
    running_page,
    sentence,
    verdict_line,
)
from advisor.machine.cpuset import CpuSet
from advisor.show.lines import text_of
from tests.model.shapes import shape

AS_MANY = "start as many ranks as planned: -n"
NODE = shape(1, 2, 2, 4)


def comparison(plan: list[str], seen: list[str], host: str | None = None, launcher: str = "") -> Comparison:
    """Return ranks planned and seen on these CPUs."""
    places = [PlannedRank(rank=i, host=host, cpus=CpuSet.parse(cpus), memory=(0,)) for i, cpus in enumerate(plan)]
    found = [Observation(rank=i, host=host or "n1", cpus=CpuSet.parse(cpus)) for i, cpus in enumerate(seen)]
    return compare_ranks(places, GatheredReports(ranks=tuple(found)), NODE, launcher)


def drawn(found: Comparison, width: int = 80) -> list[str]:
    """Return the lines of a page."""
    return [text_of(line).rstrip() for line in comparison_page(found).lines(width)]


def test_as_planned_is_one_line() -> None:
    """Where all is as planned, the page says so and nothing else."""
    assert drawn(comparison(["0", "1"], ["0", "1"])) == ["as planned: all 2 ranks are exactly where the plan has them"]
    assert verdict_line(comparison(["0"], ["0"])) == "as planned: the only rank is exactly where the plan has it"


def test_differences_are_counted_explained_and_listed() -> None:
    """The verdict counts them by kind, each cause names its ranks, the table has what was planned and what was seen."""
    lines = drawn(comparison(["0", "1", "2", "3"], ["0", "0-3", "0-3"], host="n1"), 200)
    assert lines[1] == "differs from the plan: 3 of 4 ranks (1 missing, 2 wider)"
    assert any(line.startswith("-> rank 3: ") for line in lines)
    assert any(line.startswith("-> ranks 1-2: not bound") for line in lines)
    assert "3     missing        n1 3     nothing" in lines
    assert "1     wider, shared  n1 1     n1 0-3" in lines


@pytest.mark.parametrize(
    ("planned", "seen", "launcher", "said"),
    [
        (
            ["0-1", "2-3"],
            ["0-3", "0-3"],
            "openmpi4",
            "rank 0 runs on CPUs 0-3, planned CPUs 0-1: not bound; use --map-by slot:PE=2 --bind-to core",
        ),
        (
            ["0", "2"],
            ["0-1", "2-3"],
            "openmpi5",
            "rank 0 runs on CPUs 0-1, planned CPU 0: bound to whole NUMA nodes; use --bind-to core",
        ),
        (
            ["0-1", "2-3"],
            ["0", "2"],
            "srun",
            "rank 0 runs on CPU 0, planned CPUs 0-1: one core each instead of several; use -c 2 --cpu-bind=cores",
        ),
        (
            ["0", "1"],
            ["0"],
            "",
            f"rank 1 has not reported, planned CPU 1: fewer processes were started than planned; {AS_MANY} 2",
        ),
        (
            ["0"],
            ["0", "1"],
            "srun",
            f"rank 1 is running but not in the plan: the line starts more processes than planned; {AS_MANY} 1",
        ),
        (
            ["0", "1", "2"],
            ["0", "1", "9"],
            "jsrun",
            "rank 2 runs on CPU 9, planned CPU 2",
        ),
    ],
)
def test_the_first_line_says_what_is_wrong_and_what_to_do(planned: list[str], seen: list[str], launcher: str, said: str) -> None:
    """A rank, where it runs and should, why, and what to give the line in its launcher's words; the counts come second."""
    found = comparison(planned, seen, launcher=launcher)
    assert (sentence(found), drawn(found, 200)[0]) == (said, said)


def test_pages_keep_their_width_and_their_length() -> None:
    """Lines fit the width; of many ranks the first are listed and the others counted."""
    many = comparison([str(i % 4) for i in range(200)], ["0-3"] * 200)
    lines = drawn(many, 60)
    assert (max(map(len, lines)) <= 60, lines[-1]) == (True, "... and 136 more; --json has all")


def test_the_json_has_every_rank() -> None:
    """The document says equal, counts every verdict, and lists each rank that differs with both sides."""
    found = comparison_document(comparison(["0", "1"], ["0", "2"]))
    assert (found["schema"], found["equal"], found["counts"]["exact"], found["counts"]["elsewhere"]) == (
        "advisor-verify/1",
        False,
        1,
        1,
    )
    (row,) = found["differ"]
    assert (row["rank"], row["planned"]["cpus"], row["seen"]["cpus"]) == (1, "1", "2")


def test_running_processes_are_a_table() -> None:
    """Each process has its threads, CPUs, nodes, L3 groups and adapter; hostile names steer no terminal."""
    one = Process(
        pid=7,
        name="a\x1b[2J",
        cpus=CpuSet.parse("1-2"),
        threads=(Thread(id=7, cpus=CpuSet([1]), running=True),),
        ucx="mlx5_0:1",
        rank=3,
    )
    looked = RunningProcesses(host="n1", processes=(one,), unread=("process 9 is not visible",))
    page = running_page(looked, (Caution(id="over-numa", say="process 7: spread", pids=(7,)),), NODE)
    lines = [text_of(line).rstrip() for line in page.lines(100)]
    assert lines[0] == "1 warning about 1 process"
    assert "?  process 9 is not visible" in lines
    assert lines[-1].split() == ["7", "a?[2J", "3", "1,", "1", "running", "1-2", "0-1", "0-1", "mlx5_0:1"]
    document = running_document(looked, (), NODE, None)
    assert (document["processes"][0]["numa_nodes"], document["warnings"], document["comparison"]) == ([0, 1], [], None)
