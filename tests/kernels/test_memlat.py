"""Load latency: every variant, the ladder, other CPUs' traffic, and that a wrong walk is refused."""

from pathlib import Path

import pytest

from tests.kernels.plain import CPUS, built, results, run, two_cpus

CPU = str(CPUS[0])
TINY = ("--cpus", CPU, "--bytes", "64KiB", "--seconds", "0.001", "--repeats", "2")
LOADED = (*TINY, "--load-cpus", str(CPUS[-1]), "--load-bytes", "64KiB")


@pytest.mark.parametrize(
    ("arguments", "variant"), [((), "chase"), (("--stride",), "stride"), (("--lines",), "lines"), (("--chunk", "4KiB"), "chase")]
)
def test_each_shape_says_every_repeat(arguments: tuple[str, ...], variant: str) -> None:
    """One line with the contract's fields, a number for each repeat, seconds of a load."""
    (line,) = results("memlat", *TINY, *arguments)
    assert (line["kernel"], line["variant"], line["unit"], line["cpus"]) == ("memlat", variant, "seconds", [CPUS[0]])
    assert (line["bytes"], line["line"], len(line["values"]), len(line["seconds"])) == (65536, 64, 2, 2)
    assert line["values"] == pytest.approx([each / line["loads"] for each in line["seconds"]], rel=1e-6)


def test_the_ladder_climbs_by_half_octaves() -> None:
    """From 4 KiB to --bytes."""
    lines = results("memlat", *TINY, "--sizes", "ladder", "--repeats", "1")
    assert [line["bytes"] >> 10 for line in lines] == [4, 6, 8, 12, 16, 24, 32, 48, 64]


def test_sizes_are_walked_in_whole_lines() -> None:
    """A list is taken in its order; what is less than a line at the end is left out; lines may be farther apart."""
    lines = results("memlat", *TINY, "--sizes", "1100,8KiB", "--line", "256")
    assert [(line["bytes"], line["line"]) for line in lines] == [(1024, 256), (8192, 256)]


def test_loads_of_lines_are_whole_passes() -> None:
    """Only so can their sum be checked."""
    (line,) = results("memlat", *TINY, "--lines", "--bytes", "4160")
    assert (line["bytes"], line["loads"] % 65) == (4160, 0)


def test_pages_are_told() -> None:
    """Every page was found on a node, and none is huge where normal ones were asked for."""
    (line,) = results("memlat", *TINY)
    assert ("unknown" in line["pages"], line["page_kind"], "node" in line) == (False, "normal", False)


@pytest.mark.skipif(not Path("/sys/devices/system/node/node0").is_dir(), reason="the kernel shows no NUMA nodes")
def test_memory_lies_on_the_node_asked() -> None:
    """All its pages, as the kernel says afterwards."""
    (line,) = results("memlat", *TINY, "--node", "0")
    assert (line["node"], list(line["pages"])) == (0, ["0"])


@two_cpus
def test_loads_rise_by_steps() -> None:
    """Idle, all they can, then seven eighths of that and down to one."""
    lines = results("memlat", *LOADED, "--load-rate", "steps")
    most = lines[1]["load_rate"]
    assert [line.get("load_rate_asked") for line in lines] == [
        0,
        None,
        *(pytest.approx(most * i / 8, rel=1e-6) for i in range(7, 0, -1)),
    ]
    assert (lines[0]["load_rate"], {line["variant"] for line in lines}) == (0, {"chase-loaded"})


@two_cpus
@pytest.mark.parametrize("kind", ["load", "copy-nt", "store-nt"])
def test_each_kind_of_load(kind: str) -> None:
    """Other CPUs read, copy or write while the first one chases, and say how much."""
    (line,) = results("memlat", *LOADED, "--load-kind", kind)
    assert (line["load_kind"], line["load_cpus"], line["load_bytes"], line["load_rate"] >= 0) == (kind, [CPUS[-1]], 65536, True)


@pytest.mark.slow
@two_cpus
@pytest.mark.parametrize(
    ("broken", "arguments", "complaint"),
    [
        ("1", TINY, "memlat: the chain skips: 1 of 1024 lines are followed by a wrong one"),
        ("2", TINY, "memlat: the walk did not end on the expected line"),
        ("3", (*TINY, "--lines"), "memlat: the sum over the lines is wrong"),
        ("4", LOADED, f"memlat: CPU {CPUS[-1]} did not read or write the expected values"),
        ("5", (*LOADED, "--load-kind", "store-nt"), f"memlat: CPU {CPUS[-1]} did not read or write the expected values"),
    ],
)
def test_a_wrong_result_is_refused(broken: str, arguments: tuple[str, ...], complaint: str) -> None:
    """A build that goes wrong in one place ends with status 1, one line, and no result."""
    done = run("memlat", *arguments, flags=(f"-DBREAK_RESULT={broken}",))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", complaint + "\n")


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("--sizes", "4KiB,"), 2, "--sizes 4KiB,: ladder, or sizes such as 32KiB,1MiB is expected"),
        (("--sizes", "64"), 2, "64 bytes are less than two lines of 64"),
        (("--sizes", "ladder", "--bytes", "1KiB"), 2, "--bytes 1024: the ladder begins at 4KiB"),
        (("--line", "100"), 2, "--line 100: a power of two, 16 to 4096 is expected"),
        (("--chunk", "64"), 2, "--chunk 64: less than two lines"),
        (("--stride", "--lines"), 2, "--stride and --lines: give one of them"),
        (("--stride", "--chunk", "4KiB"), 2, "--chunk goes with the random chase: leave out --stride and --lines"),
        (("--lines", "--load-cpus", "99"), 2, "--load-cpus goes with the random chase: leave out --stride and --lines"),
        (("--load-rate", "max"), 2, "--load-rate needs --load-cpus"),
        (("--load-rate", "-1"), 2, "--load-rate -1: max, steps or bytes/s such as 5e9 is expected"),
        (("--load-kind", "nt"), 2, "--load-kind nt: load, copy-nt or store-nt is expected"),
        (("--load-cpus", CPU), 2, f"--load-cpus: CPU {CPU} is the one that chases; give others"),
        (("--node", "1023"), 3, "--node 1023: this machine has no such NUMA node"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: tuple[str, ...], status: int, complaint: str) -> None:
    """They name the argument and what is wanted, and nothing is measured."""
    done = run("memlat", *TINY, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"memlat: {complaint}\n")


@pytest.mark.slow
@two_cpus
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers_are_content(sanitizers: str) -> None:
    """Chasing while another CPU copies: no bad access, no leak, no race."""
    done = run("memlat", *LOADED, "--load-kind", "copy-nt", flags=("-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_clang_has_no_complaint() -> None:
    """The same source, by the other compiler."""
    assert Path(built("memlat", compiler="clang")).is_file()
