"""Captures: what was recorded is answered as the machine would, and what was not is told apart."""

from pathlib import Path

import pytest

from advisor.errors import BadCapture, BadInput
from advisor.machine.hosts.base import Host, Ran, Reading, Why, concrete_patterns, expand
from advisor.machine.hosts.capture import CaptureHost, DiskStore, Entry, MemoryStore, TreeHost, capture_in, record
from advisor.machine.hosts.source import unpack
from tests.host.shelf import MACHINE, PATTERNS, PCI, lay, tar

COMMANDS = (("lscpu", "-J"), ("absent",), ("slow", "a b", ""), ("fails",))
RAN = {
    COMMANDS[0]: Ran(b"{}\n", b"warning\n", 0, path="/usr/bin/lscpu"),
    COMMANDS[1]: Ran(why=Why.ABSENT),
    COMMANDS[2]: Ran(why=Why.TIMEOUT),
    COMMANDS[3]: Ran(b"", b"no\n", 2, path="/bin/fails"),
}


class Machine(TreeHost):
    """A tree that behaves as a live machine: what is not there is absent, and some files are closed."""

    kind = "live"
    closed = ("/sys/firmware/acpi/tables/SRAT",)
    broken = ("/sys/class/net/eth0/speed",)

    def __init__(self, nodes: dict[str, Entry]) -> None:
        extra: dict[str, Entry] = {**dict.fromkeys((*self.closed, *self.broken), b""), "/sys/kernel/debug": None}
        super().__init__(MemoryStore({f"/{path}": node for path, node in nodes.items()} | extra), "this machine")

    def read(self, path: str) -> Reading:
        """Return the file, or what stands in its way."""
        reading = super().read(path)
        if reading.why is Why.NOT_KEPT:
            return Reading(why=Why.REFUSED if path.startswith("/sys/kernel/debug") else Why.ABSENT)
        if path in self.closed:
            return Reading(why=Why.REFUSED)
        return Reading(why=Why.FAILED) if path in self.broken else reading

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what the tables of this test say."""
        del timeout
        return RAN[argv]

    def environment(self) -> dict[str, str]:
        """Return a job's variables, one over two lines."""
        return {"SLURM_JOB_ID": "7", "OMP_PLACES": "cores\nx"}


ALL = (*PATTERNS, "/sys/firmware/acpi/tables/SRAT", "/sys/class/net/*/speed", "/sys/kernel/debug/x/state", "/sys/kernel/debug/*")


def opened(data: bytes) -> CaptureHost:
    """Return a capture's host."""
    store = capture_in(MemoryStore(unpack(data, "node.tar.gz"), "node.tar.gz"))
    assert store is not None
    return CaptureHost(store, "node.tar.gz")


def answers(host: Host, paths: list[str]) -> dict[str, object]:
    """Return everything that a host says of some paths."""
    return {path: (host.read(path), host.real(path)) for path in paths}


@pytest.fixture(scope="module")
def machine() -> Machine:
    """Return a machine to capture."""
    return Machine(MACHINE)


@pytest.fixture(scope="module")
def data(machine: Machine) -> bytes:
    """Return a capture of it."""
    return record(machine, ALL, COMMANDS, {"advisor": "1", "made": "python", "time": "now", "uid": "0", "anonymised": "no"})


@pytest.fixture
def capture(data: bytes) -> CaptureHost:
    """Return the capture's host."""
    return opened(data)


def test_replays_every_path(machine: Machine, capture: CaptureHost) -> None:
    """Each path that was looked for is read, refused, broken or absent as on the machine, and lies where it lay."""
    paths = [path for pattern in concrete_patterns(machine, ALL) for path in expand(machine, pattern.removesuffix("@"))]
    assert len(paths) > 30
    folders = {path for path in paths if machine.list(path)}
    assert answers(machine, [p for p in paths if p not in folders]) == answers(capture, [p for p in paths if p not in folders])
    assert [machine.real(path) for path in folders] == [capture.real(path) for path in folders]


def test_patterns_expand_alike(machine: Machine, capture: CaptureHost) -> None:
    """A pattern names the same places; links that lead nowhere are left out."""
    for pattern in concrete_patterns(machine, ALL):
        on_machine = {path for path in expand(machine, pattern.removesuffix("@")) if machine.real(path)}
        in_capture = {path for path in expand(capture, pattern.removesuffix("@")) if capture.real(path)}
        assert on_machine == in_capture, pattern


def test_three_kinds_of_nothing(capture: CaptureHost) -> None:
    """Absent is what was looked for, refused what was closed; of all else nothing is known."""
    assert capture.read("/sys/devices/system/cpu/offline").why == Why.ABSENT
    assert capture.read("/sys/bus/pci/devices/0000:61:00.0/max_link_width").why == Why.ABSENT
    assert capture.read(f"/{PCI}/max_link_width").why == Why.ABSENT
    assert capture.read("/sys/firmware/acpi/tables/SRAT").why == Why.REFUSED
    assert capture.read("/sys/class/net/eth0/speed").why == Why.FAILED
    assert capture.read("/sys/kernel/debug/x/state").why == Why.REFUSED
    assert capture.read(f"/{PCI}/class").why == Why.NOT_KEPT
    assert capture.read("/etc/passwd").why == Why.NOT_KEPT


def test_closed_files_are_seen(capture: CaptureHost) -> None:
    """A file that could not be read is listed and has a place."""
    assert capture.list("/sys/firmware/acpi/tables") == ("SRAT",)
    assert capture.real("/sys/firmware/acpi/tables/SRAT") == "/sys/firmware/acpi/tables/SRAT"


def test_only_own_cgroups_are_kept(capture: CaptureHost) -> None:
    """No other cgroup is in a capture."""
    assert capture.read("/sys/fs/cgroup/system.slice/job 7/cpuset.cpus.effective").text == "1\n"
    assert capture.list("/sys/fs/cgroup") == ("system.slice",)


def test_replays_commands(capture: CaptureHost) -> None:
    """A command's outputs, status and place are those of the machine; one never asked is not known."""
    assert {argv: capture.run(argv) for argv in COMMANDS} == RAN
    assert capture.run(("other",)).why == Why.NOT_KEPT


def test_tells_about_itself(capture: CaptureHost) -> None:
    """Variables and the head of the capture come back."""
    assert capture.environment() == {"OMP_PLACES": "cores x", "SLURM_JOB_ID": "7"}
    assert capture.about == {"advisor": "1", "made": "python", "time": "now", "uid": "0", "anonymised": "no"}
    assert (capture.kind, capture.name) == ("capture", "node.tar.gz")


def test_same_answers_same_bytes(machine: Machine, data: bytes) -> None:
    """Nothing but the answers and the head decides what a capture is."""
    assert data == record(
        machine, ALL, COMMANDS, {"advisor": "1", "made": "python", "time": "now", "uid": "0", "anonymised": "no"}
    )


def test_capture_of_a_capture_is_the_same(data: bytes, capture: CaptureHost) -> None:
    """Recording a capture again loses nothing."""
    again = opened(record(capture, ALL, COMMANDS, capture.about))
    paths = sorted(
        {path for host in (capture, again) for p in concrete_patterns(host, ALL) for path in expand(host, p.removesuffix("@"))}
    )
    assert answers(capture, paths) == answers(again, paths)
    assert set(again.patterns) == set(capture.patterns)


def test_capture_of_a_root_does_not_invent_absence() -> None:
    """What a bare root cannot tell, its capture cannot either."""
    root = TreeHost(MemoryStore({f"/{path}": node for path, node in MACHINE.items()}), "root")
    again = opened(record(root, PATTERNS, COMMANDS, {}))
    assert again.read("/sys/devices/system/cpu/offline").why == Why.NOT_KEPT
    assert again.read("/sys/devices/system/cpu/online").text == "0-3\n"
    assert again.run(COMMANDS[1]).why == Why.NOT_KEPT


def test_progress_is_told(machine: Machine) -> None:
    """Each pattern and each command is a step, up to the last."""
    steps: list[tuple[int, int]] = []
    record(machine, ("/proc/meminfo", "/a"), COMMANDS, {}, lambda done, of: steps.append((done, of)))
    assert [(n, 6) for n in range(1, 7)] == steps


def test_unpacked_capture_is_read_too(data: bytes, tmp_path: Path) -> None:
    """A capture that somebody unpacked is still a capture."""
    nodes = {path[1:]: node for path, node in unpack(data, "x").items()}
    folders = {path: node for path, node in nodes.items() if node is None}
    store = capture_in(DiskStore(str(lay(lay(tmp_path, folders), {path: nodes[path] for path in nodes.keys() - folders}))))
    assert store is not None
    host = CaptureHost(store, "folder")
    assert answers(opened(data), ["/proc/mounts", f"/{PCI}/numa_node"]) == answers(host, ["/proc/mounts", f"/{PCI}/numa_node"])


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "format",
            b"advisor-capture 9\n",
            "c: its format is 'advisor-capture 9', but this advisor reads 'advisor-capture 1'; update advisor",
        ),
        ("gaps", b"eaten\t/a\n", "c: gaps: cannot read 'eaten /a'"),
        ("gaps", b"refused\tetc\n", "c: gaps: cannot read 'refused etc'"),
        ("commands/000/status", b"9x\x1b\n", "c: commands/000/status: '9x\\x1b' is not an exit status"),
        ("patterns", b"/a\n" * 10_001, "c: patterns: more than 10000 patterns"),
    ],
)
def test_broken_captures_are_named(file: str, text: bytes, said: str) -> None:
    """A part that cannot be read is named with its place."""
    nodes = {"advisor-capture/format": b"advisor-capture 1\n", f"advisor-capture/{file}": text}
    store = capture_in(MemoryStore(unpack(tar(nodes), "c")))
    assert store is not None
    with pytest.raises(BadCapture) as caught:
        CaptureHost(store, "c")
    assert said == str(caught.value)


def test_empty_capture_knows_nothing() -> None:
    """A capture of which only the head is left answers that nothing was kept."""
    store = capture_in(MemoryStore({"/advisor-capture/format": b"advisor-capture 1\n"}))
    assert store is not None
    host = CaptureHost(store, "c")
    assert (host.read("/proc/meminfo").why, host.list("/"), host.environment()) == (Why.NOT_KEPT, (), {})


def test_hostile_patterns_end() -> None:
    """Patterns over links to their own folder do not multiply."""
    nodes: dict[str, Entry] = {f"/advisor-capture/root/{path}": node for path, node in MACHINE.items()}
    nodes["/advisor-capture/format"] = b"advisor-capture 1\n"
    nodes["/advisor-capture/patterns"] = b"".join(b"/*" * n + b"x\n" for n in range(2, 200))
    store = capture_in(MemoryStore(nodes))
    assert store is not None
    assert CaptureHost(store, "c").read("/proc/unknown/deep/file").why == Why.NOT_KEPT


def test_a_root_without_end_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many bytes, too many files or links, or commands that say too much: before the memory is full."""
    monkeypatch.setattr("advisor.machine.hosts.capture._MOST", 1 << 20)
    large: dict[str, Entry] = {f"/sys/{n}": b"x" * 100_000 for n in range(12)}
    many: dict[str, Entry] = {f"/sys/{n}": b"" for n in range(1100)}
    for nodes in (large, many):
        with pytest.raises(
            BadInput, match=r"root: contains more than 1 MiB of files that advisor reads, more than any machine has; "
        ):
            record(TreeHost(MemoryStore(nodes), "root"), ("/sys/*",), (), {})
    fine: dict[str, Entry] = {f"/sys/{n}": b"x" * 100_000 for n in range(9)}
    assert len(opened(record(TreeHost(MemoryStore(fine), "root"), ("/sys/*",), (), {})).list("/sys")) == 9


def test_folder_is_laid_as_told(tmp_path: Path) -> None:
    """The tree that these tests lay on disk answers as the one in memory."""
    disk = TreeHost(DiskStore(str(lay(tmp_path))), "x")
    memory = TreeHost(MemoryStore({f"/{path}": node for path, node in MACHINE.items()}), "x")
    paths = [f"/{path}" for path in MACHINE]
    assert answers(memory, paths) == answers(disk, paths)
