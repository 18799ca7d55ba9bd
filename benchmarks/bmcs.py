"""Read and plan the BIOS of many imitated BMCs at once: seconds, memory, and whether each broken one is named.

``python -m benchmarks.bmcs [--count 400] [--real]``: every BMC is a Dell's with two EPYC 7742, over TLS; four of them are broken
in ways of their own. With --real each has the attributes of a PowerEdge R750 in its registry too, where the captures of real BMCs
are at hand. The BMCs share the computer with what is measured, so that its seconds are an upper bound.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bios.imitation import PASSWORD, USER
from tests.bios.machines import Machine, captured, own
from tests.bios.makers import Dell
from tests.bios.wire import Certificate, Fault, Rack
from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[1]
BROKEN: dict[str, list[Fault]] = {
    "HTML": [Fault("html", "GET", "Systems", times=999)],
    "an answer without end": [Fault("endless", "GET", "Bios", times=999)],
    "another password": [Fault("unauthorised", "POST", "Sessions", times=999)],
    "a link to another host": [Fault("link", "GET", "Systems", times=999, value="https://192.0.2.1/redfish/v1/Systems/1")],
}
"""The way in which each of the first four is broken."""


def machine(*, real: bool) -> Machine:
    """Return what each BMC shows: the captured machine's model, and on request a registry of a real one's size."""
    found = own("rome")
    found.system["Model"] = "PowerEdge C6525"
    if not real:
        return found
    attributes = {each["AttributeName"] for each in found.registry["RegistryEntries"]["Attributes"]}
    large = captured("dell").registry
    more = [each for each in large["RegistryEntries"]["Attributes"] if each["AttributeName"] not in attributes]
    entries = {**found.registry["RegistryEntries"]}
    entries["Attributes"] = [*entries["Attributes"], *more]
    return Machine(found.paths, found.system, found.attributes, {**found.registry, "RegistryEntries": entries})


def serve(count: int, folder: Path, pipe: Connection, *, real: bool) -> None:
    """Serve so many BMCs until told to stop."""
    certificate, shown = Certificate.made(folder), machine(real=real)
    ways = iter(BROKEN.values())
    with Rack() as rack:
        bmcs = [rack.add(Dell(machine=shown.copy(), faults=next(ways, [])), certificate) for _ in range(count)]
        pipe.send([bmc.url for bmc in bmcs])
        pipe.recv()
        pipe.send([(bmc.opened, bmc.closed, len(bmc.writes())) for bmc in bmcs])
        pipe.recv()


def measured(words: list[str], said: Path) -> tuple[int, float, float, float]:
    """Return how a command ends, its seconds by the clock and of the processors, and its largest memory in MB."""
    login = {"ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD, "PYTHONPATH": str(ROOT)}
    begun = time.monotonic()
    with said.open("wb") as out:
        files = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        line = [sys.executable, "-m", "advisor", *words]
        process = os.posix_spawn(sys.executable, line, os.environ | login, file_actions=files)
        _, status, used = os.wait4(process, 0)
    seconds = time.monotonic() - begun
    return os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def lines(document: dict[str, Any], urls: list[str]) -> Iterator[str]:
    """Yield what each broken BMC is called, and how many others there are of each kind."""
    names = {each["bmc"]: each for each in document["each"]}
    for way, url in zip(BROKEN, urls, strict=False):
        yield f"  {way}: {names[url]['error'] or 'NOT NAMED'}"
    yield from (f"  {each['count']} {each['is']}" for each in document["folded"] if each["count"] > 1)


def main() -> None:
    """Print what it took."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--count", type=int, default=400)
    words.add_argument("--real", action="store_true")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, theirs = multiprocessing.Pipe()
        rack = multiprocessing.Process(target=serve, args=(asked.count, folder, theirs), kwargs={"real": asked.real}, daemon=True)
        rack.start()
        theirs.close()
        urls = ours.recv()
        (folder / "plans").mkdir()
        (folder / "hosts").write_text("\n".join(urls))
        write_archive("b-c6525-2x7702-nps1", folder / "node.tar.gz")
        who = ["--hosts", str(folder / "hosts"), "--ca", str(folder / "bmc.pem"), "--json"]
        task = ["bios", "plan", "--from", str(folder / "node.tar.gz"), "-o", str(folder / "plans" / "%h.yaml"), *who]
        status, seconds, used, memory = measured(task, folder / "said.json")
        document = json.loads((folder / "said.json").read_text())
        ours.send("stop")
        sessions = ours.recv()
        ours.send("bye")
        rack.join()
        plans = [each.read_text() for each in (folder / "plans").glob("*.yaml")]
    good = sum("NumaNodesPerSocket" in each for each in plans)
    left = sum(opened - closed for opened, closed, _ in sessions)
    print(f"{asked.count} BMCs, {len(os.sched_getaffinity(0))} processors: {seconds:.1f} s by the clock,")
    print(f"{used:.1f} s of processors, {memory:.0f} MB at most;")
    print(f"status {status}; {good} plans with NPS 4; {left} sessions left open")
    print("\n".join(lines(document, urls)))


if __name__ == "__main__":
    main()
