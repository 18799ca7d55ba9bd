"""Registers and messages: asked of a processor that is not there, opened for reading alone."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.machine.hosts import live as door
from advisor.machine.hosts.base import Host, Reading, Why
from advisor.machine.hosts.source import open_host
from advisor.machine.registers import Message, messages, registers
from tests.fakenode import devices

pytestmark = pytest.mark.skipif(not devices.available(), reason="no compiler")

ICE_LAKE = devices.cpuinfo("GenuineIntel", 6, 106)
MILAN, TURIN = devices.cpuinfo("AuthenticAMD", 25, 1), devices.cpuinfo("AuthenticAMD", 26, 2)
INTEL = {0x1A4: 0x5, 0x1FC: 0x2904005B, 0x1A0: 0x850089, 0x1B: 0xFEE00C00, 0x10: 7}
AMD = {0xC0000108: 0x8, 0xC0010015: 0x109000010}

ROOT = Path(__file__).parents[2]
_ASK = """
import json, sys
from advisor.machine.hosts.live import LiveHost
host = LiveHost()
def told(path):
    found = host.read(path)
    return [found.text, found.why]
print(json.dumps({path: list(host.list(path)) if path.endswith("/") else told(path) for path in sys.argv[1:]}))
"""


class Answers:
    """What the machine in a folder answers, and what was opened for it."""

    def __init__(self, root: Path, *paths: str) -> None:
        self.log = root.parent / "log"
        command = [sys.executable, "-c", _ASK.replace("host.list(path)", "host.list(path[:-1])"), *paths]
        ran = subprocess.run(
            command, env=devices.environment(root, self.log), capture_output=True, text=True, check=True, cwd=ROOT
        )
        self.told = json.loads(ran.stdout)

    @property
    def opened(self) -> set[str]:
        """Each device with how it was opened: 0 is for reading."""
        return {*self.log.read_text().splitlines()} if self.log.exists() else set()


def test_a_register_is_eight_bytes_of_the_device(tmp_path: Path) -> None:
    """The most significant digits come first; the device is opened for reading and nothing else."""
    root = devices.lay(tmp_path / "root", ICE_LAKE, {0: INTEL, 1: INTEL})
    seen = Answers(root, "/dev/cpu/0/msr/0x1fc", "/dev/cpu/0/msr/0x1b")
    assert seen.told == {
        "/dev/cpu/0/msr/0x1fc": ["000000002904005b\n", None],
        "/dev/cpu/0/msr/0x1b": ["00000000fee00c00\n", None],
    }
    assert seen.opened == {"/dev/cpu/0/msr 0"}


def test_one_thread_of_each_core_is_asked(tmp_path: Path) -> None:
    """Threads share the registers of their core, cores those of their package; each read wakes a processor."""
    root = devices.lay(tmp_path / "root", MILAN, dict.fromkeys(range(4), AMD))
    told = Answers(root, *(f"/dev/cpu/{cpu}/msr/" for cpu in range(8))).told
    own, shared = ["0xc0000108", "0xc0010015", "0xc0010065", "0xc0010066"], ["0xc0010010", "0x1b"]
    assert list(told.values()) == [[*own, *shared], [], own, [], [*own, *shared], [], own, []]


def test_a_register_that_no_document_names_is_not_asked(tmp_path: Path) -> None:
    """Neither one in no table, nor one of another vendor's: the device is not even opened."""
    root = devices.lay(tmp_path / "root", ICE_LAKE, {0: INTEL | AMD, 1: INTEL | AMD})
    paths = ("/dev/cpu/0/msr/0x10", "/dev/cpu/0/msr/0xc0000108", "/dev/cpu/1/msr/0x1a4", "/dev/cpu/99/msr/0x1a4")
    seen = Answers(root, *paths)
    assert (seen.told, seen.opened) == ({path: [None, "not present"] for path in paths}, set())


def test_a_register_that_the_processor_has_not_is_not_known(tmp_path: Path) -> None:
    """EIO is no value: nothing is off because it cannot be read."""
    root = devices.lay(tmp_path / "root", ICE_LAKE, {0: INTEL, 1: INTEL})
    assert Answers(root, "/dev/cpu/0/msr/0xe2").told == {"/dev/cpu/0/msr/0xe2": [None, "could not be read"]}


def test_a_guest_is_not_asked(tmp_path: Path) -> None:
    """A hypervisor answers zero for what it does not know: such a register says nothing."""
    guest = devices.cpuinfo("GenuineIntel", 6, 106, "fpu msr hypervisor")
    root = devices.lay(tmp_path / "root", guest, {0: INTEL, 1: INTEL})
    seen = Answers(root, "/dev/cpu/0/msr/", "/dev/cpu/0/msr/0x1a4")
    assert (seen.told["/dev/cpu/0/msr/"], seen.told["/dev/cpu/0/msr/0x1a4"], seen.opened) == ([], [None, "not present"], set())


def test_a_message_is_answered_in_words(tmp_path: Path) -> None:
    """A clock that moves is looked at ten times; there are as many sockets as packages."""
    hsmp = {(0, 3, 0): (2,), (0, 0xF, 0): (1600, 1600), (1, 3, 0): (2,), (1, 6, 0): (280000,)}
    root = devices.lay(tmp_path / "root", MILAN, {0: AMD, 1: AMD}, hsmp)
    seen = Answers(root, "/dev/hsmp/", "/dev/hsmp/0/0x0f", "/dev/hsmp/1/0x06", "/dev/hsmp/2/0x06")
    assert seen.told == {
        "/dev/hsmp/": ["0", "1"],
        "/dev/hsmp/0/0x0f": ["00000640 00000640\n" * 10, None],
        "/dev/hsmp/1/0x06": ["000445c0\n", None],
        "/dev/hsmp/2/0x06": [None, "not present"],
    }
    assert seen.opened == {"/dev/hsmp 0"}


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOMSG, "not present"), (errno.EINVAL, "not present"), (errno.EPERM, "permission denied"),
        (errno.ETIMEDOUT, "could not be read"), (errno.EBUSY, "could not be read"),
    ],
)  # fmt: skip
def test_an_error_of_the_driver_is_a_reason(number: int, why: str, tmp_path: Path) -> None:
    """What the driver, or the firmware behind it, does not answer is not known."""
    root = devices.lay(tmp_path / "root", MILAN, {0: AMD, 1: AMD}, {(0, 6, 0): (-number,)})
    assert Answers(root, "/dev/hsmp/0/0x06").told == {"/dev/hsmp/0/0x06": [None, why]}


def test_firmware_that_is_silent_is_asked_once(tmp_path: Path) -> None:
    """Each silence lasts a tenth of a second: an audit does not wait for another."""
    root = devices.lay(tmp_path / "root", MILAN, {0: AMD, 1: AMD}, {(0, 6, 0): (-errno.ETIMEDOUT,), (0, 7, 0): (280000,)})
    told = Answers(root, "/dev/hsmp/0/0x06", "/dev/hsmp/0/0x07").told
    assert told == {"/dev/hsmp/0/0x06": [None, "could not be read"], "/dev/hsmp/0/0x07": [None, "could not be read"]}


@pytest.mark.parametrize(("identity", "protocol", "asked"), [(TURIN, 7, True), (TURIN, 5, False), (MILAN, 7, False)])
def test_what_old_firmware_would_take_for_an_order_is_not_sent(identity: str, protocol: int, asked: bool, tmp_path: Path) -> None:
    """Bit 31 asks since version 7 on family 1Ah; what ignores it would set 0."""
    hsmp = {(0, 3, 0): (protocol,), (0, 0x21, 1 << 31): (2,), (0, 0x0D, 1 << 31): (0x100,)}
    root = devices.lay(tmp_path / "root", identity, {0: AMD, 1: AMD}, hsmp)
    told = Answers(root, "/dev/hsmp/0/0x21.80000000", "/dev/hsmp/0/0x0d.80000000").told
    assert [text for text, _ in told.values()] == (["00000002\n", "00000100\n"] if asked else [None, None])


def test_no_message_in_the_table_sets_anything() -> None:
    """Numbers that only set (05h, 08h, 09h, 0Eh, 12h, 20h) are not there, nor is any that could without bit 31 or version 7."""
    asking = {each.message for each in messages() if each.arguments == (1 << 31,)}
    plain = {each.message for each in messages()} - asking
    assert (asking, plain) == ({0x0C, 0x0D, 0x21, 0x28}, {0x03, 0x06, 0x07, 0x0F, 0x11, 0x13, 0x19})
    assert {(each.protocol, *each.models) for each in messages() if each.message in asking} == {(7, 26)}


def test_the_parcel_is_the_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """44 bytes, the words at 8, the socket at 40, the number of the call from both (compiled from Linux, asm/amd_hsmp.h)."""
    seen: list[tuple[int, bytes]] = []
    monkeypatch.setattr("fcntl.ioctl", lambda _, call, parcel: seen.append((call, bytes(parcel))))
    message = next(each for each in messages() if each.message == 0x13)
    door.sent(0, 1, message, 0x20000)
    ((call, parcel),) = seen
    assert (call, len(parcel), parcel[:8], parcel[8:12], parcel[40:42]) == (
        0xC02CF800, 44, b"\x13\0\0\0\x01\0\x01\0", b"\0\0\x02\0", b"\x01\0",
    )  # fmt: skip


def test_a_device_that_is_open_for_writing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes the door open one so, nothing goes through it."""
    device, real = tmp_path / "msr", os.open
    device.write_bytes(bytes(16))
    monkeypatch.setattr("os.open", lambda path, flags: real(path, flags | os.O_RDWR))
    with pytest.raises(PermissionError, match="was not opened read-only"), door.opened_to_read(str(device)):
        pass


def test_no_other_module_opens_a_device_of_a_processor() -> None:
    """One module asks, and it has no word for writing."""
    sources = {path: path.read_text() for path in (ROOT / "advisor").rglob("*.py")}
    devices_named = {path.name for path, text in sources.items() if re.search(r"/dev/(?:cpu|hsmp)", text) and "os.open(" in text}
    calls = sorted(devices_named | {path.name for path, text in sources.items() if re.search(r"\bioctl\(", text)})
    here = (ROOT / "advisor/machine/hosts/live.py").read_text()
    assert (calls, re.findall(r"O_RDWR|O_WRONLY|pwrite|os\.write|wrmsr", here)) == (["live.py"], [])


def test_strace_sees_no_device_opened_for_writing(tmp_path: Path) -> None:
    """A whole capture of a machine with registers and messages: the kernel's own account of what was opened."""
    seen = tmp_path / "trace"
    traced = ["strace", "-f", "-qq", "-e", "trace=openat,open", "-o", str(seen)]
    if not shutil.which("strace") or subprocess.run([*traced, "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace cannot be used here")
    root = devices.lay(tmp_path / "root", MILAN, {0: AMD, 1: AMD}, {(0, 3, 0): (2,)})
    code = "from advisor.machine.hosts.live import LiveHost as H; from advisor.machine.hosts.base import expand; h = H(); "
    code += "[h.read(p) for q in ('/dev/cpu/*/msr/0x*', '/dev/hsmp/*/0x*') for p in expand(h, q)]"
    variables = [
        f"-E{key}={value}" for key, value in devices.environment(root, tmp_path / "log").items() if key not in os.environ
    ]
    subprocess.run([*traced, *variables, sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    lines = [line for line in seen.read_text(errors="replace").splitlines() if re.search(r"/dev/(cpu/\d+/msr|hsmp)\"", line)]
    assert (len(lines) > 10, [line for line in lines if "O_RDONLY" not in line]) == (True, [])


def kept(host: Host) -> dict[str, Reading]:
    """Return the registers that a capture holds."""
    folders = [f"/dev/cpu/{cpu}/msr" for cpu in host.list("/dev/cpu")]
    return {f"{at}/{name}": host.read(f"{at}/{name}") for at in folders for name in host.list(at)}


def captured(root: Path, made: Path, command: list[str]) -> dict[str, Reading]:
    """Return the registers of the capture that a command makes on a machine."""
    ran = subprocess.run(
        [*command, "-o", str(made)],
        check=False,
        env=devices.environment(root, made.with_name("log")),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert made.exists(), ran.stderr
    return kept(open_host(str(made)))


def by_python(folder: Path) -> list[str]:
    """Return how Python captures."""
    del folder
    return [sys.executable, "-m", "advisor", "capture"]


def by_script(folder: Path) -> list[str]:
    """Return how the script captures, in dash where there is one."""
    made = folder / "capture.sh"
    with made.open("w") as file:
        subprocess.run([sys.executable, "-m", "advisor", "capture", "--script"], stdout=file, check=True, cwd=ROOT)
    return [shutil.which("dash") or "sh", str(made)]


@pytest.mark.slow
@pytest.mark.parametrize("way", [by_python, by_script])
def test_a_capture_keeps_the_registers(way: Callable[[Path], list[str]], tmp_path: Path) -> None:
    """Advisor capture and the script, of which the second has dd and od, keep the same files; a large value loses no digit."""
    values = {0: {**AMD, 0xC0010065: 0x80000000000A02A8}, 1: AMD}
    root = devices.lay(tmp_path / "root", MILAN, values)
    found = {
        path: reading.text for path, reading in captured(root, tmp_path / "node.tar.gz", way(tmp_path)).items() if reading.text
    }
    assert found == {
        "/dev/cpu/0/msr/0xc0000108": "0000000000000008\n",
        "/dev/cpu/0/msr/0xc0010015": "0000000109000010\n",
        "/dev/cpu/0/msr/0xc0010065": "80000000000a02a8\n",
        "/dev/cpu/2/msr/0xc0000108": "0000000000000008\n",
        "/dev/cpu/2/msr/0xc0010015": "0000000109000010\n",
    }


def test_every_register_is_a_setting_or_belongs_to_one() -> None:
    """Nothing is read out of curiosity: each register has a field that a setting, or the doubt about one, needs."""
    doubts = {"package_cstate_limit", "hwp", "power_limit_locked", "l2_amp", "sme"}
    idle = [f"{each.msr:#x}" for each in registers() if not any(f.setting or name in doubts for name, f in each.fields.items())]
    assert idle == []


def test_the_words_sent_back_are_counted_as_the_driver_counts() -> None:
    """The driver refuses a message whose counts are not those of its own table."""
    asked: tuple[Message, ...] = messages()
    assert {each.message: (len(each.arguments[:1]), each.words) for each in asked} == {
        0x03: (0, 1), 0x06: (0, 1), 0x07: (0, 1), 0x0F: (0, 2), 0x11: (0, 1), 0x13: (1, 1), 0x19: (0, 1),
        0x0C: (1, 1), 0x0D: (1, 1), 0x21: (1, 1), 0x28: (1, 1),
    }  # fmt: skip


def test_the_real_machine_answers_with_a_reason() -> None:
    """Where there is no such device, or a hypervisor, nothing is there; nobody is shown an error."""
    found = door.DeviceFiles().read("/dev/cpu/0/msr/0x1a4")
    assert found.why in (None, Why.ABSENT, Why.REFUSED, Why.FAILED)
