"""peakflops: every operation with all instructions that are here, checked, counted and clocked."""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.plain import Quick

QUICK = ("--repeats", "2", "--seconds", "0.001")
RATES = ["fma", "muladd", "add", "mul", "chain"]
SCALARS = [f"scalar-{name}" for name in RATES]
CPU = min(os.sched_getaffinity(0))
FLAGS = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\nflags")[2].partition("\n")[0].split()
X86 = platform.machine() == "x86_64"
WITH_AVX2 = pytest.mark.skipif("fma" not in FLAGS or "avx2" not in FLAGS, reason="this CPU has no AVX2")
WIDTHS = {"scalar": 0, "sse2": 16, "avx2": 32, "avx512": 64, "neon": 16}
HERE = [isa for isa, flag in {"scalar": "fma", "sse2": "sse2", "avx2": "avx2", "avx512": "avx512f"}.items() if flag in FLAGS]


QUICKLY = Quick("peakflops", QUICK)
built, run, lines = QUICKLY.built, QUICKLY.run, QUICKLY.lines


def names(found: list[dict[str, Any]]) -> list[str]:
    """Return the variants of some lines."""
    return [line["variant"] for line in found]


@WITH_AVX2
def test_everything_is_measured_unless_some_is_named() -> None:
    """All that --list names, in its order; the clock has one line for each width."""
    listed = [each["name"] for each in json.loads(subprocess.check_output([built("cc"), "--list"]))["variants"]]
    found = lines("--isa", "avx2")
    assert [*listed, "clock"] == names(found) == [*RATES, *SCALARS, "clock", "clock"]
    assert {line["isa"] for line in found[5:10]} == {"scalar"}


@WITH_AVX2
def test_only_what_is_named_is_measured() -> None:
    """In the order of --list, whatever the order of the names."""
    assert names(lines("--variants", "scalar-add,fma", "--isa", "avx2")) == ["fma", "scalar-add"]


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("isa", HERE)
def test_flops_are_counted_by_lane(isa: str, precision: str) -> None:
    """A step does one flop to each lane of each chain, or two where it multiplies and adds."""
    size = {"double": 8, "single": 4}[precision]
    for line in lines("--isa", isa, "--precision", precision):
        width = max(WIDTHS[line["isa"]] // size, 1)
        each = 1 if line["variant"].endswith(("add", "mul")) and not line["variant"].endswith("muladd") else 2
        assert (line["lanes"], line["flops"], line["precision"]) == (width, line["chains"] * width * each, precision)


def test_every_repeat_is_told() -> None:
    """Values, and the seconds each took, at least those asked for."""
    line = lines("--variants", "muladd", "--repeats", "3", "--seconds", "0.002")[0]
    assert (len(line["values"]), len(line["seconds"]), len(line["sustained"]), line["unit"]) == (3, 3, 3, "flop/s")
    assert min(line["seconds"]) >= 0.002
    assert 0 < line["cpu_share"] <= 1


def test_cpus_are_added_up() -> None:
    """The value is what all CPUs did together; the slowest one's part stands beside it."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    line = lines("--variants", "add", "--cpus", ",".join(map(str, cpus)), "--repeats", "1")[0]
    assert line["cpus"] == cpus
    assert line["values"][0] == pytest.approx(sum(line["cpu_values"]), rel=1e-6)
    assert line["cpu_least"] == min(line["cpu_values"])


def test_flops_per_cycle_are_by_the_clock_meanwhile() -> None:
    """What an HPC engineer compares with the core's data sheet."""
    line = lines("--variants", "mul", "--repeats", "1")[0]
    assert line["flops_per_cycle"] == pytest.approx(line["values"][0] / line["clock"], rel=1e-6)
    assert line["clock_from"] in {"perf", "chain"}
    assert 0 < line["clock_resolution"] < line["clock"]


@WITH_AVX2
def test_the_clock_is_told_for_each_width_alone_and_together() -> None:
    """Scalars first; one line for the first CPU alone, one for all where there are several."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    found = lines("--variants", "clock", "--isa", "avx2", "--cpus", ",".join(map(str, cpus)))
    loads = [cpus[:1], cpus][: len(cpus)]
    assert [(line["isa"], line["cpus"]) for line in found] == [(isa, each) for isa in ("scalar", "avx2") for each in loads]
    assert {(line["unit"], line["load"]) for line in found} == {("hertz", "fma")}
    assert all(line["samples"] >= 1 for line in found)


@pytest.mark.skipif(not X86, reason="AArch64 always has FMA")
def test_without_fma_the_rest_is_measured() -> None:
    """SSE2 has no multiply and add in one: not a failure unless it was asked for by name."""
    assert [name for name in names(lines("--isa", "sse2")) if name in RATES] == ["muladd", "add", "mul"]
    done = run("--isa", "sse2", "--variants", "fma")
    complaint = "peakflops: fma: no FMA with sse2 instructions here; try muladd\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", complaint)


@pytest.mark.skipif("fma" not in FLAGS, reason="this CPU has no FMA")
def test_scalars_are_not_measured_twice() -> None:
    """With scalar instructions fma is scalar-fma."""
    assert names(lines("--isa", "scalar")) == [*RATES, "clock"]
    assert names(lines("--isa", "scalar", "--variants", "scalar-fma")) == ["scalar-fma"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["add", "mul", "muladd", "scalar-add", "clock"])
def test_a_wrong_result_is_refused(variant: str) -> None:
    """A build that leaves out one step of 32768 ends with status 1 and prints no result."""
    done = run("--variants", variant, program=built("cc", "-DBREAK_RESULT"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"peakflops: CPU {CPU} calculated wrongly with ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--variants", "fma,"), "--variants fma,: all, or names such as fma,scalar-add (see --list) is expected"),
        (("--variants", "triad"), "--variants triad: all, or names such as fma,scalar-add (see --list) is expected"),
        (("--precision", "half"), "--precision half: double or single is expected"),
        (("--precision",), "--precision needs WIDTH; see --help"),
    ],
)
def test_wrong_arguments_get_one_line(words: tuple[str, ...], complaint: str) -> None:
    """It names the argument and what it should look like."""
    done = run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"peakflops: {complaint}\n")


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "flags"), [("gcc", "-O0"), ("clang", "-O3")])
def test_other_compilers_and_optimisations_calculate_the_same(compiler: str, flags: str) -> None:
    """Each lane is checked bit for bit by the kernel itself."""
    assert lines("--variants", "add,mul,muladd,scalar-muladd", program=built(compiler, flags))


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_sanitizers_are_content(sanitizer: str) -> None:
    """Two threads, all operations."""
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    assert lines("--cpus", cpus, program=built("gcc", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_is_content() -> None:
    """With the widest instructions that it knows; nothing uninitialised, nothing lost."""
    under = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full")
    assert lines("--variants", "add,muladd,scalar-mul", "--repeats", "1", program=built("cc", "-g"), under=under)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="qemu-user is not installed")
@pytest.mark.parametrize(("cpu", "isa", "lanes_of_it"), [("cortex-a72", "neon", 2), ("max,sve256=on", "sve", 4)])
def test_aarch64_calculates_the_same(cpu: str, isa: str, lanes_of_it: int) -> None:
    """NEON, and SVE whose vectors are as long as the CPU says, under qemu."""
    program = built("aarch64-linux-gnu-gcc", "-static")
    found = lines("--repeats", "1", program=program, under=("qemu-aarch64", "-cpu", cpu))
    assert names(found)[:10] == [*RATES, *SCALARS]
    assert {(line["isa"], line["lanes"]) for line in found[:5]} == {(isa, lanes_of_it)}
