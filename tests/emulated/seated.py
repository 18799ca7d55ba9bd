"""Starts a kernel and asks Linux where its threads and its pages are while it runs: ``seated.py KERNEL ARGUMENT...``.

Prints one JSON object: the CPU list of each thread, the pages of its memory by NUMA node and the policies of that memory,
all as the kernel has them.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

LARGEST = 1000
"""Pages; smaller mappings are the program's own."""


def threads(process: int) -> list[str]:
    """Return the CPUs that each thread may use."""
    found = []
    for status in sorted(Path(f"/proc/{process}/task").glob("*/status"), key=lambda file: int(file.parent.name)):
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        found.append(fields["Cpus_allowed_list"].strip())
    return found


def pages(process: int) -> tuple[dict[str, int], set[str]]:
    """Return the pages of its large anonymous mappings by NUMA node, and by which policies they are where they are."""
    count: Counter[str] = Counter()
    policies = set()
    for line in Path(f"/proc/{process}/numa_maps").read_text().splitlines():
        anonymous = re.search(r" anon=(\d+)", line)
        if anonymous and int(anonymous[1]) > LARGEST:
            policies.add(line.split()[1])
            count.update({node: int(number) for node, number in re.findall(r" N(\d+)=(\d+)", line)})
    return dict(count), policies


def main() -> None:
    """Look once the kernel has touched its memory, then let it end."""
    kernel = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
    end = monotonic() + 120
    seen: dict[str, int] = {}
    policies: set[str] = set()
    while kernel.poll() is None and monotonic() < end:
        now, policies = pages(kernel.pid)
        if now and now == seen:  # memory is touched, and nothing comes any more
            break
        seen = now
        sleep(0.5)
    where = threads(kernel.pid)
    out, _ = kernel.communicate(timeout=300)
    told = {"threads": where, "pages": seen, "policies": sorted(policies), "said": json.loads(out), "status": kernel.returncode}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
