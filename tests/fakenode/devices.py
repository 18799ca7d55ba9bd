"""A processor with registers and messages that is not there: a folder for ``devices.c``, and the environment to run in."""

import os
import shutil
import struct
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_SOURCE = Path(__file__).with_name("devices.c")
Answers = Mapping[tuple[int, int, int], tuple[int, ...]]
"""Socket, message and argument -> the words that come back; one that is negative is the error."""


def available() -> bool:
    """Return whether there is a compiler."""
    return shutil.which("cc") is not None


@cache
def library() -> Path:
    """Return the library to load before all others, built once."""
    made = Path(mkdtemp(prefix="advisor-devices-")) / "devices.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", str(made), str(_SOURCE), "-ldl"], check=True)
    return made


def cpuinfo(vendor: str, family: int, model: int, flags: str = "fpu msr ida") -> str:
    """Return what /proc/cpuinfo says of the first CPU."""
    lines = (
        ("processor\t", "0"),
        ("vendor_id\t", vendor),
        ("cpu family\t", str(family)),
        ("model\t\t", str(model)),
        ("model name\t", "a processor"),
        ("flags\t\t", flags),
    )
    return "".join(f"{key}: {value}\n" for key, value in lines)


def lay(
    root: Path, identity: str, registers: Mapping[int, Mapping[int, int]], hsmp: Answers | None = None, *, threads: int = 2
) -> Path:
    """Lay out a machine: registers by CPU, where CPUs that share a core follow each other; half of the cores in each package."""
    (root / "proc").mkdir(parents=True, exist_ok=True)
    (root / "proc/cpuinfo").write_text(identity)
    for cpu in range(len(registers) * threads):
        at = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        at.mkdir(parents=True)
        first = cpu - cpu % threads
        (at / "thread_siblings_list").write_text(f"{first}-{first + threads - 1}\n" if threads > 1 else f"{cpu}\n")
        (at / "physical_package_id").write_text(f"{int(cpu >= len(registers) * threads // 2)}\n")
        _write(root / f"dev/cpu/{cpu}/msr", registers[cpu // threads])
    if hsmp is not None:
        lines = (
            f"{socket} {message:x} {argument:x} {' '.join(map(str, words))}"
            for (socket, message, argument), words in hsmp.items()
        )
        (root / "dev/hsmp").write_text("".join(f"{line}\n" for line in lines))
    return root


def _write(path: Path, values: Mapping[int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number, value in values.items():
            file.seek(number * 16)
            file.write(struct.pack("<QQ", value, 1))


def environment(root: Path, log: Path) -> dict[str, str]:
    """Return the environment of a process that finds itself on the machine."""
    return {**os.environ, "LD_PRELOAD": str(library()), "FAKEROOT": str(root), "FAKELOG": str(log)}
