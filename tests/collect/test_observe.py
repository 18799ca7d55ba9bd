import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.jobs.observe import Listener, Observation, observation, processes_named, read_processes, reported
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Why
from tests.collect.os_host import FakeHost

LINE = (
    "ADVISOR-RANK rank=3 size=4 local=1 host=n2.cluster pid=77 cpus=8-11 mems=0-3 policy=default last=9 ucx=mlx5_0:1 "
    "omp={0:2},{2:2} gpu=-"
)
SEEN = Observation(
    rank=3, size=4, local=1, host="n2.cluster", pid=77, cpus=CpuSet.parse("8-11"), mems=CpuSet.parse("0-3"),
    policy="default", last=9, ucx="mlx5_0:1", omp="{0:2},{2:2}",
)  # fmt: skip


def line(rank: int, cpus: str = "8-11") -> str:
    """Return the probe's line of a rank."""
    return LINE.replace("rank=3", f"rank={rank}").replace("8-11", cpus)


def test_a_line_is_an_observation() -> None:
    """Every field of the probe's line is read; a dash is not known."""
    assert observation(LINE) == SEEN
    unknown = observation("ADVISOR-RANK rank=- size=- local=- host=h pid=1 cpus=0 mems=- policy=- last=- ucx=? omp=- gpu=-")
    assert unknown == Observation(rank=None, host="h", pid=1, cpus=CpuSet([0]), ucx="?")


def test_many_cpus_come_as_a_mask() -> None:
    """A mask stands for a list that would be too long for one write."""
    seen = observation(LINE.replace("8-11", "0xff,00000000"))
    assert seen is not None
    assert str(seen.cpus) == "32-39"


@pytest.mark.parametrize("prefix", ["[1,3]<stdout>:", "3: ", "[3] ", "n2: 3| ", "\x1b[0m", "Loading modules...done "])
def test_what_a_launcher_puts_before_a_line_does_not_matter(prefix: str) -> None:
    """Tags of mpirun --tag-output, srun -l and others are skipped."""
    assert reported(f"{prefix}{LINE}\r\n".encode()).ranks == (SEEN,)


def test_lines_that_ran_together_are_taken_apart() -> None:
    """Two lines without an end between them are two ranks, the same line twice is one."""
    found = reported(f"{line(0)}{line(1)}\n{line(0)}\n".encode())
    assert ([each.rank for each in found.ranks], found.repeated, found.damaged) == ([0, 1], (), 0)


def test_a_rank_twice_with_different_words_is_told() -> None:
    """Two processes that say they are one rank are repeated; the first is kept."""
    found = reported(f"{line(0)}\n{line(0, '4')}\n".encode())
    assert ([str(each.cpus) for each in found.ranks], found.repeated) == (["8-11"], (0,))


def test_damaged_lines_and_processes_without_a_rank_are_counted() -> None:
    """What was begun and cannot be read is damaged; what has no rank is alone."""
    text = f"{LINE[:60]}\n{LINE.replace('rank=3', 'rank=-')}\n{LINE.replace('8-11', '11-8')}\nnothing\n"
    found = reported(text.encode())
    assert (found.ranks, found.alone, found.damaged) == ((), 1, 2)


@pytest.mark.parametrize(
    "change",
    [
        ("n2.cluster", "$(reboot)"),
        ("n2.cluster", "a\x1b]0;b"),
        ("rank=3", "rank=9999999999"),
        ("8-11", "0-9999999"),
        ("8-11", ""),
    ],
)
def test_hostile_lines_are_refused(change: tuple[str, str]) -> None:
    """A host name that is none, and numbers that no machine has, make no observation."""
    assert observation(LINE.replace(*change)) is None


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_output_is_survived_in_any_pieces(noise: bytes, size: int) -> None:
    """Whatever else is printed, and however it comes in pieces, a rank's line of its own is found."""
    listener = Listener()
    text = noise.replace(b"ADVISOR", b"") + b"\n" + LINE.encode() + b"\n" + noise.replace(b"ADVISOR", b"")
    for at in range(0, len(text), size):
        listener.hear(text[at : at + size])
    assert SEEN in listener.gathered().ranks


def test_a_line_without_end_takes_no_memory() -> None:
    """An output without line ends is forgotten but for its last bytes."""
    listener = Listener()
    for _ in range(100):
        listener.hear(b"x" * 10_000)
    assert len(listener._rest) <= 8192


def process(pid: int, cpus: str, *threads: str, environ: str | Why = "", name: str = "xhpl") -> dict[str, str | Why]:
    """Return the files of a process whose further threads have these CPUs, and run."""
    files: dict[str, str | Why] = {
        f"/proc/{pid}/status": f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n",
        f"/proc/{pid}/comm": f"{name[:15]}\n",
        f"/proc/{pid}/cmdline": f"/opt/bin/{name}\0-x\0",
        f"/proc/{pid}/environ": environ,
    }
    for at, each in enumerate((cpus, *threads)):
        folder = f"/proc/{pid}/task/{pid + at}"
        files[f"{folder}/status"] = f"Name:\t{name}\nCpus_allowed_list:\t{each}\n"
        files[f"{folder}/stat"] = f"{pid + at} (a ) b) {'R' if at else 'S'} " + "0 " * 35 + f"{at + 5} 0 0\n"
    return files


LIVE = ("/proc/[0-9]*", "/proc/self/*")
"""Processes are looked at while they run, and are in no capture."""


def test_a_running_process_is_read_thread_by_thread() -> None:
    """Its CPUs are those of all threads; rank and devices come from its variables, and no other variable is kept."""
    environ = "SECRET=x\0OMPI_COMM_WORLD_RANK=7\0OMPI_COMM_WORLD_LOCAL_RANK=1\0UCX_NET_DEVICES=mlx5_0:1\0SLURM_PROCID=0\0"
    found = read_processes(
        FakeHost({**process(100, "0", "2-3", environ=environ), "/proc/sys/kernel/hostname": "n1\n"}, live=LIVE), [100]
    )
    (only,) = found.processes
    assert (found.host, only.name, only.rank, only.local, str(only.cpus)) == ("n1", "xhpl", 7, 1, "0,2-3")
    assert [(thread.last, thread.running) for thread in only.threads] == [(5, False), (6, True)]
    assert (only.ucx, only.told, "SECRET" in only.model_dump_json()) == ("mlx5_0:1", True, False)


def test_what_cannot_be_read_is_said() -> None:
    """A process that has gone, and one whose variables are closed, are named."""
    found = read_processes(FakeHost(process(100, "0", environ=Why.REFUSED), live=LIVE), [100, 4711])
    assert (found.processes[0].rank, found.processes[0].told) == (None, False)
    assert [("4711" in line, "100" in line) for line in found.unread] == [(True, False), (False, True)]


def test_a_process_is_found_by_its_name() -> None:
    """By the kernel's short name, the program's file, or the script that an interpreter runs."""
    files = {**process(5, "0"), **process(6, "0", name="a-very-long-program-name"), **process(7, "0", name="python3")}
    files |= {"/proc/7/cmdline": "/usr/bin/python3\0./solve.py\0", "/proc/self/comm": "xhpl\n"}
    host = FakeHost(files, live=LIVE)
    names = ("xhpl", "a-very-long-program-name", "solve.py", "opt", "-x", "")
    assert [processes_named(host, name) for name in names] == [(5,), (6,), (7,), (), (), ()]
