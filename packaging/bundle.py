"""Puts advisor and what it needs into one folder (dist/bundle) and one file (dist/advisor.pyz), for several Pythons at once.

python packaging/bundle.py [--python 3.12 ...] [--machine x86_64 ...]: other Pythons and machines than all that the lock's
releases have compiled parts for. Everything comes from packaging/lock.txt by its hash. Two runs give the same bytes.
"""

import argparse
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "packaging" / "lock.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
LIBC = "manylinux2014"
"""glibc 2.17 and newer: RHEL 7, SLES 12 SP2, Ubuntu 14.04 and all that came since (PEP 599)."""
USELESS = ("zstandard/_cffi.",)
"""Compiled parts that need a package which is not in the lock."""
BY_INSTALLER = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json")
"""What an installer writes of itself; it differs from run to run."""


def main(arguments: Sequence[str]) -> int:
    """Build the bundle and the file; say their names and sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--python", action="append", help="a Python, such as 3.12; all of them if none is named")
    parser.add_argument("--machine", action="append", help="a machine, such as x86_64; all of them if none is named")
    parser.add_argument("--wheel", type=Path, required=True, help="advisor's own wheel")
    parser.add_argument("-o", dest="out", type=Path, default=ROOT / "dist", help="the folder to write into")
    options = parser.parse_args(arguments)
    bundle = options.out / "bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    make(bundle, options.wheel, options.python or PYTHONS, options.machine or MACHINES)
    packed = options.out / "advisor.pyz"
    pack(bundle, packed)
    sys.stdout.write(f"{packed}: {packed.stat().st_size / 1e6:.1f} MB for {', '.join(tags(bundle))}\n")
    return 0


def make(bundle: Path, wheel: Path, pythons: Sequence[str], machines: Sequence[str]) -> None:
    """Write the folder: common/ for every Python, one folder for each Python and machine, and what starts them."""
    unzip(wheel, bundle / "common")
    for machine in machines:
        for python in pythons:
            with tempfile.TemporaryDirectory() as place:
                install(Path(place), python, machine)
                sort_in(Path(place), bundle, f"cp{python.replace('.', '')}-{machine}")
    shutil.copyfile(ROOT / "packaging" / "start.py", bundle / "__main__.py")
    about = {"version": wheel.name.split("-")[1], "id": content_id(bundle), "tags": tags(bundle)}
    (bundle / "bundle.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    for path in (bundle, *bundle.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path == bundle / "__main__.py" else 0o644)


def unzip(wheel: Path, folder: Path) -> None:
    """Write what a pure wheel has for Python; its manual pages and the like travel by other ways."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder, [name for name in packed.namelist() if ".data/" not in name])
    clean(folder)


def install(place: Path, python: str, machine: str) -> None:
    """Install what the lock names for one Python and machine: wheels alone, each by its hash."""
    target = ("--target", str(place), "--python-version", python, "--python-platform", f"{machine}-{LIBC}")
    sure = ("--only-binary", ":all:", "--require-hashes", "--no-deps", "--link-mode", "copy")
    subprocess.run(["uv", "pip", "install", "--quiet", *target, *sure, "-r", str(LOCK)], check=True, env=with_own_programs())
    shutil.rmtree(place / "bin", ignore_errors=True)


def with_own_programs() -> dict[str, str]:
    """Return the environment with the folder of this Python's programs on the path: uv is installed beside it."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}


def sort_in(place: Path, bundle: Path, tag: str) -> None:
    """Move what an installer wrote: distributions that are Python alone to common/, the others to the folder of their tag."""
    for info in sorted(place.glob("*.dist-info")):
        pure = "Tag: py3-none-any" in (info / "WHEEL").read_text(encoding="utf-8")
        for name in (line.rpartition(",")[0].rpartition(",")[0] for line in _lines(info / "RECORD")):
            source, target = place / name, bundle / ("common" if pure else tag) / name
            if source.is_file() and ".." not in Path(name).parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    clean(bundle)


def _lines(file: Path) -> list[str]:
    return [line.replace('"', "") for line in file.read_text(encoding="utf-8").splitlines()]


def clean(folder: Path) -> None:
    """Remove what differs from run to run, and what cannot be used."""
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        by_installer = path.parent.name.endswith(".dist-info") and path.name in BY_INSTALLER
        if path.is_file() and (by_installer or path.suffix == ".pyc" or any(each in name for each in USELESS)):
            path.unlink()


def tags(bundle: Path) -> list[str]:
    """Return the Pythons and machines that a bundle has parts for."""
    return sorted(path.name for path in bundle.glob("cp*"))


def files(bundle: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file by its name in the archive, in an order that no file system decides."""
    yield from sorted((path.relative_to(bundle).as_posix(), path) for path in bundle.rglob("*") if path.is_file())


def content_id(bundle: Path) -> str:
    """Return what names this content: another content is unpacked into another folder."""
    whole = hashlib.sha256()
    for name, path in files(bundle):
        if name != "bundle.json":
            whole.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return whole.hexdigest()[:24]


def pack(bundle: Path, packed: Path) -> None:
    """Write the archive that Python runs: the line for the shell, then files in order with one date."""
    with packed.open("wb") as file:
        file.write(b'#!/bin/sh\nexec python3 -I "$0" "$@"\n')  # env takes no option everywhere; the shell reads no further
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, path in files(bundle):
                entry = zipfile.ZipInfo(name, date_time=(2020, 2, 2, 0, 0, 0))
                entry.external_attr = (stat.S_IFREG | 0o644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes(), compresslevel=9)
    packed.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
