from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Allocation
from advisor.measure.run import (
    LoadSnapshot,
    background_load,
    busiest_in_words,
    foreign_load,
    load_snapshot,
    partial_job,
    steal_share,
    steal_warning,
)
from tests.jobs.place.samples import machine
from tests.measure.samples import ROME, Files

BOTH = CpuSet([0, 1])


def stat(pid: int, name: str, parent: int, ticks: int, flags: int = 0) -> str:
    """Return /proc/PID/stat."""
    return f"{pid} ({name}) R {parent} 0 0 0 0 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 777 0 0\n"


def files(busy: int, steal: int = 0, **processes: str) -> Files:
    """Return a machine of two CPUs; this process is 50, its shell 40, its kernel 60."""
    cpus = "".join(f"cpu{cpu} {busy} 0 0 1000 0 0 0 {steal} 0 0\n" for cpu in (0, 1))
    mine = {"40": stat(40, "bash", 1, 9999), "50": stat(50, "advisor", 40, 9999), "60": stat(60, "membw", 50, 9999)}
    named = {f"/proc/{pid.strip('p')}/stat": text for pid, text in (mine | processes).items()}
    users = {"/proc/70/status": "Name:\txhpl\nUid:\t1001\t1001\n", "/etc/passwd": "root:x:0:0::/:\nalice:x:1001:1::/:\n"}
    return Files({"/proc/stat": f"cpu  1 2 3\n{cpus}", **named, **users})


def seen(first: Files, second: Files) -> tuple[LoadSnapshot, LoadSnapshot]:
    """Return two looks, a second apart."""
    return load_snapshot(first, 10.0, BOTH), load_snapshot(second, 11.0, BOTH)


def test_another_users_process_is_named() -> None:
    """With its owner and the CPUs that it used in the second between."""
    before, after = files(0, p70=stat(70, "xhpl", 1, 100)), files(0, p70=stat(70, "xhpl", 1, 280))
    assert busiest_in_words(foreign_load(after, *seen(before, after), me=50)) == ("user alice runs xhpl on 1.8 CPUs",)


def test_a_process_that_came_meanwhile_counts_whole() -> None:
    """It was not there before, so all that it used is of this second; nobody knows whose it is."""
    after = files(0, p80=stat(80, "make (x) y", 1, 90))
    assert foreign_load(after, *seen(files(0), after), me=50) == {"somebody runs make (x) y": 0.9}


def test_own_processes_and_the_kernels_threads_do_not_count() -> None:
    """Nor does what uses next to nothing."""
    before = files(0, p2=stat(2, "kswapd0", 0, 0, 0x200000), p90=stat(90, "sshd", 1, 0))
    after = files(0, p2=stat(2, "kswapd0", 0, 100, 0x200000), p90=stat(90, "sshd", 1, 5))
    after.files = {**after.files, "/proc/60/stat": stat(60, "membw", 50, 99999), "/proc/50/stat": stat(50, "advisor", 40, 99999)}
    assert foreign_load(after, *seen(before, after), me=50) == {}


def test_only_the_worst_are_named() -> None:
    """Three, and how many more."""
    jobs = {f"p{pid}": stat(pid, f"job{pid}", 1, pid) for pid in range(101, 106)}
    after = files(0, 0, **jobs)
    words = busiest_in_words(foreign_load(after, *seen(files(0), after), me=50))
    assert (len(words), words[0], words[-1]) == (4, "somebody runs job105 on 1.1 CPUs", "2 more programs running")


def test_busy_cpus_speak_for_processes_that_cannot_be_seen() -> None:
    """Half a CPU of two is too much, a twentieth is not."""
    assert background_load(*seen(files(100), files(125))) == ("0.5 of 2 CPUs are busy",)
    assert background_load(*seen(files(100), files(102))) == ()


def test_what_the_hypervisor_takes_is_told() -> None:
    """A fifth of both CPUs."""
    assert steal_warning(steal_share(*seen(files(0, steal=0), files(0, steal=20)))) == (
        "the hypervisor took 20% of the CPU time",
    )
    assert steal_warning(0.01) == ()


def test_damaged_files_are_nobody() -> None:
    """A process that ends while it is read, and lines that are cut off, do not raise."""
    host = Files({"/proc/stat": "cpu0 1 2\ncpux\n", "/proc/7/stat": "7 (sh", "/proc/8/stat": "", "/proc/9/stat": "9 (a) R x y z"})
    assert load_snapshot(host, 0.0, BOTH) == LoadSnapshot(0.0, 0.0, 0.0, 0, {})


def test_a_job_with_part_of_the_node_is_not_alone() -> None:
    """A Slurm job with four of 128 CPUs; outside a job, and with all of them, nothing is said."""
    rome = machine(ROME)
    job = rome.model_copy(update={"allocation": Allocation(scheduler="slurm", job="7")})
    assert partial_job(job, CpuSet(range(4))) == ("slurm job 7 has 4 of 128 CPUs",)
    assert (partial_job(job, CpuSet(range(128))), partial_job(rome, CpuSet(range(4)))) == ((), ())
