"""Figures of other programs as measurements of a machine: where each ran, and what is not taken."""

import json
from pathlib import Path

import pytest

from advisor.advice.imported import compare_measured, import_files, must_have_results
from advisor.advice.whatif import measured_on
from advisor.errors import BadInput, BadValue
from advisor.fleet.audit import audit_fleet
from advisor.measure.page import measured_page
from tests.machines.catalogue import write_archive
from tests.printing import printed

OUTPUTS = Path(__file__).parents[1] / "imports" / "outputs"


@pytest.fixture
def rome(tmp_path: Path) -> str:
    """Return a capture of two EPYC 7702 at NPS4: 128 cores, eight NUMA nodes, 32 L3 groups."""
    return str(write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz"))


@pytest.fixture
def cascade(tmp_path: Path) -> str:
    """Return a capture of two Sapphire Rapids processors: two NUMA nodes."""
    return str(write_archive("d-delftblue-2x6448y", tmp_path / "node.tar.gz"))


def taken(name: str, source: str, placed: str | None = None) -> list[tuple[str, str, str, int | None]]:
    """Return the purpose, variant, part and number of each result that a file gives."""
    found = import_files([OUTPUTS / name], source, placed)
    return (
        [(each.purpose, each.variant, each.part, each.index) for each in found.measurements.results] if found.measurements else []
    )


def notes(name: str, source: str, placed: str | None = None) -> str:
    """Return why a file is not taken, or not all of it."""
    return " ".join(import_files([OUTPUTS / name], source, placed).notes)


def test_a_stream_is_of_the_part_that_the_user_names(rome: str) -> None:
    """All four of its rates, on that socket; 64 threads were never on a NUMA node of 16 CPUs."""
    assert taken("stream-c.txt", rome, "socket 1") == [("part", what, "socket", 1) for what in ("copy", "scale", "add", "triad")]
    assert taken("stream-c.txt", rome, "numa 6") == []
    assert "it ran 64 threads, but numa 6 has 16 CPUs: it ran on another machine, or on a larger part" in notes(
        "stream-c.txt", rome, "numa 6"
    )


def test_a_stream_that_does_not_say_where_it_ran_is_not_taken(rome: str) -> None:
    """64 threads are neither all cores nor all CPUs."""
    assert taken("stream-c.txt", rome) == []
    assert "it does not say where it ran; give --placed machine, socket N" in notes("stream-c.txt", rome)


@pytest.mark.parametrize(("placed", "core"), [(None, 0), ("machine", 0), ("numa 6", 96), ("core 5", 5)])
def test_a_stream_without_openmp_is_of_one_core(rome: str, placed: str | None, core: int) -> None:
    """Its header has no Number of Threads: 22.5 GB/s are a core's, wherever the user says that it ran."""
    assert taken("stream-serial.txt", rome, placed) == [
        ("part", what, "core", core) for what in ("copy", "scale", "add", "triad")
    ]
    assert (
        "measured with one thread: the figure is for one core (not named), not for the whole machine"
        in notes("stream-serial.txt", rome, placed)
    ) == (placed is None)


OSU = "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1                       3.05\n4194304             12300.50\n"


@pytest.mark.parametrize("placed", ["hosts", "hosts mlx5_0"])
def test_messages_are_between_two_hosts_where_the_user_says_so(rome: str, tmp_path: Path, placed: str) -> None:
    """One rank beside the adapter of each: the figure that a contract asks for; the page says how many runs, and where."""
    (tmp_path / "osu.log").write_text(OSU)
    found = import_files([tmp_path / "osu.log"], rome, placed)
    assert found.measurements is not None
    assert found.facts is not None
    assert [(each.name, each.one and each.one.bandwidth) for each in found.facts.adapters] == [("mlx5_0", 12300.5e6)]
    text = printed(measured_page(found.measurements, machine=found.machine), 120)
    assert "Two ranks  two hosts, mlx5_0, one run" in text
    assert "mean, pair" not in text


def test_messages_of_nowhere_are_asked_for(rome: str, tmp_path: Path) -> None:
    """Both spellings are named; an adapter that the machine does not have is refused with those that it has."""
    (tmp_path / "osu.log").write_text(OSU)
    (note,) = import_files([tmp_path / "osu.log"], rome).notes
    assert note == (
        "osu.log:1: it does not say where its ranks ran; give --placed hosts for two hosts, --placed machine for this one"
    )
    with pytest.raises(BadValue, match="write hosts, then one of: mlx5_0"):
        import_files([tmp_path / "osu.log"], rome, "hosts mlx9")
    inside = import_files([tmp_path / "osu.log"], rome, "machine")
    assert inside.facts is not None
    assert inside.facts.adapters == ()


def test_arrays_in_the_cache_are_no_memory_bandwidth(rome: str) -> None:
    """40 kB of likwid-bench."""
    assert "fit into the L3" in notes("likwid.txt", rome, "machine")


def test_a_rate_above_what_the_sheets_channels_carry_is_not_believed(tmp_path: Path) -> None:
    """352 GB/s of two Gold 6146 whose DIMMs nobody read: six channels of DDR4-2666 in each carry 255.9."""
    source = str(write_archive("gold-6146", tmp_path / "node.tar.gz"))
    text = (OUTPUTS / "stream-c.txt").read_text().replace("= 64", "= 24")
    (tmp_path / "stream.txt").write_text(text.replace("263208.7", "352000.0").replace("0.036473", "0.027273"))
    found = import_files([tmp_path / "stream.txt"], source).measurements
    assert found is not None
    (triad,) = (each for each in found.results if each.variant == "triad")
    assert (
        triad.refused == "above the ceiling: 352 GB/s, but 6 channels of DDR4-2666 in each of 2 sockets carry at most 255.9 GB/s"
    )


def test_a_rate_above_what_the_dimms_carry_is_not_believed(rome: str) -> None:
    """263 GB/s of one socket of eight channels."""
    found = import_files([OUTPUTS / "stream-c.txt"], rome, "socket 1").measurements
    assert found is not None
    assert {each.refused is None for each in found.results} == {False}


def test_each_result_says_what_it_was_imported_from(rome: str) -> None:
    """And by which statistic."""
    found = import_files([OUTPUTS / "stream-c.txt"], rome, "machine").measurements
    assert found is not None
    assert {each.details["imported"] for each in found.results} == {"STREAM 5.10, best"}


def test_an_hpl_of_more_memory_than_the_machine_has_is_of_several(rome: str) -> None:
    """569,088 squared doubles."""
    assert "its matrix of 2413 GiB is more than this machine's" in notes("hpl-turin-4-nodes.out", rome)


def test_an_hpl_of_as_many_ranks_as_cores_is_of_the_whole_machine(rome: str, tmp_path: Path) -> None:
    """128 ranks on 128 cores need no word of the user's."""
    file = tmp_path / "HPL.out"
    file.write_text("WR11C2R4  105600  384  8  16  259.72  3.0227e+03\n||Ax-b||_oo/(eps*N)= 2.0e-03 ...... PASSED\n")
    found = import_files([file], rome).measurements
    assert found is not None
    assert [(each.purpose, each.part, each.values) for each in found.results] == [("hpl", "machine", (3.0227e12,))]


@pytest.mark.parametrize(("printed", "like"), [("3.0227e+03", None), ("1.9000e+03", "AVX"), ("8.0000e+02", "SSE2")])
def test_an_imported_rate_alone_shows_a_library_for_an_older_processor(
    rome: str, tmp_path: Path, printed: str, like: str | None
) -> None:
    """128 cores of 2.0 GHz do 4096 GFLOP/s at base clock; half of it is what cores without multiply-add do."""
    file = tmp_path / "HPL.out"
    seconds = 2 / 3 * 150000**3 / float(printed) / 1e9
    file.write_text(f"WR11C2R4  150000  384  8  16  {seconds:.2f}  {printed}\n||Ax-b||_oo/(eps*N)= 2.0e-03 ...... PASSED\n")
    found = import_files([file], rome)
    assert found.machine is not None
    assert found.machine.cpu is not None
    assert found.measurements is not None
    cpu = found.machine.cpu.model_copy(update={"base_hz": 2_000_000_000})
    facts = measured_on(found.machine.model_copy(update={"cpu": cpu}), found.measurements)
    assert facts.hpl is not None
    assert (facts.hpl.peak_base, facts.hpl.hosts, facts.hpl.like) == (4096e9, 1, like)


def test_the_matrix_of_another_machine_is_refused(rome: str) -> None:
    """Two NUMA nodes against eight."""
    assert taken("mlc.txt", rome) == []
    assert "from a machine with 2 NUMA nodes, but this one has 8: another machine, or different partitioning" in notes(
        "mlc.txt", rome
    )


def test_a_matrix_becomes_local_and_far_memory(cascade: str) -> None:
    """Bandwidth of the own memory is that of the node, the rest is a matrix."""
    assert sorted(set(taken("mlc.txt", cascade))) == [
        ("matrix", "chase", "numa", 0),
        ("matrix", "chase", "numa", 1),
        ("matrix", "load", "numa", 0),
        ("matrix", "load", "numa", 1),
        ("part", "load", "machine", None),
        ("part", "load", "numa", 0),
        ("part", "load", "numa", 1),
        ("part", "triad", "machine", None),
    ]


def test_messages_need_a_word_on_where_their_ranks_sat(rome: str) -> None:
    """A table of OSU's says neither hosts nor cores."""
    assert (taken("osu-mbw-mr-gh200.txt", rome), taken("osu-mbw-mr-gh200.txt", rome, "numa 6")[:1]) == (
        [],
        [("network", "mbw_mr", "numa", 6)],
    )


@pytest.mark.parametrize("words", ["numa 99", "rack 3", "machine 2", "", "cpus 9999", "socket"])
def test_a_place_that_the_machine_lacks_is_refused(words: str, rome: str) -> None:
    """With what there may be."""
    with pytest.raises((BadValue, BadInput)):
        import_files([OUTPUTS / "stream-c.txt"], rome, words)


def test_groups_that_the_machine_does_not_report_are_said(rome: str, tmp_path: Path) -> None:
    """Times that show 16 groups of eight on a machine of 32 groups of four."""
    rows = [["" if other >= one else "20" if one // 8 == other // 8 else "100" for other in range(128)] for one in range(128)]
    file = tmp_path / "c2c.csv"
    file.write_text("\n".join(",".join(row) for row in rows))
    assert "its latencies show 16 groups of 8 CPUs" in " ".join(import_files([file], rome).notes)


def test_groups_that_the_machine_reports_are_no_news(rome: str, tmp_path: Path) -> None:
    """Its own L3 groups."""
    rows = [["" if other >= one else "20" if one // 4 == other // 4 else "100" for other in range(128)] for one in range(128)]
    file = tmp_path / "c2c.csv"
    file.write_text("\n".join(",".join(row) for row in rows))
    assert import_files([file], rome).notes == ()


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    """One line says why."""
    found = import_files([tmp_path / "none", OUTPUTS / "stream-c.txt", tmp_path])
    assert (found.status, [why.rpartition(": ")[2] for why in found.refused]) == (
        1,
        ["no such file or directory", "is a directory"],
    )


def test_ours_and_theirs_stand_beside_each_other(rome: str, tmp_path: Path) -> None:
    """The best of each kind and part, second through first."""
    ours = import_files([OUTPUTS / "stream-c.txt"], rome, "machine").measurements
    assert ours is not None
    doubled = [each.model_copy(update={"values": (each.values[0] * 2,), "refused": None}) for each in ours.results]
    file = tmp_path / "ours.json"
    file.write_text(json.dumps(ours.model_copy(update={"results": tuple(doubled)}).model_dump(mode="json")))
    rows = compare_measured(file, OUTPUTS / "stream-c.txt", rome, "machine")
    assert {(row.what, row.second / row.first) for row in rows} == {
        (f"{what}, machine", 0.5) for what in ("copy", "scale", "add", "triad")
    }


def imported(rome: str, folder: Path, name: str, rate: float) -> str:
    """Return what --save writes of a STREAM, and of an HPL, on a node of a fleet."""
    head = "STREAM version $Revision: 5.10 $\nArray size = 800000000 (elements)\nNumber of Threads counted = 128\n"
    times = {what: 8e2 * 8 * moved / rate for what, moved in (("Triad", 3), ("Copy", 2), ("Scale", 2), ("Add", 3))}
    rows = "".join(f"{what}: {rate:.1f} {1.01 * least:.6f} {least:.6f} {1.02 * least:.6f}\n" for what, least in times.items())
    (folder / f"{name}.stream").write_text(f"{head}{rows}Solution Validates\n")
    n = 100000 if name == "n5" else 150000
    gflops, ran = (1500.0 if name == "n5" else 3000.0), 2 / 3 * n**3 / 1e9
    (folder / f"{name}.hpl").write_text(
        f"WR11C2R4  {n}  384  8  16  {ran / gflops:.2f}  {gflops:.4e}\n||Ax-b||_oo/(eps*N)= 2.0e-03 ...... PASSED\n"
    )
    return must_have_results(import_files([folder / f"{name}.stream", folder / f"{name}.hpl"], rome)).model_dump_json()


@pytest.mark.slow
def test_a_fleet_s_imported_figures_show_the_slow_node(rome: str, tmp_path: Path) -> None:
    """Saved as NODE.measured.json; an HPL of a smaller matrix is not held against those of the others."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    for at in range(1, 11):
        (folder / f"n{at}.tar.gz").write_bytes(Path(rome).read_bytes())
        (folder / f"n{at}.measured.json").write_text(imported(rome, tmp_path, f"n{at}", 150000.0 if at == 7 else 211000.0 + at))
    found = audit_fleet([folder]).fleet
    assert {(each.node, each.figure) for each in found.slow} == {
        ("n7", f"stream {what} machine") for what in ("triad", "copy", "scale", "add")
    }
