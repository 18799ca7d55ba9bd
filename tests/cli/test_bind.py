import json
import os
import shlex
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.errors import BadValue
from advisor.jobs.slurm import PartitionNodes
from advisor.jobs.started.hosts import expand, plan_in
from advisor.machine.machine import Slurm
from advisor.machine.read import read_machine
from tests.cli import said
from tests.conftest import Golden
from tests.judge.measuring import World, measured
from tests.machines import nodemaps, sysfs
from tests.machines.catalogue import write_archive
from tests.machines.tree import packed

Capture = pytest.CaptureFixture[str]
NAPLES, ROME, TWO = "a-r7425-2x7601-dell", "b-c6525-2x7702-nps4", "two-hcas"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with archives of machines."""
    folder = tmp_path_factory.mktemp("nodes")
    for name in (NAPLES, ROME, TWO, "uneven-l3", "b-c6525-2x7702-nps4-smt"):
        write_archive(name, folder / f"{name}.tar.gz")
    return folder


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "OMP_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def printed(capsys: Capture, *words: object) -> str:
    """Return what the command prints."""
    return said.printed(capsys, "bind", *words)


def refused(capsys: Capture, *words: object) -> str:
    """Return the one line with which the command refuses."""
    return said.refused(capsys, "bind", *words)


def document(capsys: Capture, *words: object) -> dict[str, Any]:
    """Return the JSON document."""
    return said.document(capsys, "bind", "--json", *words)


def of(nodes: Path, name: str) -> tuple[str, str]:
    """Return the options that read a machine."""
    return "--from", str(nodes / f"{name}.tar.gz")


CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "naples-near": (NAPLES, ("--ranks", "16", "--near", "mlx5_0")),
    "rome-ccx": (ROME, ("--ranks-per", "l3", "1", "--threads", "4")),
    "two-hcas": (TWO, ("--hosts", "a,b", "--ranks-per-node", "16", "--strategy", "per-hca")),
}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("case", CASES)
def test_pages_were_read(case: str, width: int, nodes: Path, golden: Golden, capsys: Capture) -> None:
    """What is printed for the R7425 near its adapter, a rank a CCX of four threads, and two adapters, is as it was accepted."""
    name, words = CASES[case]
    text = printed(capsys, *of(nodes, name), *words, "--width", width, "--launcher-version", "5.0.6", "--", "./app", "in put")
    golden(f"bind-{case}-{width}.txt", text)


def test_hosts_that_differ(nodes: Path, golden: Golden, capsys: Capture) -> None:
    """Two kinds of hosts in one job are each placed on their own machine, drawn apart, and launched by one line."""
    words = [f"--from=n1={nodes / NAPLES}.tar.gz", f"--from=n2={nodes / ROME}.tar.gz", "--ranks-per", "numa", "1"]
    found = document(capsys, *words, "--", "./app")
    assert [(rank["host"], rank["cpus"]) for rank in found["ranks"][::8]] == [("n1", "0"), ("n2", "0")]
    assert (found["ranks"][1]["cpus"], found["ranks"][9]["cpus"]) == ("2", "16")
    golden("bind-heterogeneous.txt", printed(capsys, *words, "--width", "100", "--launcher", "openmpi4", "--", "./app"))


def test_machines_in_the_order_of_hosts(nodes: Path, capsys: Capture) -> None:
    """Several --from without names are those of the hosts in order, or have the names that the machines give themselves."""
    both = (*of(nodes, NAPLES), *of(nodes, TWO), "--ranks-per-node", "1")
    assert [rank["host"] for rank in document(capsys, *both, "--hosts", "x,y", "--", "./a")["ranks"]] == ["x", "y"]
    assert document(capsys, *both, "--", "./a")["ranks"][0]["host"] == "r7425"
    assert "the number of hosts without --from is 3" in refused(capsys, *both, "--hosts", "x,y,z", "--", "./a")
    twice = (*of(nodes, NAPLES), *of(nodes, NAPLES))
    assert "their host names are unknown; name them: --from n1=FILE" in refused(capsys, *twice, "--", "./a")
    assert "given for q, which is not one of the hosts" in refused(
        capsys, f"--from=q={nodes / NAPLES}.tar.gz", "--hosts", "a", "--", "./a"
    )


def test_the_document_has_it_all(nodes: Path, capsys: Capture) -> None:
    """The JSON has the ranks with their places, the line as words, its files and reasons."""
    words = (*of(nodes, NAPLES), "--ranks", "8", "--near", "mlx5_0", "--launcher", "openmpi4", "--exact")
    found = document(capsys, *words, "--", "./app", "a b")
    assert found["ranks"][0] == {
        "rank": 0, "host": None, "local": 0, "cpus": "5", "numa_nodes": [6], "memory": [6], "l3": [5],
        "hca": "mlx5_0", "gpu": None, "distance": 10, "policy": None,
    }  # fmt: skip
    assert (found["schema"], found["strategy"], found["launcher"]) == ("advisor-bind/1", "hca-near", "openmpi4")
    assert found["command"][-2:] == ["./app", "a b"]
    assert found["files"]["rankfile"].startswith("rank 0=localhost slot=48\n")
    assert found["runner_up"]["strategy"] != "hca-near"


def test_the_line_can_be_pasted(nodes: Path, capsys: Capture) -> None:
    """The first lines are the command that the document has, whatever the width, in ASCII."""
    words = (*of(nodes, ROME), "--ranks-per", "l3", "1", "--threads", "4")
    argv = document(capsys, *words, "--", "./app", "it's", "$x")["command"]
    for width in (40, 80, 200):
        page = printed(capsys, *words, "--width", width, "--no-color", "--", "./app", "it's", "$x")
        line = page.partition("\n\n")[0]
        assert shlex.split(line.replace("\\\n", "")) == argv
        assert line.isascii()


def test_a_slurm_job_is_known(nodes: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a Slurm job hosts, ranks and threads are the job's, hardware threads counted as Slurm does; options count more."""
    job = {"JOB_ID": "77", "JOB_NODELIST": "n[01-03]", "NTASKS_PER_NODE": "8", "CPUS_PER_TASK": "8", "NTASKS": "24"}
    for name, value in job.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    machine = of(nodes, "b-c6525-2x7702-nps4-smt")
    found = document(capsys, *machine, "--", "./app")
    assert (len(found["ranks"]), found["ranks"][-1]["host"], found["launcher"]) == (24, "n03", "srun")
    assert found["env"]["OMP_NUM_THREADS"] == "4"
    assert "the hosts are those of slurm job 77" in found["notes"]
    assert "4 threads per rank: SLURM_CPUS_PER_TASK is 8 (2 per core)" in found["notes"]
    assert "--nodelist" not in found["command"]
    assert len(document(capsys, *machine, "--ranks", "5", "--", "./app")["ranks"]) == 5
    assert document(capsys, *machine, "--nodes", "1", "--", "./app")["ranks"][0]["host"] is None
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[01-")
    assert "SLURM_JOB_NODELIST: 'n[01-' is not a list of hosts" in refused(capsys, *machine, "--", "./app")


def test_a_pbs_job_is_known(nodes: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Inside a PBS job the node file says the hosts and how many ranks each has."""
    (tmp_path / "nodefile").write_text("n1\nn1\nn2\nn2\n")
    for name, value in {"PBS_JOBID": "9.s", "PBS_NODEFILE": str(tmp_path / "nodefile"), "OMP_NUM_THREADS": "4"}.items():
        monkeypatch.setenv(name, value)
    found = document(capsys, *of(nodes, NAPLES), "--launcher", "openmpi", "--", "./app")
    assert [rank["host"] for rank in found["ranks"]] == ["n1", "n1", "n2", "n2"]
    assert len(found["ranks"][0]["cpus"].split(",")) == 4


def test_a_host_file_is_read(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Hosts come from a file as Open MPI or Hydra writes it; a bad line is named."""
    file = tmp_path / "hosts"
    file.write_text("# ours\nn1 slots=4\nn2:4  # four\nn[3-4] slots = 4 max_slots=8\n")
    found = document(capsys, *of(nodes, NAPLES), "--hostfile", file, "--", "./a")
    assert [rank["host"] for rank in found["ranks"]] == [f"n{n}" for n in (1, 2, 3, 4) for _ in range(4)]
    for line in ("b; rm -rf /", "-x", "n1 slots=4 $(id)", "user@host"):
        file.write_text(f"n1\n{line}\n")
        assert f"{file}: line 2: " in refused(capsys, "--hostfile", file, "--", "./a")
    file.write_text("\n")
    assert "lists no hosts" in refused(capsys, "--hostfile", file, "--", "./a")


@pytest.mark.parametrize(
    ("text", "names"),
    [("a,b", ["a", "b"]), ("n[08-10,12]", ["n08", "n09", "n10", "n12"]), ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"])],
)
def test_lists_of_hosts_are_expanded(text: str, names: list[str]) -> None:
    """A list is read as Slurm writes it, zeros kept."""
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    "text",
    ["", "a,", "n[1", "n]", "n[3-1]", "n[]", "n[[1]]", "a b", "a;b", "-a", "n[1-99999999]", "n[1-60000][1-60000]", "[" * 99999],
)
def test_hostile_lists_of_hosts_are_refused(text: str) -> None:
    """What is no list of hosts, or one without end, is refused at once."""
    with pytest.raises(BadValue):
        expand(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ranks", "4"), "no command to start; put it last, after --"),
        (("--ranks", "400", "--", "a"), "400 ranks x 1 thread need 400 cores, but only 64 are free; try 64 ranks x 1 thread"),
        (("--launcher", "opnmpi", "--", "a"), "did you mean openmpi?"),
        (("--strategy", "spred-l3", "--", "a"), "did you mean spread-l3?"),
        (("--near", "mlx5_0;rm", "--", "a"), "--near 'mlx5_0;rm' is not a device name"),
        (("--near", "mlx5_9", "--", "a"), "available: mlx5_0"),
        (("--hosts", "a;b", "--", "a"), "--hosts: 'a;b' is not a host name"),
        (("--hosts", "a,a", "--", "a"), "the host a occurs twice"),
        (("--hosts", "a", "--nodes", "2", "--", "a"), "--hosts and --nodes both name the hosts"),
        (("--ranks-per", "l4", "1", "--", "a"), "--ranks-per l4:1 does not name a part of a node; did you mean l3?"),
        (("--ranks-per", "2", "l3", "--", "a"), "for example --ranks-per l3 2"),
        (("--ranks-per", "l3:x", "--", "a"), "write --ranks-per l3 2"),
        (("--ranks-per", "l3", "0", "--", "a"), "--ranks-per 0: it must be at least 1"),
        (("--ranks", "4", "--ranks-per-node", "4", "--", "a"), "--ranks and --ranks-per-node both give"),
        (("--slice", "5/4", "--", "a"), "--slice 5/4 is not a part of a node"),
        (("--per", "numa", "--", "a"), "did you mean --ranks-per numa?"),
        (("--launcher", "openmpi4", "--launcher-version", "5.1", "--", "a"), "use --launcher openmpi5"),
        (("--nodes", "99999999", "--", "a"), "99999999 nodes requested, but advisor plans at most 65536"),
        (("-o", "/proc/x", "--", "a"), "give another folder to write to"),
        (("-o", "/tmp/a:b", "--", "a"), "mpirun interprets ':' and ',' in file names"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], said: str, nodes: Path, capsys: Capture) -> None:
    """Each impossible wish is refused in one line that says what would do."""
    assert said in refused(capsys, *of(nodes, NAPLES), *words)


@pytest.mark.parametrize(
    ("words", "ranks", "command"),
    [
        (("--ranks-per", "l3", "--", "./app"), 32, ["./app"]),
        (("--ranks-per", "l3", "./app"), 32, ["./app"]),
        (("--ranks-per", "L3", "--threads", "4", "--", "2", "x"), 32, ["2", "x"]),
        (("--ranks-per=l3", "2", "--", "./app", "4"), 64, ["./app", "4"]),
        (("--ranks-per", "l3:2", "--", "./app"), 64, ["./app"]),
        (("--ranks-per", "socket", "--", "./app", "--ranks-per", "l3", "2"), 2, ["./app", "--ranks-per", "l3", "2"]),
    ],
)
def test_ranks_of_a_part(words: tuple[str, ...], ranks: int, command: list[str], nodes: Path, capsys: Capture) -> None:
    """One rank in each part where no number follows; the command is never taken for one."""
    found = document(capsys, *of(nodes, ROME), *words)
    assert (len(found["ranks"]), found["command"][-len(command) :]) == (ranks, command)


def test_cores_are_kept_of_each_part(nodes: Path, capsys: Capture) -> None:
    """--reserve l3:1 leaves the first core of each L3 group to the system; what is not a number of cores is refused."""
    words = (*of(nodes, ROME), "--ranks-per", "l3", "1", "--threads", "3")
    found = document(capsys, *words, "--reserve", "l3:1", "--", "./app")
    assert [rank["cpus"] for rank in found["ranks"][:3]] == ["1-3", "5-7", "9-11"]
    for wrong in ("-1", "l3", "l3:x", "core:1"):
        assert f"--reserve {wrong} is not a number of cores" in refused(capsys, *words, f"--reserve={wrong}", "--", "./app")


def test_a_dash_from_a_web_page_is_noticed(nodes: Path, capsys: Capture) -> None:
    """An en dash in the command is left alone, and noted."""
    notes = document(capsys, *of(nodes, NAPLES), "--ranks", "1", "--", "./app", "\u2013np")["notes"]
    assert any("a non-ASCII dash" in note for note in notes)


def test_a_folder_has_everything(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """-o writes script, rankfile, job scripts and plan, tells their paths, and the line names the files there."""
    folder = tmp_path / "deep" / "job"
    words = (*of(nodes, NAPLES), "--hosts", "a,b", "--ranks-per-node", "8", "--near", "mlx5_0", "--launcher", "openmpi4")
    text = printed(capsys, *words, "--exact", "--width", "120", "-o", folder, "--", "./app", "it's", "rankfile")
    assert sorted(file.name for file in folder.iterdir()) == [
        *("job.lsf", "job.pbs", "job.sge", "job.slurm", "launch.sh", "plan.json", "rankfile"),
    ]
    assert f"--rankfile {folder}/rankfile" in text.replace("\\\n    ", "")
    assert f"{folder}/launch.sh" in text
    script = (folder / "launch.sh").read_text()
    assert '--rankfile "$here"/rankfile' in script
    assert script.endswith("""./app 'it'"'"'s' rankfile\n""")
    assert stat.S_IMODE((folder / "launch.sh").stat().st_mode) & 0o100
    plan = json.loads((folder / "plan.json").read_text())
    assert (plan["schema"], plan["hosts"]) == ("advisor-plan/2", [{"node": 0, "ranks": "0-15", "names": ["a,b"]}])
    assert [len(node["slots"]) for node in plan["nodes"]] == [8]
    place = {"cpus": "5", "numa_nodes": [6], "memory": [6], "policy": None, "hca": "mlx5_0", "gpu": None}
    assert plan["nodes"][0]["slots"][0] == place
    assert "#SBATCH --nodelist=a,b\n" in (folder / "job.slurm").read_text()
    chunk = "1:ncpus=64:mpiprocs=8:ompthreads=1:host="
    assert f"#PBS -l select={chunk}a+{chunk}b\n" in (folder / "job.pbs").read_text()
    assert "#$ -pe mpi 128\n" in (folder / "job.sge").read_text()
    script = (folder / "job.lsf").read_text()
    assert '#BSUB -n 16\n#BSUB -R "span[ptile=8]"\n#BSUB -x\n#BSUB -m "a b"\n' in script
    assert "affinity[core(1):cpubind=core:membind=localprefer:distribute=pack]" in script


def test_a_machine_of_slurm_gets_its_job_script_alone(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Where Slurm's files were read, scripts for others would be in the way; a launcher of one of those has its own."""
    machine = read_machine(str(nodes / f"{NAPLES}.tar.gz")).model_copy(update={"slurm_conf": Slurm(task_plugins=("affinity",))})
    file, written = tmp_path / "slurm.json", {}
    file.write_text(machine.model_dump_json())
    for launcher in ("openmpi", "jsrun"):
        folder = tmp_path / launcher
        printed(capsys, "--from", file, "--ranks", "4", "--launcher", launcher, "-o", folder, "--", "./app")
        written[launcher] = sorted(each.name for each in folder.glob("job.*"))
    assert written == {"openmpi": ["job.slurm"], "jsrun": ["job.lsf"]}


def test_a_launcher_of_one_scheduler_gets_its_job_script_alone(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Flux run starts nothing in jobs of others; its host file is named where the script is."""
    folder = tmp_path / "job"
    printed(
        capsys, *of(nodes, NAPLES), "--hosts", "b,a", "--ranks-per-node", "2", "--launcher", "flux", "-o", folder, "--", "./app"
    )
    assert sorted(file.name for file in folder.iterdir()) == ["hostfile", "job.flux", "launch.sh", "plan.json"]
    assert '--taskmap hostfile:"$here"/hostfile' in (folder / "launch.sh").read_text()
    assert "#flux: --nodes=2\n#flux: --exclusive\n#flux: --requires=hosts:b,a\n" in (folder / "job.flux").read_text()


def test_jsrun_gets_a_job_script_of_lsf_and_its_file(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Hosts by their number in the plan are put in their places there, in the resource file too."""
    folder = tmp_path / "job"
    printed(
        capsys, *of(nodes, NAPLES), "--nodes", "2", "--ranks-per-node", "2", "--launcher", "jsrun", "-o", folder, "--", "./app"
    )
    assert sorted(file.name for file in folder.iterdir()) == ["erf", "job.lsf", "launch.sh", "plan.json"]
    assert '--erf_input "$here"/erf' in (folder / "launch.sh").read_text()
    script = (folder / "job.lsf").read_text()
    assert ["#BSUB -nnodes 2\n" in script, "for file in launch.sh erf plan.json; do\n" in script] == [True, True]


def test_a_job_script_gives_the_hosts_their_names(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Where hosts were only counted, the job script puts the job's own names in their places, in every file."""
    folder, run = tmp_path / "job", tmp_path / "run"
    words = (
        *of(nodes, NAPLES),
        "--nodes",
        "12",
        "--ranks-per-node",
        "8",
        "--near",
        "mlx5_0",
        "--launcher",
        "openmpi4",
        "--exact",
    )
    printed(capsys, *words, "-o", folder, "--", "./app", "NODE3")
    programs = tmp_path / "bin"
    programs.mkdir()
    run.mkdir()
    (programs / "scontrol").write_text("#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo real$n; done\n")
    (programs / "mpirun").write_text('#!/bin/sh\necho "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "5",
        "SLURM_JOB_NODELIST": "x",
        "SLURM_SUBMIT_DIR": str(run),
    }
    done = subprocess.run(["sh", folder / "job.slurm"], env=env, capture_output=True, text=True, check=True)
    assert "--host real1:8,real2:8," in done.stdout
    assert done.stdout.endswith("./app NODE3\n")
    made = run / "advisor-5"
    assert (made / "rankfile").read_text().splitlines()[95] == "rank 95=real12 slot=55"
    assert plan_in(str(made / "plan.json")).ranks[95].host == "real12"


FAKES = {
    "flux": ("job.flux", 'case $1 in getattr) echo f5 ;; hostlist) echo real1 real2 ;; *) echo "$@" ;; esac'),
    "jsrun": ("job.lsf", 'case $* in *uname*) printf "1 real2\\n0 real1\\n" ;; *) echo "$@" ;; esac'),
}


@pytest.mark.parametrize("launcher", FAKES)
def test_jobs_of_flux_and_lsf_give_the_hosts_their_names(launcher: str, nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """In the order in which the launcher numbers ranks over them."""
    folder, run, programs = tmp_path / "job", tmp_path / "run", tmp_path / "bin"
    script, program = FAKES[launcher]
    words = ("--nodes", "2", "--ranks-per-node", "2", "--launcher", launcher, "--exact")
    printed(capsys, *of(nodes, NAPLES), *words, "-o", folder, "--", "./app", "NODE3")
    for place in (run, programs):
        place.mkdir()
    (programs / launcher).write_text(f"#!/bin/sh\n{program}\n")
    (programs / launcher).chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "LSB_JOBID": "f5"}
    done = subprocess.run(["sh", folder / script], env=env, cwd=run, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("./app NODE3\n")
    assert [each.host for each in plan_in(str(run / "advisor-f5/plan.json")).ranks] == ["real1"] * 2 + ["real2"] * 2
    if launcher == "jsrun":
        assert "rank: 2: { hostname: real2; cpu: {" in (run / "advisor-f5/erf").read_text()


def test_a_job_of_grid_engine_gives_the_hosts_their_names(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Its host file names the job's hosts, each with its slots and its queue; a host in two queues counts once."""
    folder, programs = tmp_path / "job", tmp_path / "bin"
    words = (*of(nodes, NAPLES), "--nodes", "2", "--ranks-per-node", "4", "--launcher", "openmpi4", "-o", folder)
    printed(capsys, *words, "--", "./app", "NODE2")
    programs.mkdir()
    (programs / "mpirun").write_text('#!/bin/sh\necho "$@"\n')
    (programs / "mpirun").chmod(0o755)
    (tmp_path / "hosts").write_text(
        "real1 64 all.q@real1 UNDEFINED\nreal1 1 big.q@real1 UNDEFINED\nreal2 64 all.q@real2 <NULL>\n"
    )
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "JOB_ID": "7", "SGE_O_WORKDIR": str(tmp_path)}
    env |= {"PE_HOSTFILE": str(tmp_path / "hosts")}
    done = subprocess.run(["sh", folder / "job.sge"], env=env, capture_output=True, text=True, check=True)
    assert "--host real1:4,real2:4 " in done.stdout
    assert done.stdout.endswith("./app NODE2\n")


def test_a_job_of_pbs_asks_for_threads_and_gpus(tmp_path: Path, capsys: Capture) -> None:
    """PBS would set OMP_NUM_THREADS to all CPUs of a chunk where ompthreads is left out."""
    archive = tmp_path / "frontier.tar.gz"
    archive.write_bytes(packed(sysfs.root(nodemaps.frontier()), "frontier"))
    words = ("--from", archive, "--nodes", "2", "--ranks-per-node", "8", "--strategy", "gpu-near", "--threads", "7")
    printed(capsys, *words, "--launcher", "openmpi4", "-o", tmp_path / "job", "--", "./app")
    script = (tmp_path / "job" / "job.pbs").read_text()
    assert "#PBS -l select=2:ncpus=128:mpiprocs=8:ompthreads=7:ngpus=8\n" in script


def test_job_scripts_ask_for_all_gpus_of_the_nodes(tmp_path: Path, capsys: Capture) -> None:
    """Ranks choose theirs by number: with fewer than all a number would mean another GPU."""
    archive = tmp_path / "polaris.tar.gz"
    archive.write_bytes(packed(sysfs.root(nodemaps.polaris()), "polaris"))
    words = ("--from", archive, "--nodes", "2", "--gpus", "4", "--launcher", "openmpi4")
    printed(capsys, *words, "-o", tmp_path / "job", "--", "./app")
    scripts = "".join((tmp_path / "job" / f"job.{name}").read_text() for name in ("slurm", "pbs", "lsf"))
    asked = ("#SBATCH --gpus-per-node=4", ":ngpus=4", '#BSUB -gpu "num=4"')
    assert [text for text in asked if text not in scripts] == []


def test_srun_gets_no_job_script_of_pbs(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """Slurm's launcher starts nothing in a job of PBS."""
    printed(capsys, *of(nodes, NAPLES), "--ranks", "4", "--launcher", "srun", "-o", tmp_path / "job", "--", "./a")
    assert sorted(file.name for file in (tmp_path / "job").iterdir()) == ["job.slurm", "launch.sh", "plan.json"]


def test_a_site_has_its_own_job_script(nodes: Path, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template of the site takes the place of ours, and one for another scheduler is filled too."""
    site = tmp_path / "site"
    (site / "job").mkdir(parents=True)
    (site / "job" / "slurm.j2").write_text(
        "#!/bin/sh\n#SBATCH -A ours --ntasks={{ ranks }}\nexec sh {{ folder | sh }}/{{ script }}\n"
    )
    (site / "job" / "lsf.j2").write_text("#BSUB -n {{ ranks }}\n")
    monkeypatch.setattr("advisor.machine.jinja.TEMPLATES", (site,))
    printed(capsys, *of(nodes, NAPLES), "--ranks", "4", "-o", tmp_path / "job", "--", "./a")
    assert "#SBATCH -A ours --ntasks=4" in (tmp_path / "job" / "job.slurm").read_text()
    assert (tmp_path / "job" / "job.lsf").read_text() == "#BSUB -n 4\n"
    (site / "job" / "lsf.j2").write_text("{{ nothing }}")
    assert "job/lsf.j2" in refused(capsys, *of(nodes, NAPLES), "--ranks", "4", "-o", tmp_path / "job", "--", "./a")


def test_a_folder_is_whole_or_as_it_was(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """What cannot be written leaves the folder as it was."""
    file = tmp_path / "file"
    file.write_text("x")
    assert "name another folder" in refused(capsys, *of(nodes, NAPLES), "--ranks", "4", "-o", file, "--", "./a")
    (tmp_path / "job" / "plan.json").mkdir(parents=True)
    refused(capsys, *of(nodes, NAPLES), "--ranks", "4", "-o", tmp_path / "job", "--", "./a")
    assert [each.name for each in (tmp_path / "job").iterdir() if each.name.startswith(".")] == []


def test_a_launcher_that_cannot_is_helped(nodes: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a launcher refuses to bind as planned, the wrapper does, and it is said."""
    from advisor.jobs.launcher import Launch, LaunchRequest, launchers
    from advisor.jobs.launchers import mpich
    from advisor.jobs.placement import Placement

    real = mpich.launch

    def refusing(placement: Placement, wish: LaunchRequest) -> Launch:
        if not wish.wrap:
            raise BadValue("not on a Sunday")
        return real(placement, wish)

    monkeypatch.setitem(launchers(), "mpich", replace(mpich.LAUNCHER, launch=refusing))
    found = document(capsys, *of(nodes, NAPLES), "--ranks", "4", "--launcher", "mpich", "--", "./a")
    assert "mpich cannot bind this itself, so bind-wrapper.sh does: not on a Sunday" in found["notes"]
    assert found["command"][-3:] == ["sh", "bind-wrapper.sh", "./a"]


def test_a_drawing_for_a_page(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """--svg draws the node with its ranks into a file."""
    printed(capsys, *of(nodes, NAPLES), "--ranks", "4", "--svg", tmp_path / "x.svg", "--", "./a")
    assert (tmp_path / "x.svg").read_text().startswith("<svg ")


def test_settings_to_be(nodes: Path, capsys: Capture) -> None:
    """--assume places ranks on the machine as it will be after a restart."""
    words = (*of(nodes, ROME), "--ranks-per", "numa", "1")
    assert len(document(capsys, *words, "--", "./a")["ranks"]) == 8
    assert len(document(capsys, *words, "--assume", "nps=1", "--", "./a")["ranks"]) == 2


def test_explain_leaves_nothing_out(nodes: Path, capsys: Capture) -> None:
    """--explain lists every rank, every reason and every strategy."""
    words = (*of(nodes, NAPLES), "--ranks", "40", "--width", "100")
    short, whole = printed(capsys, *words, "--", "./a"), printed(capsys, *words, "--explain", "--", "./a")
    assert [" ..." in text for text in (short, whole)] == [True, False]
    assert "per-hca: split the ranks evenly over the adapters" in whole


def lines(capsys: Capture, *words: object) -> list[str]:
    """Return a benchmark's lines."""
    return [" ".join(each["command"]) for each in document(capsys, *words)["lines"]]


def test_the_eight_lines_of_the_article(nodes: Path, capsys: Capture, golden: Golden) -> None:
    """mbw_mr for each NUMA node of the R7425 is Table 2 of article [000]: 16 ranks on two servers, eight of a node on each."""
    words = (*of(nodes, NAPLES), "--benchmark", "mbw_mr", "--per", "numa", "--hosts", "server1,server2")
    made = lines(capsys, *words, "--launcher", "openmpi", "--launcher-version", "4.1.4")
    assert len(made) == 8
    assert made[6] == (
        "mpirun -np 16 --host server1:8,server2:8 --map-by slot:OVERSUBSCRIBE --bind-to none --mca pml ucx"
        " --mca coll_hcoll_enable 0 -x UCX_NET_DEVICES=mlx5_0:1 -x UCX_TLS=rc_x numactl --cpunodebind=6 osu_mbw_mr"
    )
    golden("bind-mbw-numa.txt", printed(capsys, *words, "--width", "100", "--launcher-version", "5.0.6"))


def test_the_other_tables_of_the_article(nodes: Path, capsys: Capture) -> None:
    """Sockets, whole nodes and two ranks a NUMA node run as many ranks as in the article's Table 3."""
    words = (*of(nodes, NAPLES), "--benchmark", "mbw_mr", "--launcher", "openmpi", "--launcher-version", "4.1.4")
    sizes = [[line.split()[2] for line in lines(capsys, *words, *how)] for how in (("--per", "socket"), ("--per", "node"))]
    assert sizes == [["64", "64"], ["128"]]
    (two,) = lines(capsys, *words, "--ranks-per", "numa", "2")
    assert "-np 32 " in two
    assert "--map-by ppr:2:numa --bind-to core" in two


def test_latency_is_measured_beside_the_adapter(nodes: Path, capsys: Capture) -> None:
    """Two ranks sit beside the adapter; with --per numa on each node in turn, under any launcher."""
    near = (*of(nodes, NAPLES), "--benchmark", "latency")
    (line,) = lines(capsys, *near, "--launcher", "openmpi5")
    assert "pe-list=48:ordered" in line
    far = lines(capsys, *near, "--per", "numa", "--launcher", "mpich", "--", "/opt/osu/osu_latency", "-x", "9")
    assert len(far) == 8
    assert far[3].endswith("-bind-to none numactl --cpunodebind=3 /opt/osu/osu_latency -x 9")
    assert "OMPI_MCA" not in " ".join(far)
    assert "the test needs two hosts, but 3 are given" in refused(capsys, *near, "--hosts", "a,b,c")


def test_stream_fills_a_part(nodes: Path, capsys: Capture) -> None:
    """The memory of each NUMA node or socket is measured with all its cores and no other memory."""
    made = lines(capsys, *of(nodes, NAPLES), "--benchmark", "stream", "--per", "socket")
    assert made[1] == (
        "env OMP_NUM_THREADS=32 OMP_PLACES=cores OMP_PROC_BIND=close numactl --cpunodebind=4,5,6,7 --membind=4,5,6,7 stream"
    )


def test_a_benchmark_is_written(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """-o writes the lines as one script, each with a rankfile of its own where it needs one."""
    words = (*of(nodes, NAPLES), "--benchmark", "mbw_mr", "--per", "numa", "--exact", "--launcher", "openmpi4")
    text = printed(capsys, *words, "-o", tmp_path, "--width", "400")
    assert f"--rankfile {tmp_path}/rankfile-numa6 " in text
    script = (tmp_path / "benchmark.sh").read_text()
    assert script.count("mpirun ") == 8
    assert '"$here"/rankfile-numa6' in script
    assert (tmp_path / "rankfile-numa6").read_text().startswith("rank 0=NODE1 slot=48\n")


def test_help_names_every_option(capsys: Capture) -> None:
    """The help says what the options are."""
    text = printed(capsys, "--help-all")
    assert all(option in text for option in ("--ranks-per", "--near", "--slice", "--launcher-version", "--benchmark", "--assume"))


def test_measurements_decide_and_are_told(nodes: Path, tmp_path: Path, capsys: Capture) -> None:
    """Where one core of each L3 group gave more than all cores, ranks are dealt over the caches, and the figure is the reason."""
    file = tmp_path / "measured.json"
    machine = read_machine(str(nodes / f"{ROME}.tar.gz"))
    file.write_text(measured(machine, World(node=37e9, core=12e9, crowd=0.88)).model_dump_json())
    line = ("--ranks", 32, *of(nodes, ROME), "--launcher", "openmpi", "--launcher-version", "4.1.5")
    given = ("--measurements", file, "--explain")
    assert "measured: one core per group delivers 1.14 times the bandwidth of all cores" in " ".join(
        printed(capsys, *line, *given, "--", "app").split()
    )


def test_measurements_of_another_machine_are_refused(nodes: Path, tmp_path: Path, capsys: Capture) -> None:
    """A plan rests on no other machine's figures."""
    file = tmp_path / "measured.json"
    file.write_text(measured(read_machine(str(nodes / f"{NAPLES}.tar.gz"))).model_dump_json())
    error = refused(capsys, "--ranks", 4, *of(nodes, ROME), "--measurements", file, "--", "app")
    assert "measured on r7425, but this is c6525" in error


def test_lint_ends_with_1_where_something_goes_wrong(nodes: Path, capsys: Capture) -> None:
    """A clean line is 0, a warning is 1; JSON is one document of its own."""
    clean = ["mpirun", "-np", "64", "--map-by", "core", "--bind-to", "core", "./a"]
    line = ["check", *of(nodes, NAPLES), "--launcher-version", "4.1.4", "--json", "--"]
    assert (status([*line, *clean]), status([*line, "mpirun", "-np", "8", "./a"])) == (0, 1)
    first, _ = capsys.readouterr().out.split("}\n{", 1)
    assert json.loads(first + "}")["schema"] == "advisor-lint/1"


def test_lint_says_what_it_withheld(nodes: Path, capsys: Capture) -> None:
    """A credential on the line is neither on the page nor passed over: a note on standard error says so."""
    status(["check", *of(nodes, NAPLES), "--", "mpirun", "-x", "OMPI_MCA_oob_secret=abc7", "-np", "8", "./a"])
    page = capsys.readouterr()
    assert "abc7" not in page.out + page.err
    assert "advisor: a credential on the line appears as withheld here and in files" in page.err


def test_the_line_alone_is_what_a_script_runs(nodes: Path, capsys: Capture) -> None:
    """With --line nothing but the command is printed, its variables before it, on one line that a shell reads as meant."""
    words = (*of(nodes, ROME), "--ranks", "8", "--threads", "4", "--launcher", "srun", "--launcher-version", "22.05")
    found = document(capsys, *words, "--", "./app", "a b")
    text = printed(capsys, *words, "--line", "--", "./app", "a b")
    assert (text.count("\n"), shlex.split(text)) == (1, [*(f"{k}={v}" for k, v in found["env"].items()), *found["command"]])


def test_a_line_that_needs_a_file_is_not_printed_alone(nodes: Path, capsys: Capture, tmp_path: Path) -> None:
    """A command that would fail for want of its wrapper is refused; with -o it names the file that was written."""
    words = (*of(nodes, TWO), "--hosts", "a,b", "--ranks-per-node", "4", "--strategy", "per-hca", "--wrapper", "--line")
    said_of_it = "advisor: this line needs bind-wrapper.sh; add -o DIR to write it and to print the line with the path\n"
    assert refused(capsys, *words, "--", "./app") == said_of_it
    assert f"{tmp_path}/job/bind-wrapper.sh" in shlex.split(printed(capsys, *words, "-o", tmp_path / "job", "--", "./app"))


def test_quiet_is_the_line_and_its_files(nodes: Path, capsys: Capture) -> None:
    """With --quiet there are the command and the files to paste, no reasons and no drawing."""
    words = (*of(nodes, NAPLES), "--ranks", "2", "--near", "mlx5_0", "--launcher", "openmpi4", "--exact", "--quiet")
    text = printed(capsys, *words, "--", "./app")
    line, _, files = text.partition("\n\n")
    assert shlex.split(line.replace("\\\n", ""))[-1] == "./app"
    assert files.splitlines() == ["cat > rankfile <<'END'", "rank 0=localhost slot=48", "rank 1=localhost slot=52", "END"]


def test_a_line_that_needs_the_wrapper_says_so_right_below(nodes: Path, capsys: Capture) -> None:
    """Nobody pastes a line whose wrapper is missing without having read that it is; the shell takes the remark for one."""
    text = printed(capsys, *of(nodes, TWO), "--wrapper", "--ranks", "4", "--width", "80", "--", "./app")
    head = text.partition("\n\n")[0].splitlines()
    assert head[-1] == "# needs bind-wrapper.sh: -o DIR writes it and prints this line with the path"


@pytest.mark.parametrize(
    ("purpose", "name", "strategy"),
    [
        ("bandwidth", ROME, "balanced"),
        ("latency", ROME, "hca-near"),
        ("throughput", ROME, "compact"),
    ],
)
def test_a_job_is_placed_for_what_counts(purpose: str, name: str, strategy: str, nodes: Path, capsys: Capture) -> None:
    """--for chooses the strategy: bandwidth, latency, throughput; the reason begins with it, and the name may still be given."""
    found = document(capsys, *of(nodes, name), "--ranks", "8", "--for", purpose, "--", "./app")
    assert (found["strategy"], found["why"][0].partition(":")[0]) == (strategy, f"for {purpose}")
    both = refused(capsys, "--for", purpose, "--strategy", "compact", *of(nodes, name), "--", "./app")
    assert both == "advisor: --for and --strategy both choose where ranks go; give one of the two\n"


def test_threads_left_out_are_named(nodes: Path, capsys: Capture) -> None:
    """Where --threads is left out and cores stay idle, how many threads use the whole node is said; else nothing is."""
    words = (*of(nodes, ROME), "--ranks", "8")
    hint = "one thread per rank, as --threads is missing: with --threads 16 the ranks use the whole node"
    assert hint in document(capsys, *words, "--", "./app")["notes"]
    assert [note for note in document(capsys, *words, "--threads", "1", "--", "./app")["notes"] if "--threads" in note] == []
    assert [note for note in document(capsys, *of(nodes, ROME), "--", "./app")["notes"] if "--threads" in note] == []


def test_lint_has_its_own_help(capsys: Capture) -> None:
    """`check --help` is about lines that exist."""
    assert status(["check", "--help"]) == 0
    assert capsys.readouterr().out.splitlines()[2].strip() == "Check a job script or launch line: what it starts and its faults."


def test_lint_without_a_line_says_where_it_goes(capsys: Capture) -> None:
    """No command to explain is one line with an example."""
    why = "no script or line given; give a script: advisor check job.sbatch, or a line after --: advisor check -- mpirun"
    assert why in said.refused(capsys, "check")


def test_a_partition_is_planned_from_the_capture_that_the_site_keeps(
    nodes: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is that of --from with the same file."""
    monkeypatch.setattr("advisor.jobs.slurm.SITE", nodes)
    rest = ["--ranks", "16", "--launcher", "srun", "--line", "--", "./app"]
    lines = []
    for machine in (["--partition", ROME], ["--from", str(nodes / f"{ROME}.tar.gz")]):
        assert status(["bind", *machine, *rest]) == 0
        lines.append(capsys.readouterr().out)
    assert lines[0] == lines[1]
    assert lines[0].startswith("srun ")


def test_a_partition_without_a_capture_is_refused_with_how_to_take_one(
    nodes: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Slurm knows is said, and is not enough to place a rank."""
    monkeypatch.setattr("advisor.jobs.slurm.SITE", nodes)
    monkeypatch.setattr("advisor.jobs.slurm.partition_nodes", lambda _: PartitionNodes(64, 4))
    assert status(["bind", "--partition", "gpu", "--ranks", "4", "--", "./app"]) == 2
    assert capsys.readouterr().err == (
        f"advisor: {nodes}/gpu.tar.gz does not exist; Slurm reports 64 cores and 4 GPUs per node, not how they are numbered; "
        "capture a node: srun -p gpu -N 1 -n 1 advisor capture -o gpu.tar.gz; then --from gpu.tar.gz\n"
    )
