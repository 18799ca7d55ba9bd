"""What is read from other programs' outputs: figures in base units, and what is refused, with the line that says why.

The files in outputs/ hold figures that were published, in a layout that the programs print; where each is from stands in
docs/import.md. A few are spoilt on purpose.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.measure.imports import Line, clean, formats, numbers, read_runs, unlabelled
from advisor.measure.measurement import ImportedFigure, ImportedRun

OUTPUTS = Path(__file__).parent / "outputs"
NAMES = sorted(path.name for path in OUTPUTS.iterdir())


def runs(name: str) -> tuple[ImportedRun, ...]:
    """Return the runs of a file."""
    return read_runs((OUTPUTS / name).read_bytes())


def figures(name: str, at: int = 0) -> dict[Any, float]:
    """Return the figures of one run: by what they are and their size, or their two ends."""
    return {(each.what, each.at or each.size): each.value for each in runs(name)[at].figures}


@pytest.mark.parametrize(
    ("name", "what", "value"),
    [
        ("hpl-turin-4-nodes.out", ("hpl", None), 3.0515e13),
        ("hpl-3990x.out", ("hpl", None), 1.5714e12),
        ("hpl-atom.out", ("hpl", None), 1.0212e10),
        ("hpl-nvidia.out", ("hpl", None), 1.268e15),
        ("hpl-intel.out", ("hpl", None), 3.05759e6),
        ("hpcc.txt", ("triad", None), 14.1e9),
        ("hpcg.txt", ("hpcg", None), 41.7305e9),
        ("hpcc.txt", ("ring latency", None), 2.31e-6),
        ("linpack.txt", ("linpack", None), 3.2053e12),
        ("osu-mbw-mr-gh200.txt", ("bandwidth", 2048), 19069.25e6),
        ("osu-mbw-mr-gh200.txt", ("message rate", 1), 8361985.11),
        ("osu-several.txt", ("latency", 0), 0.24e-6),
        ("imb.txt", ("bandwidth", 4194304), 11646.93e6),
        ("imb-2016.txt", ("bandwidth", 65536), 3450.99 * 2**20),
        ("stream-c.txt", ("triad", None), 263208.7e6),
        ("stream-fortran.txt", ("copy", None), 80510.1231e6),
        ("stream-serial.txt", ("triad", None), 22528.9e6),
        ("babelstream.txt", ("scale", None), 785000.123e6),
        ("babelstream.csv", ("triad", None), 263000.4e6),
        ("likwid.txt", ("triad", 39936), 111250.44e6),
        ("numademo.txt", ("triad", (0, 1)), 8001e6),
        ("perftest-bw.txt", ("bandwidth", 65536), 197.82e9 / 8),
        ("perftest-old.txt", ("bandwidth", 65536), 11198.78 * 2**20),
        ("perftest-lat.txt", ("latency", 2), 2.05e-6),
        ("perftest.json", ("bandwidth", 65536), 197.82e9 / 8),
        ("nccl.txt", ("bus bandwidth", 2147483648), 437.79e9),
        ("mlc.txt", ("latency", (1, 0)), 191.0e-9),
        ("mlc.txt", ("load", (0, 0)), 150100e6),
        ("mlc.txt", ("triad", None), 260000e6),
    ],
)
def test_a_figure_is_read_in_base_units(name: str, what: tuple[str, object], value: float) -> None:
    """Bytes, seconds and FLOP, whatever a program calls a megabyte."""
    assert figures(name)[what] == pytest.approx(value)


def test_each_benchmark_of_a_file_is_a_run() -> None:
    """Three of OSU's in one log, three of Intel's."""
    assert [run.tool.partition(", ")[2] for name in ("osu-several.txt", "imb.txt") for run in runs(name)] == [
        "MPI Latency",
        "MPI Bi-Directional Bandwidth",
        "MPI Allreduce Latency",
        "PingPong",
        "Uniband",
        "Allreduce",
    ]


def test_both_ways_are_not_called_one() -> None:
    """OSU's bidirectional test adds the two directions."""
    assert figures("osu-several.txt", 1) == {("both ways", 1): 9.6e6, ("both ways", 1048576): 22100.13e6}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hpl-nan.out", "its residual nan FAILED the check"),
        ("hpl-invented.out", "N and the time imply 12.11 GFLOP/s, but the row says 300.45: not HPL's original output"),
        ("hpl-wrong-timer.out", "it reports 2310.54 s, but 1078 s passed between its start and end: its timer is wrong"),
        ("hpcg-3.0-invalid.txt", "line 7: it reports its result as INVALID"),
        ("hpl-skipped.out", "nothing ran: P x Q exceeds the number of ranks"),
        ("osu-validation.txt", "line 6: wrong data (validation failed)"),
        ("osu-torn.txt", "cut off: a header without rows, or two programs' output mixed"),
        ("osu-mixed.txt", "a size appears twice: the output of two programs is mixed"),
        ("stream-failed.txt", "line 17: the benchmark's own validation failed"),
        ("stream-torn.txt", "cut off at line 14: triad missing or incomplete"),
        ("nccl-wrong.txt", "wrong results at 2147483648 bytes"),
    ],
)
def test_a_run_that_cannot_be_believed_is_refused(name: str, why: str) -> None:
    """In one line, and none of its figures is left."""
    (run,) = runs(name)
    assert (run.refused, run.figures) == (why, ())


def test_a_rate_that_its_own_time_contradicts_is_refused() -> None:
    """All rows of STREAM move the same arrays: a rate that somebody changed does not fit its least time."""
    text = (OUTPUTS / "stream-c.txt").read_bytes()
    (run,) = read_runs(text.replace(b"263208.7", b"273208.7"))
    assert run.refused == "line 15: the rate does not follow from its min time"


def test_the_row_at_which_an_hpl_was_cut_off_is_refused() -> None:
    """Its residual would stand below; the row before has one."""
    assert [run.refused for run in runs("hpl-two.out")] == [None, "cut off at line 12: its residual is missing"]


def test_rows_alone_are_known_by_their_shape() -> None:
    """What grep leaves of many outputs: a prefix and a row."""
    text = (
        b"logs/1.log:WR11C2R4      82432   224    16    20     73.92    5.0515e+03\n"
        b"logs/2.log:WC0 571392 1024 4 8 98.05 1.268e+06 ( 3.964e+04)\n"
    )
    unchecked = ("no residual was checked: the answer may be wrong",)
    assert [(run.conditions["N"], run.notes) for run in read_runs(text)] == [(82432, unchecked), (571392, unchecked)]


def test_the_input_of_hpl_counts_by_position() -> None:
    """One N counts, though four stand there."""
    (run,) = runs("HPL.dat")
    assert run.conditions == {"N": "116000", "NB": "1024", "P": "1", "Q": "1"}


def test_cpus_that_a_file_names_are_kept() -> None:
    """likwid-bench says where each thread ran."""
    assert runs("likwid.txt")[0].cpus == (32, 0, 48, 16)


def test_ranks_that_speak_at_once_are_read_apart() -> None:
    """A name before each line, as of srun --label and clush."""
    lines = [f"{host}: {line}" for line in (OUTPUTS / "stream-c.txt").read_text().splitlines() for host in ("n1", "n2")]
    found = read_runs("\n".join(lines).encode())
    assert [(run.format, len(run.figures), run.refused) for run in found] == [("stream", 4, None)] * 2


def test_an_nccl_test_that_announces_itself_twice_is_one_run() -> None:
    """Newer ones name the collective before their parameters."""
    (run,) = runs("nccl-alltoall.txt")
    assert run.conditions == {"test": "alltoall_perf", "GPUs": 1}


def test_several_nccl_tests_of_one_file_each_have_their_name() -> None:
    """Version and name stand above the line that lists the parameters."""
    one = (OUTPUTS / "nccl-alltoall.txt").read_text()
    text = "".join(
        f"# nccl-tests version 2.17.6 nccl-headers=22807\n{one.replace('alltoall', name)}" for name in ("alltoall", "sendrecv")
    )
    assert [(run.version, run.conditions["test"], run.refused) for run in read_runs(text.encode())] == [
        ("2.17.6", "alltoall_perf", None),
        ("2.17.6", "sendrecv_perf", None),
    ]


def test_of_several_files_of_hpcg_each_rating_is_read() -> None:
    """What grep leaves of them: with the name of each, or with another line before it."""
    line = "Final Summary::HPCG result is VALID with a GFLOP/s rating of="
    named = "".join(f"n{host}_HPCG-Benchmark_3.1_2026.txt:{line}{rating}\n" for host, rating in ((1, 23.1), (2, 22.6)))
    ranked = "".join(
        f"Machine Summary::Distributed Processes={ranks}\n{line}{rating}\n" for ranks, rating in ((1, 2.7), (2, 4.6))
    )
    found = [
        (run.conditions.get("ranks"), run.figures[0].value / 1e9) for text in (named, ranked) for run in read_runs(text.encode())
    ]
    assert found == [(None, 23.1), (None, 22.6), (1, 2.7), (2, 4.6)]


def test_each_benchmark_of_intels_has_the_version_above_them_all() -> None:
    """The banner stands once."""
    assert [run.version for run in runs("imb.txt")] == ["2019 Update 6"] * 3


@pytest.mark.parametrize(
    ("title", "tool", "version", "scope"),
    [
        ("OSU One Sided MPI_Get latency Test v4.2", "OSU Micro-Benchmarks, MPI_Get latency", "4.2", "pair"),
        ("OSU MPI Latency Test (Version 2.1)", "OSU Micro-Benchmarks, MPI Latency", "2.1", "pair"),
        ("OSU MPI_Get latency Test v5.3", "OSU Micro-Benchmarks, MPI_Get latency", "5.3", "pair"),
    ],
)
def test_old_releases_of_osus_name_their_tests_in_other_ways(title: str, tool: str, version: str, scope: str) -> None:
    """Of every spelling a pair sends."""
    (run,) = read_runs(
        f"# {title}\n# Size          Latency (us)\n0                       2.31\n8                       3.02\n".encode()
    )
    assert (run.tool, run.version, run.figures[0].scope) == (tool, version, scope)


def test_atomics_of_perftest_are_a_run_of_their_own() -> None:
    """Theirs is another title; below a test of the same sizes they were taken for its rows."""
    head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]"
    tests = (("Send", "8  1000  2.79  7.81  2.93"), ("Atomic FETCH_AND_ADD", "8  1000  4.08  10.00  4.12"))
    text = "".join(f"                    {name} Latency Test\n Device : mlx5_0\n{head}\n {row}\n" for name, row in tests)
    assert [(run.tool, f"{run.figures[0].value:.2e}") for run in read_runs(text.encode())] == [
        ("perftest, Send Latency", "2.93e-06"),
        ("perftest, Atomic FETCH_AND_ADD Latency", "4.12e-06"),
    ]


@pytest.mark.parametrize(
    "text", [b"# How fast\n\n## Benchmarking - Cluster\n\nCopy it.\n", b"## Benchmarking RDMA in a cluster\n"]
)
def test_a_page_about_benchmarking_is_no_output(text: bytes) -> None:
    """Its headings look like a title of Intel's."""
    with pytest.raises(BadInput, match="not recognised as benchmark output"):
        read_runs(text)


@pytest.mark.parametrize("text", [b"", b"\0" * 1000, b"hello\n", b"%PDF-1.7", b"1 2 3\n4 5 6\n", b'{"a": 1}'])
def test_what_no_program_printed_is_refused(text: bytes) -> None:
    """With the list of what is read."""
    with pytest.raises(BadInput, match="not recognised as benchmark output"):
        read_runs(text)


def test_a_file_without_end_is_refused() -> None:
    """No benchmark prints so much."""
    with pytest.raises(BadInput, match="larger than 32 MB"):
        read_runs(b"x" * (33 << 20))


DERIVED = ("likwid-bench", "core-to-core")
"""The name of a figure is the test's own; rows of numbers alone are a matrix."""


def kind_of(figure: ImportedFigure) -> tuple[str, str]:
    """Return what a figure is, without the load at which it was measured."""
    return figure.what.partition(" at ")[0], figure.unit


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if all(run.refused is None for run in runs(name))])
@given(cut_at=st.floats(0, 1), junk=st.binary(max_size=40))
def test_a_file_cut_anywhere_is_read_or_refused(name: str, cut_at: float, junk: bytes) -> None:
    """No failure but BadInput, whatever stands at the end; and no figure of a kind that the whole file does not have."""
    raw = (OUTPUTS / name).read_bytes()
    try:
        found = read_runs(raw[: int(len(raw) * cut_at)] + junk)
    except BadInput:
        return
    whole = {kind_of(each) for run in read_runs(raw) for each in run.figures}
    assert [each for run in found for each in run.figures if kind_of(each) not in whole and run.format not in DERIVED] == []


def test_every_format_has_an_output_here() -> None:
    """A new format brings one."""
    known = {run.format for name in NAMES for run in runs(name)}
    assert {each.name for each in formats()} - known == {"core-to-core", "core-to-core table"}


def test_colours_and_progress_are_cleaned() -> None:
    """What stands after the last carriage return is what the terminal showed."""
    assert clean(b"\x1b[31m10 %\r100 %\x1b[0m\x07\nTriad:\t1")[0] == Line(1, "100 %")


def test_a_wide_file_of_windows_is_read() -> None:
    """PowerShell writes two bytes a letter."""
    assert [run.format for run in read_runs((OUTPUTS / "stream-c.txt").read_text().encode("utf-16"))] == ["stream"]


def test_lines_without_labels_are_nobodys_among_labelled_ones() -> None:
    """What a job says before its ranks begin."""
    assert unlabelled([Line(1, "Loading gcc"), Line(2, "n1: b")]) == [[Line(2, "b")]]


@given(st.text(max_size=60))
def test_numbers_of_any_line_are_numbers_or_none(text: str) -> None:
    """It never fails."""
    found = numbers(text)
    assert found is None or all(isinstance(each, float) for each in found)


def test_the_page_lists_each_format_with_the_versions_it_was_seen_from() -> None:
    """One row for each in docs/import.md."""
    page = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
    assert [
        each.name for each in formats() if f"| {each.tool} | {each.seen} | {', '.join(each.not_said) or '-'} |" not in page
    ] == []


@pytest.mark.parametrize(
    ("line", "threads"),
    [
        ("", 1),
        ("Number of Threads requested = 64", 64),
        ("Total Aggregate Memory per array = 3051.8 MiB", None),
        ("Data is distributed across 4 MPI ranks\nNumber of Threads requested for each MPI rank = 8", 32),
    ],
    ids=["without OpenMP", "with OpenMP", "over MPI", "over MPI with OpenMP"],
)
def test_stream_without_openmp_ran_one_thread(line: str, threads: int | None) -> None:
    """STREAM in C names its threads where OpenMP is built in; what runs over MPI names its ranks instead."""
    text = (OUTPUTS / "stream-serial.txt").read_text().replace("Your clock", f"{line}\nYour clock")
    (run,) = read_runs(text.encode())
    assert (run.conditions.get("threads"), "threads" in run.not_said) == (threads, threads is None)
