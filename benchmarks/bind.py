"""How fast the whole of ``advisor bind -o DIR`` is for 1,048,576 ranks, and in how much memory: ``python benchmarks/bind.py``."""

import resource
import sys
import tempfile
import time
from pathlib import Path

from advisor.cli.main import status
from tests.machines.catalogue import write_archive

HOSTS, RANKS = 8192, 128
MACHINE = "b-c6525-2x7702-nps4"


def main() -> None:
    """Print seconds, memory, and the sizes of what was written; the rankfile is the exact form."""
    launcher = sys.argv[1] if len(sys.argv) > 1 else "openmpi5"
    with tempfile.TemporaryDirectory() as folder:
        source = str(write_archive(MACHINE, Path(folder) / "node.tar.gz"))
        words = ["--from", source, "--nodes", str(HOSTS), "--ranks-per-node", str(RANKS), "--launcher", launcher, "--exact"]
        start = time.perf_counter()
        result = status(["bind", *words, "--no-color", "-o", f"{folder}/job", "--", "./app"])
        took = time.perf_counter() - start
        sizes = {file.name: f"{file.stat().st_size / 1e6:.1f} MB" for file in sorted(Path(folder, "job").iterdir())}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stderr.write(f"status {result}: {took:.2f} s, {peak:.0f} MB at most; {sizes}\n")


if __name__ == "__main__":
    main()
