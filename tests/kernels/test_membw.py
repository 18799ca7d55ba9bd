"""membw: every pattern with all instructions that are here, its sum checked, its memory where it was asked for."""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.plain import Quick

QUICK = ("--bytes", "384KiB", "--repeats", "2", "--seconds", "0.0001", "--trial-seconds", "0.00001")
REGULAR = ["load", "store", "copy", "scale", "add", "triad", "update"]
PAST = ["load-nt", "store-nt", "copy-nt", "scale-nt", "add-nt", "triad-nt", "update-nt"]
EVERY = sorted([*REGULAR, *PAST, "copy-memcpy"])
CPUS = sorted(os.sched_getaffinity(0))
X86 = platform.machine() == "x86_64"
FLAGS = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\nflags")[2].partition("\n")[0].split()
HERE = ["scalar", *(isa for isa, flag in {"sse4": "sse4_1", "avx2": "fma", "avx512": "avx512f"}.items() if flag in FLAGS)]
ONE = "1-near-none-0"
"""A shape without trials."""


QUICKLY = Quick("membw", QUICK)
built, run, lines = QUICKLY.built, QUICKLY.run, QUICKLY.lines


def names(found: list[dict[str, Any]]) -> list[str]:
    """Return the variants of some lines, in order."""
    return sorted(line["variant"] for line in found)


def fixed(patterns: list[str]) -> str:
    """Return a list of patterns that are measured in one shape, without trials."""
    return ",".join(f"{name}:{ONE}" for name in patterns)


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("compiler", ["cc", pytest.param("clang", marks=pytest.mark.slow)])
def test_every_pattern_is_right_with_every_set(compiler: str, isa: str) -> None:
    """All patterns, each in a shape that its trials chose, pass their own check."""
    found = lines("--pattern", "all", "--isa", isa, program=built(compiler))
    assert names(found) == [name for name in EVERY if (name, isa, X86) != ("load-nt", "scalar", True)]
    assert {line["isa"] for line in found} == {isa, "library"}


def test_one_start_measures_a_list_in_its_order() -> None:
    """Patterns come out in the order asked."""
    assert [line["variant"] for line in lines("--pattern", "triad,load,copy-nt")] == ["triad", "load", "copy-nt"]


def test_the_line_keeps_the_contract() -> None:
    """Every field of the contract is there, and what it counts fits together."""
    line = lines("--pattern", f"add:{ONE},triad-nt:{ONE}", "--repeats", "3", "--cpus", ",".join(map(str, CPUS[:2])))[1]
    share = 384 * 1024 // 3 // len(CPUS[:2]) // 4096
    used = 3 * len(CPUS[:2]) * (share - 1 + share % 2) * 4096
    assert (line["contract"], line["kernel"], line["variant"], line["unit"]) == (1, "membw", "triad-nt", "bytes/s")
    assert (line["cpus"], len(line["values"]), len(line["seconds"])) == (CPUS[:2], 3, 3)
    assert (line["bytes"], line["counted_bytes"]) == (used, used)
    assert line["values"] == pytest.approx([used / seconds for seconds in line["seconds"]], rel=1e-6)
    assert (line["page_kind"], sum(line["pages"].values())) == ("normal", used // 4096)


@pytest.mark.parametrize(("name", "arrays", "counted"), [("load", 1, 1), ("copy", 2, 2), ("update", 1, 2), ("add", 3, 3)])
def test_bytes_are_counted_as_stream_counts_them(name: str, arrays: int, counted: int) -> None:
    """An array that is read and written counts twice, the read that precedes a cached store does not."""
    line = lines("--pattern", f"{name}:{ONE}", "--bytes", str(arrays * 20480))[0]
    assert (line["bytes"], line["counted_bytes"]) == (arrays * 20480, counted * 20480)


@pytest.mark.parametrize("shape", ["1-near-none-0", "4-near-nta-256", "3-far-l1-256", "5-far-l2-512", "31-far-w-256"])
def test_a_shape_can_be_asked_for(shape: str) -> None:
    """What is asked for is walked, without trials, every element once, and said."""
    found = lines("--pattern", ",".join(f"{name}:{shape}" for name in [*REGULAR, *PAST]))
    assert {(line["shape"], line["trials"]) for line in found} == {(shape, 0)}
    assert names(found) == sorted([*REGULAR, *PAST])


@pytest.mark.parametrize("isa", HERE)
def test_a_shape_names_its_vectors(isa: str) -> None:
    """The end of a shape says which instructions walk; without it, or in trials with --isa, the ones asked for do."""
    found = lines("--pattern", f"load:{ONE}-{isa},triad:{ONE},load", "--isa", HERE[0])
    assert [line["isa"] for line in found] == [isa, HERE[0], HERE[0]]
    assert [line["shape"] for line in found[:2]] == [f"{ONE}-{isa}", ONE]


def test_streams_limit_the_trials() -> None:
    """With --streams only shapes of so many are tried."""
    line = lines("--pattern", "load", "--streams", "4")[0]
    assert (line["streams"], line["shape"].split("-")[0], line["trials"] > 3) == (4, "4", True)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_wrong_result_is_refused(name: str) -> None:
    """A build that forgets a block of each stream prints no result and ends with 1."""
    done = run("--pattern", name if name == "copy-memcpy" else fixed([name]), program=built("cc", "-DBREAK_RESULT"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"membw: {name}: thread 0 ")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--pattern", "quad"), 2, "--pattern quad: all, or names such as load,triad-nt (see --list)"),
        (("--pattern", "load,"), 2, "--pattern load,: all, or names such as load,triad-nt"),
        (("--pattern", "load:8"), 2, "--pattern load:8: after a colon a shape such as 8-far-nta-256"),
        (("--pattern", "load:0-far-none-0"), 2, "after a colon a shape"),
        (("--pattern", "load:1-far-none-0x"), 2, "after a colon a shape"),
        (("--pattern", "load:1-far-none-0-mmx"), 2, "after a colon a shape"),
        (("--pattern", "load:9999-far-none-0"), 2, "--pattern load: its streams need more --bytes"),
        (("--streams", "0"), 2, "--streams 0: auto, or how many"),
        (("--streams", "5"), 2, "--streams 5: 1, 2, 3, 4, 6, 8 or 16"),
        (("--bytes", "4096"), 2, "--bytes 4096: at least 12288"),
        (("--bytes", "many"), 2, "--bytes many: a size"),
        (("--seconds", "0"), 2, "--seconds 0: seconds"),
        (("--isa", "avx1024"), 2, "--isa avx1024: "),
        (("--pattern", "all:8"), 2, "--pattern all:8: after a colon a shape"),
        (("--wide", "1"), 2, "unknown argument --wide"),
        (("--bytes", "1000000GiB"), 3, "ask for fewer --bytes"),
        (("--node", "1000"), 3, "--node 1000: this machine has no such NUMA node"),
    ],
)
def test_wrong_arguments_give_one_line(words: tuple[str, ...], status: int, said: str) -> None:
    """What cannot be done is said in one line, with the contract's status and no result."""
    done = run(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n"), said in done.stderr) == (status, "", 1, True)


@pytest.mark.skipif(not X86, reason="AArch64 has such a load of two doubles")
def test_what_scalar_code_lacks_is_refused_by_name() -> None:
    """x86-64 loads past the cache only into vectors: asked for by name, that ends with 3; of all, it is left out."""
    done = run("--pattern", "load-nt", "--isa", "scalar")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "membw: load-nt: scalar code cannot go past the cache here\n"


def test_memory_lies_on_the_node_asked() -> None:
    """Every sampled page is on node 0."""
    if not Path("/sys/devices/system/node/node0").is_dir():
        pytest.skip("this kernel knows no NUMA nodes")
    found = lines("--pattern", fixed(["copy"]), "--node", "0")
    if "unknown" in found[0]["pages"]:
        pytest.skip("move_pages is not allowed here")
    assert [(line["node"], list(line["pages"])) for line in found] == [(0, ["0"])]


def test_huge_pages_are_said_only_where_they_are() -> None:
    """With --pages huge the kind is what the kernel's own account of the mapping says."""
    line = lines("--pattern", fixed(["load"]), "--pages", "huge", "--bytes", "16MiB")[0]
    never = "[never]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    assert line["page_kind"] in ({"normal"} if never else {"huge", "mixed", "normal"})
    small = lines("--pattern", fixed(["load"]), "--pages", "huge", "--bytes", "64KiB")[0]
    assert small["page_kind"] == "normal"


@pytest.mark.slow
@pytest.mark.parametrize("options", ["-fsanitize=address,undefined", "-fsanitize=thread"])
def test_sanitizers_are_silent(options: str) -> None:
    """Two threads, every pattern, no report."""
    flags = (options, "-fno-sanitize-recover=all", "-g")
    cpus = ",".join(map(str, CPUS[:2]))
    assert names(lines("--pattern", "all", "--streams", "2", "--cpus", cpus, program=built("gcc", *flags))) == EVERY


@pytest.mark.slow
def test_valgrind_is_silent() -> None:
    """No wrong access, no leak; valgrind knows no AVX-512."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    under = ("valgrind", "-q", "--leak-check=full", "--error-exitcode=9")
    isa = "avx2" if "avx2" in HERE else "scalar"
    found = lines(
        "--pattern", fixed(["load", "triad", "triad-nt", "update"]), "--isa", isa, program=built("gcc", "-g"), under=under
    )
    assert len(found) == 4


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["scalar", "neon", "sve"])
def test_every_pattern_is_right_on_aarch64(isa: str) -> None:
    """Built for AArch64, run by qemu, with plain C, NEON and SVE."""
    if not shutil.which("qemu-aarch64"):
        pytest.skip("qemu-aarch64 is not installed")
    program = built("aarch64-linux-gnu-gcc", "-static")
    under = ("qemu-aarch64", "-cpu", "max,sve=on")
    assert (
        names(lines("--pattern", f"{fixed([*REGULAR, *PAST])},copy-memcpy", "--isa", isa, program=program, under=under)) == EVERY
    )


@pytest.mark.slow
def test_sve_is_refused_where_it_is_not() -> None:
    """A CPU without SVE ends with 3 and one line; unasked, NEON is taken."""
    if not shutil.which("qemu-aarch64"):
        pytest.skip("qemu-aarch64 is not installed")
    program, under = built("aarch64-linux-gnu-gcc", "-static"), ("qemu-aarch64", "-cpu", "cortex-a72")
    done = run("--isa", "sve", program=program, under=under)
    assert (done.returncode, done.stderr) == (3, "membw: --isa sve: this CPU does not support it\n")
    assert [line["isa"] for line in lines("--pattern", fixed(["load"]), program=program, under=under)] == ["neon"]


@pytest.mark.slow
@pytest.mark.skipif(not X86, reason="disassembles x86-64")
def test_stores_past_the_cache_are_those_instructions() -> None:
    """Each set's table has its own streaming store, and the scalar loops have no wide one."""
    if not shutil.which("objdump"):
        pytest.skip("objdump is not installed")
    text = subprocess.run(["objdump", "-d", built("gcc", "-O3")], capture_output=True, text=True, check=True).stdout
    parts = {part.split(">:", 1)[0].split("<")[-1]: part for part in text.split("\n\n") if ">:" in part}
    wide = {isa: parts[f"{isa}_COPY_1_HINT_NONE"] for isa in ("scalar", "sse4", "avx2", "avx512")}
    assert ["movnti" in wide["scalar"], "ymm" in wide["scalar"], "vmovnt" in wide["avx2"], "ymm" in wide["avx2"]] == [
        True,
        False,
        True,
        True,
    ]
    assert ["vmovnt" in wide["avx512"], "zmm" in wide["avx512"]] == [True, True]
    assert ["movntpd" in wide["sse4"] or "movntps" in wide["sse4"], "ymm" in wide["sse4"]] == [True, False]


def test_it_says_what_it_can_do() -> None:
    """--list names every pattern with what an element costs, --help every argument."""
    listed = json.loads(run("--list").stdout)
    pairs = [name for pair in zip(REGULAR, PAST, strict=True) for name in pair]
    assert [each["name"] for each in listed["variants"]] == [*pairs, "copy-memcpy"]
    assert {"name": "triad-nt", "unit": "bytes/s", "read": 16, "written": 8, "flops": 2}.items() <= listed["variants"][11].items()
    assert all(
        f"--{word}" in run("--help").stdout for word in ("pattern", "bytes", "seconds", "streams", "cpus", "node", "isa", "pages")
    )
