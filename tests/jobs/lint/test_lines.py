"""Lines as people write them: what is warned of, and how other launchers say the same."""

import pytest

from advisor.errors import BadInput
from advisor.jobs.line import binders, parse
from advisor.jobs.lint import lint
from advisor.jobs.placement import Lint
from advisor.jobs.predict import predict
from advisor.machine.hardware import Port
from tests.jobs.place.samples import machine

NAPLES, ROME, SMT, UNEVEN, HASWELL = (
    "a-r7425-2x7601-dell",
    "b-c6525-2x7702-nps4",
    "a-r7425-2x7601-dell-smt",
    "uneven-l3",
    "c-c6320-2x2660v3",
)
UCX = "-mca pml ucx -x UCX_NET_DEVICES=mlx5_0:1 -x UCX_TLS=rc_x -mca coll_hcoll_enable 0"
DIST = "--map-by dist:span -mca rmaps_dist_device mlx5_0"
LONG = ",".join(map(str, range(0, 60, 2)))
FILES = {
    "rf": "rank 0=localhost slot=0-1\nrank 1=localhost slot=2-3\n",
    "pairs": "rank 0=localhost slot=1:0-3\n",
    "long": f"rank 0=localhost slot={LONG}\n",
    "lap": "rank 0=localhost slot=0-3\nrank 1=localhost slot=2-5\n",
    "two": "rank 0=n1 slot=0\nrank 1=n2 slot=0\n",
}


def told(name: str, version: str | None, line: str) -> Lint:
    """Return what is said of a line on a machine of the catalogue."""
    return lint([line], machine(name), version=version, files=FILES)


LINES: tuple[tuple[str, str | None, str, str], ...] = (
    # Article [000], as printed and as meant.
    (
        NAPLES,
        None,
        f"mpirun -np 2 -host node1,node2 {UCX} --bind-to core {DIST} numactl \u2013cpunodebind=6 osu_latency",
        "odd-hyphen binders-fight",
    ),
    (
        NAPLES,
        "4.1.4",
        "mpirun -np 2 -host n8,n9 -x UCX_NET_DEVICES= mlx5_0:1 -x UCX_TLS=rc_x --bind-to core numactl --cpunodebind=6 osu_bibw",
        "stray-blank binders-fight",
    ),
    (
        NAPLES,
        None,
        f"mpirun -np 16 \u2013host server1,server2 {UCX} --bind-to core numactl cpunodebind= osu_mbw_mr",
        "odd-hyphen stray-word slots-short",
    ),
    (NAPLES, None, f"mpirun -np 2 \u2013rf rf {UCX} osu_mbw_mr", "odd-hyphen"),
    (NAPLES, "5.0.6", "mpirun -np 2 -rf rf osu_mbw_mr", "rankfile-of-4"),
    (NAPLES, "5.0.6", "mpirun -np 2 --map-by dist:span --mca rmaps_dist_device mlx5_0 --bind-to core ./a", "dist-gone"),
    (NAPLES, "4.1.4", "mpirun -np 8 --map-by dist:span --mca rmaps_dist_device mlx5_0 --bind-to core ./a", ""),
    # Defaults.
    (ROME, "4.1.4", "mpirun -np 8 ./a", "nps-default"),
    (ROME, "4.1.4", "mpirun -np 2 ./a", "default-binding same-cores-again"),
    (ROME, "5.0.6", "mpirun -np 2 ./a", "default-binding same-cores-again"),
    (ROME, "5.0.6", "mpirun -np 64 ./a", "default-binding"),
    (ROME, "4.1.4", "mpirun -np 4 ./a & mpirun -np 4 ./b", "same-cores-again"),
    (
        ROME,
        "5.0.6",
        "mpirun -np 8 --map-by core --bind-to core ./a & mpirun -np 8 --map-by core --bind-to core ./b",
        "same-cores-again",
    ),
    (HASWELL, "4.1.4", "mpirun -np 20 --bind-to core ./a", ""),
    (ROME, "5.0.6", "mpirun -N 8 ./a", "per-node"),
    (ROME, "5.0.6", "mpirun -np 8 --map-by ppr:8:node ./a", "per-node"),
    (ROME, "5.0.6", "mpirun -np 8 --map-by slot ./a", "per-node"),
    # 4 on 5 and 5 on 4.
    (ROME, "5.0.6", "mpirun -np 8 --mca rmaps_base_mapping_policy numa --map-by core --bind-to core ./a", "ignored-parameter"),
    (ROME, "5.0.6", "OMPI_MCA_hwloc_base_binding_policy=numa mpirun -np 8 ./a", "ignored-parameter default-binding"),
    (ROME, "5.0.6", "mpirun --mca rmaps_rank_file_physical 1 --map-by rankfile:file=rf ./a", "physical-ignored"),
    (ROME, "5.0.6", "mpirun -np 4 --bind-to cpu-list:ordered --cpu-list 0,2,4,6 ./a", "gone-in-5"),
    (ROME, "5.0.6", "mpirun -np 8 --map-by socket --rank-by core --bind-to core ./a", "gone-in-5"),
    (ROME, "5.0.6", "mpirun -np 8 -map-by numa -bind-to core ./a", "single-hyphen"),
    (ROME, "5.0.11", "mpirun -np=8 --map-by=numa --bind-to core ./a", "value-apart"),
    (ROME, "4.1.4", "mpirun -np 8 --bind-to=none --report-bindings ./a", "value-apart"),
    (ROME, "5.0.6", "mpirun --novm -np 4 --map-by core --bind-to core ./a", "gone-in-5"),
    (ROME, "5.0.6", "mpirun -np 4 --map-by numa,PE=2 ./a", "comma"),
    (ROME, "4.1.4", "mpirun -np 8 --map-by ppr:1:package --bind-to core ./a", "only-in-5"),
    (ROME, "4.1.4", "mpirun -np 2 --map-by rankfile:file=rf ./a", "only-in-5"),
    (ROME, "4.1.4", "mpirun -np 4 --map-by pe-list=0,1,2,3:ordered ./a", "only-in-5"),
    # Lists and rankfiles.
    (ROME, "4.1.4", "mpirun -np 4 --cpu-list 40,2,36,6 --bind-to cpu-list:ordered ./a", "order-ignored"),
    (ROME, "5.0.6", "mpirun -np 4 --map-by pe-list=0-3:ordered ./a", "ranges-not-expanded"),
    (ROME, "5.0.6", "mpirun -np 4 --map-by pe-list=0,1,2,3 ./a", "same-cpus"),
    (ROME, "4.1.4", "mpirun -np 4 --cpu-set 0 ./a", "same-core"),
    (SMT, "5.0.3", "mpirun --map-by rankfile:file=rf:hwtcpus ./a", "hwthread-rankfile"),
    (SMT, "5.0.11", "mpirun --map-by rankfile:file=two --host n1,n2 ./a", "hetero-nodes"),
    (ROME, "4.1.4", "mpirun -rf pairs ./a", "socket-pairs"),
    (ROME, "5.0.11", "mpirun --map-by rankfile:file=long ./a", "slot-too-long"),
    (ROME, "4.1.4", "mpirun -rf gone ./a", "rankfile-unread"),
    # Places.
    (UNEVEN, "4.1.4", "mpirun -np 8 --map-by ppr:2:l3cache:PE=2 ./a", "uneven-parts"),
    (ROME, "4.1.4", "mpirun -np 8 --map-by slot:PE=6 ./a", "across-l3 across-numa"),
    (ROME, "4.1.4", "OMP_NUM_THREADS=4 mpirun -np 8 --map-by numa --bind-to core ./a", "too-many-threads"),
    (
        ROME,
        "5.0.6",
        "mpirun -np 16 --host n1:8,n2:8 --map-by core --bind-to core -x UCX_NET_DEVICES=mlx5_0:1 ./a",
        "far-from-hca",
    ),
    (ROME, "5.0.6", "mpirun -np 8 --map-by core --bind-to core ./a", "one-memory"),
    (ROME, "4.1.4", "OMP_NUM_THREADS=16 mpirun -np 16 --bind-to none ./a", "too-many-threads"),
    (ROME, "5.0.11", "OMP_NUM_THREADS=4 mpirun -np 64 --host n1:32,n2:32 --bind-to none ./a", ""),
    (ROME, "4.1.4", "mpirun -rf lap ./a", "overlapping"),
    (ROME, "5.0.11", "mpirun -np 5 --map-by ppr:2:numa --bind-to core ./a", "ppr-in-part"),
    (ROME, "5.0.11", "mpirun -np 200 --bind-to core ./a", "refused"),
    (ROME, "4.1.4", "mpirun -np 32 --map-by ppr:1:l3cache:pe=4 ./a", ""),
    (ROME, "5.0.11", "mpirun -np 8 --map-by numa --bind-to core --frobnicate ./a", "unknown-option"),
    (ROME, "5.0.11", "numactl -N 0 mpirun -np 8 --map-by numa --bind-to core ./a", "binder-outside"),
    # The others.
    (ROME, "intelmpi-2021.18", "I_MPI_PIN_DOMAIN=[f,f0] mpiexec.hydra -n 2 ./a", "mask-without-0x"),
    (ROME, "intelmpi-2021.18", "mpiexec.hydra -n 3 -genv I_MPI_PIN_DOMAIN [0xf,0xf0] ./a", "mask-count"),
    (ROME, "intelmpi-2021.18", "mpiexec.hydra -n 4 -genv I_MPI_PIN_PROCESSOR_LIST 0-7 ./a", "list-count"),
    (ROME, "mpich-5.0.2", "mpiexec -n 4 -bind-to user:0,1 ./a", "user-list-short"),
    (ROME, "mpich-5.0.2", "mpiexec -n 8 -bind-to core:4 -map-by numa ./a", ""),
    (ROME, "slurm-22.05.8", "OMP_NUM_THREADS=4 srun -n 8 --cpu-bind=cores ./a", "cpus-not-inherited"),
    (ROME, "slurm-24.05", "srun -n4 --cpu-bind=map_cpu:0,1 ./a", "short-list same-core"),
    (ROME, "slurm-24.05", "srun -n 2 --cpu-bind=mask_cpu:0x0,0xf ./a", "empty-mask"),
    (ROME, "slurm-24.05", "srun -N1 -n8 -c4 -m block:block --cpu-bind=verbose,cores ./a", ""),
)


@pytest.mark.parametrize(
    ("name", "version", "line", "wanted"), LINES, ids=[f"{i}-{row[3] or 'clean'}" for i, row in enumerate(LINES)]
)
def test_what_is_warned_of(name: str, version: str | None, line: str, wanted: str) -> None:
    """Every warning that is wanted is there, with evidence; a line without faults has none that says ranks are elsewhere."""
    found = told(name, version, line).warnings
    assert set(wanted.split()) <= {each.id for each in found}
    assert all(each.what and each.why and each.evidence for each in found)
    if not wanted:
        assert [each.id for each in found if each.misbinds or each.id in ("refused", "unknown-option")] == []


TRANSLATIONS = (
    (
        "4.1.4",
        "mpirun -np 32 --map-by ppr:1:l3cache:pe=4 ./a",
        "openmpi5",
        "mpirun -np 32 --map-by ppr:1:l3cache:PE=4 --bind-to core ./a",
    ),
    ("4.1.4", "mpirun -np 8 ./a", "openmpi5", "mpirun -np 8 --map-by numa --rank-by slot --bind-to numa ./a"),
    (
        "4.1.4",
        "mpirun -np 10 --map-by socket:PE=4 ./a",
        "openmpi5",
        "mpirun -np 10 --map-by package:PE=4 --rank-by slot --bind-to core ./a",
    ),
    (
        "5.0.11",
        "mpirun -np 10 --map-by package:PE=4 ./a",
        "openmpi4",
        "mpirun -np 10 --map-by socket:PE=4 --rank-by core --bind-to core ./a",
    ),
    ("5.0.11", "mpirun -np 8 --display bind ./a", "openmpi4", "mpirun -np 8 --map-by core --bind-to core --report-bindings ./a"),
    ("4.1.4", "mpirun -rf rf -np 2 ./a", "openmpi5", "mpirun -np 2 --map-by rankfile:file=rf ./a"),
    ("5.0.11", "mpirun --map-by rankfile:file=rf ./a", "openmpi4", "mpirun --rankfile rf ./a"),
    ("4.1.4", "mpirun -np 2 -report-bindings --bind-to none ./a", "openmpi5", "mpirun -np 2 --bind-to none --display bind ./a"),
    (
        "4.1.4",
        "mpirun -np 2 --map-by core --bind-to core ./a",
        "srun",
        "srun --nodes 1 --ntasks 2 --distribution block:block --cpus-per-task=1 --cpu-bind=cores ./a",
    ),
    ("4.1.4", "mpirun -np 8 --map-by numa --bind-to core ./a", "mpich", "mpiexec -n 8 -bind-to core -map-by numa ./a"),
    (
        "slurm-24.05",
        "srun -n 2 --cpu-bind=map_cpu:5,9 ./a",
        "openmpi5",
        "mpirun -np 2 --map-by pe-list=5,9:ordered --bind-to core ./a",
    ),
    ("slurm-24.05", "srun -n 2 --cpu-bind=none ./a", "openmpi5", "mpirun -np 2 --bind-to none ./a"),
    (
        "mpich-5.0.2",
        "mpiexec -n 2 -bind-to user:0-3,4-7 ./a",
        "srun",
        "srun --nodes 1 --ntasks 2 --distribution block:block --cpus-per-task=4 --cpu-bind=cores ./a",
    ),
    (
        "5.0.11",
        "mpirun -np 2 --map-by numa --bind-to numa ./a",
        "intelmpi",
        "mpiexec.hydra -genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN numa -genv I_MPI_PIN_ORDER compact -n 2 ./a",
    ),
)


@pytest.mark.parametrize(("version", "line", "launcher", "wanted"), TRANSLATIONS)
def test_how_others_say_it(version: str, line: str, launcher: str, wanted: str) -> None:
    """The equivalent line, word for word."""
    found = {each.launcher: each for each in told(ROME, version, line).translations}
    assert found[launcher].line == wanted


def test_what_cannot_be_translated_is_named() -> None:
    """Options of the library that no other has, and ranks whose place is not known."""
    found = {each.launcher: each for each in told(ROME, "4.1.4", "mpirun -np 8 --mca pml ucx --bind-to core ./a").translations}
    assert found["openmpi5"].lost == ()
    assert found["srun"].lost == ("no equivalent for --mca pml ucx",)
    unknown = told(ROME, "4.1.4", "mpirun -np 8 --map-by seq ./a").translations
    assert {each.launcher for each in unknown if each.line is None} == {"openmpi5", "srun", "mpich", "intelmpi"}
    assert all("placement of ranks" in each.lost[0] for each in unknown)


SUPPOSED = "assumed because it is the newest; give --launcher-version"


@pytest.mark.parametrize(
    ("line", "launcher", "known_from"),
    [
        ("mpirun -rf F ./a", "openmpi4", "options that only Open MPI 4 has"),
        ("mpirun --map-by pe-list=0:ordered ./a", "openmpi5", "syntax that only Open MPI 5 accepts"),
        ("prterun -np 2 ./a", "openmpi5", "the word prterun"),
        ("mpiexec -ppn 2 -n 2 ./a", "mpich", "the name mpiexec"),
        ("mpiexec.hydra -genv I_MPI_PIN 1 -n 2 ./a", "intelmpi", "the name mpiexec.hydra"),
        ("srun -n2 ./a", "srun", "the name srun"),
        ("mpiexec -n 4 -bind-to hwthread:2 ./a", "mpich", "the name mpiexec"),
        ("mpirun -np 4 ./lmp -in in.lj -f 3 -ppn 2 --depth 4 I_MPI_X", "openmpi5", SUPPOSED),
        ("mpirun -np 4 -x A=1 ./a --cpu-bind=2 -rf dist --display pe-list=0", "openmpi5", SUPPOSED),
        ("/opt/ompi/bin/mpirun -np 2 ./a", "openmpi5", SUPPOSED),
    ],
)
def test_the_launcher_is_told_by_words(line: str, launcher: str, known_from: str) -> None:
    """By the first word, by options before the program that one alone has; else the newest is supposed and that is said."""
    found = lint([line], machine(ROME).model_copy(update={"tools": None}))
    assert (found.launcher, found.known_from) == (launcher, known_from)


def test_a_word_that_the_supposed_launcher_lacks_is_no_proof_that_nothing_starts() -> None:
    """Open MPI 4 and MPICH take it; only where 5 was named is the line refused."""
    bare = machine(ROME).model_copy(update={"tools": None})
    line = "mpirun -np 4 -bind-to core -map-by socket ./a"
    assert predict(parse([line]), bare, {}).refused is None
    assert predict(parse([line]), bare, {}).unclear is not None
    assert predict(parse([line], "5.0.11"), bare, {}).refused is not None


def test_a_better_line_says_each_thing_once() -> None:
    """Where a rankfile becomes a way of mapping, the line's own --map-by goes."""
    files = {"rf": "rank 0=localhost slot=0\nrank 1=localhost slot=1\n"}
    found = lint(["mpirun -np 2 -rf rf --map-by socket --bind-to core ./a"], machine(ROME), version="5.0.6", files=files)
    better = [each.better for each in found.warnings if each.id == "rankfile-of-4"]
    assert better == ["mpirun -np 2 --map-by rankfile:file=rf --bind-to core ./a"]


def test_a_line_with_several_unknown_words_has_one_better_line() -> None:
    """All of them are put right in it, and it has no problem of its own."""
    found = lint(["mpirun -np 8 -map-by numa -bind-to core ./a"], machine(ROME), version="5.0.11")
    better = {each.better for each in found.warnings if each.id == "single-hyphen"}
    assert better == {"mpirun -np 8 --map-by numa --bind-to core ./a"}


@pytest.mark.parametrize(("name", "version", "line"), [each[:3] for each in LINES])
def test_a_better_line_is_one_that_lint_accepts(name: str, version: str | None, line: str) -> None:
    """It is predicted rank by rank, binds none wrongly, and has not the problem that it cures."""
    found = told(name, version, line)
    first = next((word for word in line.split() if "=" not in word), "")
    for each in found.warnings:
        if each.better and first in each.better.split():
            again = told(name, f"{found.launcher} {found.version or ''}", each.better)
            problems = [other.id for other in again.warnings if other.misbinds or other.id == each.id]
            assert (again.ranks is None, problems) == (False, [])


def test_the_ranks_of_two_programs_follow_each_other() -> None:
    """Over cores; where each may begin anew nothing is told, and nothing warned of."""
    row = told(ROME, "5.0.6", "mpirun -np 2 --map-by core --bind-to core ./a : -np 2 ./b")
    assert [str(rank.cpus) for rank in row.ranks or ()] == ["0", "1", "2", "3"]
    assert row.command == ("./a", ":", "./b")
    (better,) = [each.better for each in told(ROME, "4.1.4", "mpirun -np 4 ./a : -np 4 ./b").warnings]
    assert better == "mpirun -np 4 --map-by core --bind-to core ./a : -np 4 ./b"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mpirun -np 2 ./a : ./b", "how a line that starts 2 programs shares"),
        ("srun -n 2 ./a : -n 2 ./b", "what each gets is known only for Open MPI"),
        ("mpirun -np 2 ./a : -np 2 --host n1 ./b", "how a line that starts 2 programs shares"),
        ("mpirun -np 2 ./a : -np 2 numactl -N 1 ./b", "how a line that starts 2 programs shares"),
    ],
)
def test_programs_of_which_too_little_is_known_are_left_alone(line: str, why: str) -> None:
    """It is said an unknown value; nothing is warned of."""
    found = told(ROME, None, line)
    assert (found.ranks, found.warnings) == (None, ())
    assert why in found.binding


@pytest.mark.parametrize(
    ("version", "line", "wanted"),
    [
        ("5.0.6", "mpirun -np 4 --map-by ppr:2 ./a", "--map-by ppr:2 is not predicted"),
        (
            "4.1.4",
            "mpirun --hostfile slots --map-by node --bind-to core ./a",
            "4 ranks on 2 hosts, each bound to one core; on the first host (CPUs of rank 0: 0; rank 2: 1)",
        ),
        ("5.0.6", "env -u A -C /tmp mpirun -np 2 --bind-to core ./a", "2 ranks, each bound to one core"),
        ("5.0.6", "env -i stdbuf -o L -eL time -p mpirun -np 2 --bind-to core ./a", "2 ranks, each bound to one core"),
        ("slurm-24.05", "SLURM_GPUS=2 srun -n 4 ./a", "Placement unknown: the effect of SLURM_GPUS is not predicted"),
        ("slurm-24.05", "SLURM_HOSTFILE=star srun -n 2 -m arbitrary ./a", "the SLURM_HOSTFILE file cannot be interpreted"),
        ("slurm-24.05", "SLURM_HOSTFILE=none srun -n 2 -m arbitrary ./a", "the SLURM_HOSTFILE file cannot be interpreted"),
        ("slurm-24.05", "srun -n 4 --hint=multithread,compute_bound ./a", "--hint=multithread,compute_bound is not predicted"),
    ],
)
def test_what_is_said_of_the_binding(version: str, line: str, wanted: str) -> None:
    """Where ranks go, why nothing starts, or an unknown value."""
    files = {**FILES, "slots": "n1 slots=2\nn2 slots=2\n", "star": "n1*2\n", "none": "\n"}
    assert wanted in lint([line], machine(ROME), version=version, files=files).binding


@pytest.mark.parametrize(
    ("version", "line", "better"),
    [
        ("4.1.4", "mpirun --prtemca a b -np 2 --bind-to none ./a", "mpirun --mca a b -np 2 --bind-to none ./a"),
        ("4.1.4", "mpirun --omca a b -np 2 --bind-to none ./a", "mpirun --mca a b -np 2 --bind-to none ./a"),
        ("4.1.4", "mpirun --omca a 'b c' -np 2 --bind-to none ./a", "write --mca instead"),
    ],
)
def test_a_better_line_keeps_the_values_of_an_option(version: str, line: str, better: str) -> None:
    """A parameter keeps its name and its value under the option that this version knows."""
    assert [each.better for each in told(ROME, version, line).warnings if each.id in ("only-in-5", "gone-in-4")] == [better]


@pytest.mark.parametrize(
    ("line", "version", "known_from"),
    [
        ("mpirun_rsh -np 2 n1 n1 ./a", "2.3.7", "--launcher-version"),
        ("mpirun_rsh -np 2 n1 n1 ./a", None, "the name mpirun_rsh"),
        ("mpiexec.mpich -np 2 ./a", None, "the name mpiexec.mpich"),
    ],
)
def test_the_version_is_the_one_that_was_given(line: str, version: str | None, known_from: str) -> None:
    """What was said counts, else the word that the line starts with."""
    bare = machine(ROME).model_copy(update={"tools": None})
    assert lint([line], bare, version=version).known_from == known_from


@pytest.mark.parametrize(("ranks", "warned"), [(2, False), (3, True)])
def test_three_ranks_at_one_memory_are_warned_of(ranks: int, warned: bool) -> None:
    """Two are too few to say that memory of the others is missed."""
    found = told(ROME, "5.0.6", f"mpirun -np {ranks} --map-by core --bind-to core ./a").warnings
    assert ("one-memory" in {each.id for each in found}) is warned


def test_options_that_open_mpi_4_lacks_have_no_equal_there() -> None:
    """An option of the runtime of 5 is named as lost; one that both have is kept."""
    line = "mpirun -np 8 --map-by numa --bind-to core --report-bindings --pmixmca a b ./a"
    (found,) = [each for each in told(ROME, "5.0.6", line).translations if each.launcher == "openmpi4"]
    assert (found.lost, "--report-bindings" in (found.line or ""), "--pmixmca" in (found.line or "")) == (
        ("no equivalent for --pmixmca a b",),
        True,
        False,
    )


@pytest.mark.parametrize("launcher", ["ibrun", "/opt/bin/ccc_mprun", "poe"])
def test_launchers_that_are_not_read_are_named(launcher: str) -> None:
    """In one line, with those that are."""
    with pytest.raises(BadInput, match="this launcher's lines are not supported; supported: mpirun, mpiexec"):
        told(ROME, None, f"{launcher} -np 2 n1 n2 ./a")


def test_options_have_a_clause_each() -> None:
    """Variables, options, numactl: what each says."""
    found = told(ROME, "4.1.4", "OMP_NUM_THREADS=4 mpirun -np 2 -x UCX_TLS=rc_x --bind-to core numactl -m 0 ./a").options
    assert [(each.text, each.says) for each in found] == [
        ("OMP_NUM_THREADS=4", "gives each rank 4 threads"),
        ("-np 2", "starts 2 ranks"),
        ("-x UCX_TLS=rc_x", "lets UCX use rc_x"),
        ("--bind-to core", "sets CPU binding to core"),
        ("numactl -m 0", "takes the memory of each rank from 0"),
    ]


def test_what_a_line_does_in_words() -> None:
    """Ranks that share a node's cores are counted."""
    assert told(ROME, "4.1.4", "mpirun -np 8 --bind-to none ./a").binding == (
        "8 ranks, none bound: the kernel moves them across all 128 cores."
    )
    assert told(ROME, "4.1.4", "mpirun -np 16 --map-by ppr:16:numa --bind-to numa ./a").binding == (
        "16 ranks, each bound to one NUMA node: 16 ranks share the 16 cores of NUMA node 0 (CPUs 0-15)."
    )


def test_the_adapter_is_far_for_ranks_of_several_hosts_only() -> None:
    """On one host no message goes through it: no warning, so no exit status 1."""
    alone = "mpirun -np 2 --map-by core --bind-to core -x UCX_NET_DEVICES=mlx5_0:1 ./a"
    assert [each.id for each in told(ROME, "4.1.4", alone).warnings] == []
    two = alone.replace("-np 2", "-np 4 --host n1:2,n2:2")
    assert [each.id for each in told(ROME, "4.1.4", two).warnings] == ["far-from-hca"]


def test_unbound_ranks_with_more_threads_than_cores_are_warned_of() -> None:
    """256 threads on 128 cores, wherever the kernel puts them."""
    (found,) = told(ROME, "4.1.4", "OMP_NUM_THREADS=16 mpirun -np 16 --bind-to none ./a").warnings
    assert (found.id, found.evidence) == ("too-many-threads", "16 ranks of 16 threads on a node of 128 cores, none bound")


def test_all_ranks_at_one_of_eight_memories_are_warned_of() -> None:
    """With a line that takes all eight."""
    found = [
        each for each in told(ROME, "4.1.4", "mpirun -np 16 --map-by core --bind-to core ./a").warnings if each.id == "one-memory"
    ]
    assert [each.what for each in found] == ["all ranks of a node are on NUMA node 0, one of 8"]
    assert [each.better for each in found] == ["mpirun -np 16 --map-by ppr:2:numa --bind-to core ./a"]


def test_ranks_that_overlap_are_warned_of() -> None:
    """Two of four cores are of both."""
    found = [each for each in told(ROME, "4.1.4", "mpirun -rf lap ./a").warnings if each.id == "overlapping"]
    assert [each.what for each in found] == ["ranks 0 and 1 of a node share 2 CPUs"]


ALTERNATE = "mpirun --host n1:2,n2:2 -np 4 --map-by node --bind-to core ./a"


def test_ranks_that_alternate_between_hosts_are_translated_where_there_are_words_for_it() -> None:
    """Open MPI 5 has the same; others are not told a line that puts ranks elsewhere."""
    found = {each.launcher: each for each in told(ROME, "4.1.4", ALTERNATE).translations}
    assert found["openmpi5"].line == "mpirun -np 4 --host n1:2,n2:2 --map-by node --bind-to core ./a"
    assert [found[name].line for name in ("srun", "mpich", "intelmpi")] == [None] * 3


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
def test_a_line_for_several_hosts_is_the_same_for_the_other_version(version: str) -> None:
    """What is told of the translated line is what is told of the line."""
    other, release = ("openmpi5", "5.0.11") if version[0] == "4" else ("openmpi4", "4.1.4")
    for words in ("--map-by node --bind-to core", "--map-by core", "-N 2 --bind-to core", "--map-by numa", "--bind-to none"):
        line = f"mpirun --host n1:4,n2:2 -np 4 {words} ./a"
        ours = told(ROME, version, line)
        (theirs,) = [each for each in ours.translations if each.launcher == other]
        assert theirs.line
        files = {**FILES, **{name: "\n".join(rows) for name, rows in theirs.files.items()}}
        assert lint([theirs.line], machine(ROME), version=release, files=files).ranks == ours.ranks


def test_an_ethernet_card_beside_the_fabric_is_no_adapter_to_be_near_to() -> None:
    """Ranks on the Ethernet card's socket are still far from InfiniBand, and that is the adapter the advice names."""
    here = machine("two-hcas")
    ports = [(Port(number=1, state="active", link_layer=layer),) for layer in ("ethernet", "infiniband")]
    hcas = tuple(hca.model_copy(update={"ports": own}) for hca, own in zip(here.hcas or (), ports, strict=True))
    line = "mpirun -np 4 --host n1:2,n2:2 --map-by core --bind-to core ./a"
    found = lint([line], here.model_copy(update={"hcas": hcas}), version="4.1.4", files=FILES).warnings
    assert [(each.id, each.better) for each in found] == [("far-from-hca", "advisor bind --near mlx5_1 -- ./app")]


STILL = "--bind-to-core|--display-map|--report-bindings|--bynode|-npernode 2|--cpus-per-proc 2|-mapby core|--cpu-set 0,1|-pernode"
GONE = "--bind-to-cores|--bind-to-none|--bind-to-socket|--bysocket|--novm|-q|-map-by core|-bind-to core|--do-not-resolve"


@pytest.mark.parametrize("words", STILL.split("|"))
def test_words_of_4_that_5_still_takes_are_told(words: str) -> None:
    """Some with a warning of its own; watched in 5.0.11."""
    count = "" if "per" in words else "-np 2 "
    assert told(ROME, "5.0.11", f"mpirun {count}{words} ./a").ranks


@pytest.mark.parametrize("words", GONE.split("|"))
def test_words_of_4_that_5_refuses_are_named(words: str) -> None:
    """Nothing starts; watched in 5.0.11."""
    found = told(ROME, "5.0.11", f"mpirun -np 2 {words} ./a")
    assert found.ranks is None
    assert {each.id for each in found.warnings} & {"gone-in-5", "single-hyphen"}


def test_a_value_behind_a_sign_of_equality_is_left_open_where_no_release_was_asked() -> None:
    """5.0.11 takes -np=2 and refuses --bind-to=core; of other releases nothing is known."""
    lines = (("5.0.11", "-np=2 --bind-to core"), ("5.0.11", "-np=2 --bind-to=core"), ("5.0.6", "-np=2 --bind-to=core"))
    said = [told(ROME, version, f"mpirun {words} ./a").binding.split(":")[0] for version, words in lines]
    assert said == [
        "2 ranks, each bound to one core of its own (CPUs of rank 0",
        "The launcher refuses this line",
        "Placement unknown",
    ]


@pytest.mark.parametrize("text", ["x", "-4", "2.5", "1e3"])
def test_what_is_no_number_of_ranks_is_left_open(text: str) -> None:
    """And not taken for a line without one."""
    assert "is not a number of ranks" in told(ROME, "4.1.4", f"mpirun -np {text} ./a").binding


def test_more_ranks_than_can_be_worked_out_are_not_told() -> None:
    """Nor taken for a line without a number."""
    assert told(ROME, "4.1.4", "mpirun -np 99999999999 --oversubscribe ./a").binding.startswith("Placement unknown")


def test_ranks_dealt_over_hosts_in_turn_are_named_by_their_own_numbers() -> None:
    """The first host has every second rank, and that is what the sentence says."""
    found = told(ROME, "5.0.11", "mpirun -np 4 -H n1:2,n2:2 --map-by core --rank-by node --bind-to core ./a")
    assert found.binding == "4 ranks on 2 hosts, each bound to one core; on the first host (CPUs of rank 0: 0; rank 2: 1)."


def test_ranks_that_are_not_bound_beside_bound_ones_are_counted_apart() -> None:
    """Hydra leaves those without an entry of a user list alone."""
    found = told(ROME, "mpich-5.0.2", "mpiexec -n 3 -bind-to user:0,1 ./a")
    assert found.binding.startswith("3 ranks, 1 not bound, 2 bound to one core")


def test_later_programs_of_their_own_ways_are_the_development_branch_where_it_is_named() -> None:
    """Neither an mpirun without a version nor a prterun is predicted; the output says that a prterun is taken for that branch."""
    tail = "-np 2 --map-by node ./a : -np 2 --map-by slot ./b"
    bare = machine(ROME).model_copy(update={"tools": None})
    assert lint([f"mpirun {tail}"], bare).ranks is None
    branch = lint([f"prterun {tail}"], bare)
    assert (branch.ranks is None, branch.known_from) == (True, "words accepted only by PRRTE's development branch")
    assert lint([f"mpirun {tail}"], bare, version="main").known_from == "--launcher-version"


@pytest.mark.parametrize("level", ["package", "numa", "l3cache"])
def test_sockets_that_a_job_may_not_use_are_counted_by_5_where_ranks_fill_several_hosts(level: str) -> None:
    """Seen with 5.0.11 in half of a node: ranks go to the hosts in turn there, and how is not told; on one host they are."""
    bound = "--bind-to package" if level == "package" else ""
    several = f"mpirun -np 14 -H n1:16,n2:16,n3:16 --map-by {level} {bound} ./a"
    assert told("job-half-v2", "5.0.11", several).ranks is None
    assert told("job-half-v2", "5.0.11", f"mpirun -np 14 --map-by {level} {bound} ./a").ranks is not None
    assert told(ROME, "5.0.11", several).ranks is not None


@pytest.mark.parametrize(
    ("binder", "cpus"),
    [
        ("taskset 0x5", "0,2"),
        ("taskset 5", "0,2"),
        ("taskset 0xf0", "4-7"),
        ("taskset 0x80000000", "31"),
        ("taskset -c 3-4", "3-4"),
        ("taskset 0xg", None),
        ("numactl -C 2,5", "2,5"),
    ],
)
def test_the_cpus_of_a_binder_are_read(binder: str, cpus: str | None) -> None:
    """A mask is taken apart bit by bit, with 0x before it or without; what is none tells no CPUs."""
    (found,) = binders([*binder.split(), "./a"])
    assert found.cpus == cpus


def test_ranks_of_which_only_some_are_bound_are_not_translated() -> None:
    """Neither as bound ranks nor as unbound ones."""
    line = "srun -n 3 --cpu-bind=mask_cpu:0x1,0x0,0x4 ./a"
    lost = [each.lost[0] for each in told(NAPLES, None, line).translations]
    assert [text for text in lost if text == "some ranks are bound and others are not"] != []
