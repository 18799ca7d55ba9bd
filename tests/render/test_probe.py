import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.jobs.observe import observation, probe_script, probe_words, reported
from advisor.machine.cpuset import CpuSet
from advisor.paths import template

SHELLS = [["dash"], ["busybox", "sh"], ["bash", "--posix"]]


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def shell(request: pytest.FixtureRequest) -> list[str]:
    """Return a shell that is installed here."""
    words: list[str] = request.param
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    return words


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return the probe as a file."""
    file = tmp_path / "probe.sh"
    file.write_text(probe_script(template("probe.sh.j2")))
    return str(file)


def printed(argv: list[str], **variables: str) -> str:
    """Return what a command prints with these variables and PATH alone."""
    whole = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **variables}
    done = subprocess.run(argv, env=whole, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_it_tells_what_the_kernel_says(shell: list[str], script: str) -> None:
    """One line of under 4096 bytes with rank, host, CPUs, memory, last CPU and devices, in every shell."""
    variables = {"PMI_RANK": "3", "PMI_SIZE": "8", "UCX_NET_DEVICES": "mlx5_0:1", "OMP_PLACES": "{0:2}, {2:2}"}
    text = printed([*shell, script, "true"], **variables, CUDA_VISIBLE_DEVICES="2")
    seen = observation(text)
    assert (text.count("\n"), len(text) < 4096) == (1, True)
    assert seen is not None
    assert (seen.rank, seen.size, seen.ucx, seen.omp, seen.gpu) == (3, 8, "mlx5_0:1", "{0:2},{2:2}", "2")
    status = Path("/proc/self/status").read_text()
    assert f"Cpus_allowed_list:\t{seen.cpus}\n" in status
    assert f"Mems_allowed_list:\t{seen.mems}\n" in status
    assert seen.last in seen.cpus


def test_it_is_bound_as_it_was_started(shell: list[str], script: str) -> None:
    """The CPUs and the memory policy are those that taskset and numactl gave it."""
    if not shutil.which("taskset") or not shutil.which("numactl"):
        pytest.skip("taskset or numactl is not installed")
    one = observation(printed(["taskset", "-c", "0", *shell, script, "true"]))
    assert one is not None
    assert one.cpus == CpuSet([0])
    bound = observation(printed(["numactl", "-m", "0", *shell, script, "true"]))
    assert bound is not None
    assert bound.policy == "bind:0"


def test_it_starts_the_application_with_its_words(shell: list[str], script: str) -> None:
    """In front of an application it hands every word on as it is."""
    out = printed([*shell, script, "printf", "[%s]", "a  b", "*", "$HOME"])
    assert out.splitlines()[1] == "[a  b][*][$HOME]"


def test_alone_it_stays_a_moment(shell: list[str], script: str) -> None:
    """Without an application it prints its line and ends by itself, as words of a command line too."""
    assert reported(printed([*shell, script]).encode()).alone == 1
    words = probe_words(template("probe.sh.j2"))
    assert reported(printed([*shell, *words[1:]], OMPI_COMM_WORLD_RANK="5").encode()).ranks[0].rank == 5


@pytest.mark.parametrize("word", ["a\nADVISOR-RANK rank=1", "x; reboot", "$(id)", "\x1b]0;x", "y" * 300, "*"])
def test_hostile_variables_do_not_spoil_the_line(word: str, shell: list[str], script: str) -> None:
    """A variable with anything else than a device's letters is a question mark, a rank that is not a number is none."""
    seen = observation(printed([*shell, script, "true"], UCX_NET_DEVICES=word, OMP_PLACES=word, PMI_RANK=word, SLURM_PROCID="4"))
    assert seen is not None
    assert (seen.rank, seen.ucx, seen.omp) == (4, "?", "?")


def test_slurms_variables_count_for_slurms_ranks_only(shell: list[str], script: str) -> None:
    """Inside a step another launcher's rank is not mixed with Slurm's local rank and size."""
    slurm = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "1"}
    other = observation(printed([*shell, script, "true"], **slurm, PMI_RANK="6"))
    own = observation(printed([*shell, script, "true"], **slurm))
    assert other is not None
    assert own is not None
    assert [(each.rank, each.local, each.size) for each in (other, own)] == [(6, None, None), (0, 0, 1)]


def test_the_script_has_no_complaint_of_shellcheck(script: str) -> None:
    """Shellcheck finds nothing in it."""
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    subprocess.run(["shellcheck", script], check=True)
