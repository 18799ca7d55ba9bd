"""Write a test machine out: ``python -m tests.machines NAME -o FOLDER | FILE.tar.gz | FILE.xml``; without a name, list them."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.jobs.place.nodes import GPU_NODES, gpu_node_file
from tests.machines.catalogue import MACHINES, write_archive, write_root
from tests.machines.hwloc_xml import xml


def listed() -> str:
    """Return one line for each machine."""
    rows = [f"{name:<36} {' '.join(map(str, expected.counts))}  {expected.cut}\n" for name, (_, expected) in MACHINES.items()]
    return "".join(rows + [f"{name:<36} a node of a centre, with its GPUs\n" for name in GPU_NODES])


def save(name: str, target: Path) -> None:
    """Write a machine as its target's name says."""
    if name in GPU_NODES:
        with tempfile.TemporaryDirectory() as folder:
            made = gpu_node_file(name, Path(folder))
            if not target.name.endswith("".join(made.suffixes)):
                raise SystemExit(f"{name} is written as {made.name}: -o {made.name}")
            target.write_bytes(made.read_bytes())
    elif target.suffix == ".xml":
        with tempfile.TemporaryDirectory() as folder:
            text = xml(write_root(name, Path(folder)), disallowed=True)
        if text is None:
            raise SystemExit("lstopo is not installed: write a folder or a .tar.gz instead")
        target.write_text(text)
    elif target.name.endswith((".tar.gz", ".tgz")):
        write_archive(name, target)
    else:
        write_root(name, target)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted([*MACHINES, *GPU_NODES]), metavar="NAME")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.name is None:
        sys.stdout.write(listed())
    else:
        save(arguments.name, arguments.output or Path(arguments.name))


if __name__ == "__main__":
    main()
