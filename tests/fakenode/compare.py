"""Test machines as launchers read them, and the plan against what the ranks saw."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from advisor.jobs.placement import Placement
from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import machine_from_xml
from tests.fakenode.lab import workshop
from tests.fakenode.run import Observed
from tests.machines.read import seen_by_lstopo


@cache
def described(name: str) -> tuple[Path, Machine]:
    """Return a test machine's hwloc XML, its cgroup in it, and the Machine that is read from it."""
    text = seen_by_lstopo(name)
    if text is None:
        raise RuntimeError("lstopo is not installed")
    file = workshop() / f"{name}.xml"
    file.write_text(text)
    return file, machine_from_xml(file.read_bytes(), file.name)


def at_hosts(hosts: Sequence[str], names: Sequence[str]) -> dict[str | None, Path]:
    """Return the XML of each host, or of the one without a name; one machine stands for all hosts."""
    files = [described(name)[0] for name in names]
    if not hosts:
        return {None: files[0]}
    return {host: files[i if len(files) > 1 else 0] for i, host in enumerate(hosts)}


def differences(placement: Placement, seen: Mapping[int, Observed]) -> list[str]:
    """Return one line for each rank that is not where the plan has it; [] where all are."""
    found = []
    for place in placement.ranks():
        here = seen.get(place.rank)
        if here is None:
            found.append(f"rank {place.rank} was not seen")
        elif here.cpus != place.slot.cpus or here.host != (place.host or here.host):
            found.append(f"rank {place.rank}: planned {place.host} {place.slot.cpus}, seen {here.host} {here.cpus}")
    return found + [f"rank {rank} was not planned" for rank in seen if rank >= placement.size]
