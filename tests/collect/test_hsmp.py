from typing import Any

import pytest

from advisor.machine.hosts.base import Why
from advisor.machine.machine import Gap
from advisor.machine.registers import SocketFirmware
from advisor.machine.sources.registers import HSMP_PATHS, LOAD_HSMP, collect_hsmp
from tests.collect.os_host import FakeHost, covered
from tests.fakenode.devices import cpuinfo

ROME, MILAN, TURIN = (cpuinfo("AuthenticAMD", *each) for each in ((23, 49), (25, 1), (26, 2)))


def host(identity: str, **answers: str) -> FakeHost:
    """Return a machine of one socket whose firmware answers messages: m0f="00000640 00000640"."""
    files: dict[str, str | Why] = {"/proc/cpuinfo": identity}
    files |= {f"/dev/hsmp/0/0x{name[1:].replace('_', '.')}": f"{text}\n" for name, text in answers.items()}
    return FakeHost(files)


def told(identity: str, **answers: str) -> dict[str, Any]:
    """Return the facts of the socket."""
    (socket,) = collect_hsmp(host(identity, **answers)).socket_firmware or (None,)
    return {} if socket is None else socket.model_dump(exclude_none=True, exclude={"socket"})


@pytest.mark.parametrize(
    ("identity", "answers", "expected"),
    [
        (MILAN, {"m03": "00000002"}, {"protocol": 2}),
        (MILAN, {"m06": "000445c0", "m07": "000445c0"}, {"power_limit": 280.0, "power_limit_max": 280.0}),
        (MILAN, {"m0f": "00000640 00000640\n00000320 00000640"},
         {"fabric_clock": 1.6e9, "fabric_clock_lowest": 0.8e9, "memory_clock": 1.6e9,
          "memory_clock_lowest": 1.6e9}),
        (MILAN, {"m11": "00000003"}, {"busy": 3}),
        (TURIN, {"m03": "00000007", "m19": "0ce40008"}, {"protocol": 7, "limits": ("PPT",)}),
        (TURIN,
         {"m03": "00000007", "m13_0": "00000303", "m13_10000": "00000303", "m13_20000": "00000303", "m13_30000": "00000300"},
         {"protocol": 7, "io_clock_lowest": (3, 3, 3, 0), "io_clock_highest": (3, 3, 3, 3)}),
        (TURIN, {"m03": "00000007", "m0c_80000000": "00000102"}, {"protocol": 7, "xgmi_narrowest": "x8", "xgmi_widest": "x16"}),
        (TURIN, {"m03": "00000007", "m0d_80000000": "00000100"}, {"protocol": 7, "fabric_fixed": True, "fabric_pstate": 0}),
        (TURIN, {"m03": "00000007", "m21_80000000": "00000002"}, {"protocol": 7, "power_mode": "io"}),
        (TURIN, {"m03": "00000007", "m28_80000000": "00000000"}, {"protocol": 7, "fabric_sleeps": False}),
    ],
)  # fmt: skip
def test_an_answer_says_what_the_library_of_its_maker_says(
    identity: str, answers: dict[str, str], expected: dict[str, Any]
) -> None:
    """Units and places of bits as E-SMI and the driver document them."""
    assert told(identity, **answers) == expected


def test_an_answer_of_newer_firmware_is_not_read_as_older_firmwares() -> None:
    """A capture that holds one for version 7 beside version 5 is not believed."""
    assert told(TURIN, m03="00000005", m21_80000000="00000002") == {"protocol": 5}


def test_levels_are_known_of_all_nbios_or_not_at_all() -> None:
    """Three of four say nothing of the one with the adapter."""
    assert told(TURIN, m03="00000007", m13_0="00000303", m13_10000="00000303", m13_20000="00000303") == {"protocol": 7}


@pytest.mark.parametrize("answer", ["", "0640", "00000640", "00000640 0000064g", "00000640 00000640 00000640"])
def test_what_is_no_answer_is_not_read(answer: str) -> None:
    """The words must be as many as the message has."""
    assert collect_hsmp(host(MILAN, m0f=answer)).socket_firmware is None


def test_the_driver_is_named_where_it_is_not_loaded() -> None:
    """With the option of the BIOS without which it does not load."""
    machine = collect_hsmp(FakeHost({"/proc/cpuinfo": MILAN}))
    assert machine.gaps == (Gap(fact="socket_firmware", why="/dev/hsmp: not present", help=LOAD_HSMP),)


def test_a_processor_without_the_mailbox_lacks_nothing() -> None:
    """Rome has none: no module is named, and an answer in a capture of one is not believed."""
    assert (collect_hsmp(FakeHost({"/proc/cpuinfo": ROME})).gaps, told(ROME, m06="000445c0")) == ((), {})


def test_what_is_read_is_kept() -> None:
    """Every file asked for is one that a capture keeps."""
    asked = host(TURIN, m03="00000007")
    found = collect_hsmp(asked).socket_firmware
    assert (found, [path for path in asked.asked if not covered(path, HSMP_PATHS)]) == (
        (SocketFirmware(socket=0, protocol=7),),
        [],
    )
