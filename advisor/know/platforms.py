"""The platform sheets: all of them, the one that fits a machine, and the one of a name."""

import re
from functools import cache

from advisor.errors import BadSheet, BadValue, did_you_mean
from advisor.model.cpu import Cpu
from advisor.model.machine import Machine
from advisor.model.platform import Match, Platform, for_model
from advisor.model.topology import Topology
from advisor.paths import rules
from advisor.sheets import load_sheet


@cache
def platforms() -> tuple[Platform, ...]:
    """Return every platform sheet, by file name."""
    found = []
    for path in sorted((rules() / "platforms").glob("*.yaml")):
        platform = load_sheet(path, Platform)
        if platform.id != path.stem:
            raise BadSheet(f"the id {platform.id} is not the file's name", file=str(path), cure=f"write id: {path.stem}")
        found.append(platform)
    return tuple(found)


def match_platform(machine: Machine) -> Platform | None:
    """Return what is known of the machine's processor generation, with its model's own figures; None where it is not known."""
    cpu = machine.cpu
    if cpu is None:
        return None
    fitting = [platform for platform in platforms() if fits(platform.match, cpu, machine.topology)]
    best = max(fitting, key=lambda platform: platform.match.refines, default=None)
    return for_model(best, cpu.model_name) if best else None


def fits(match: Match, cpu: Cpu, topology: Topology | None) -> bool:
    """Return whether a sheet's description fits a processor in its machine."""
    name = cpu.model_name or ""
    if (cpu.vendor, cpu.family if match.family is not None else None) != (match.vendor, match.family):
        return False
    if cpu.model not in match.models or (match.steppings and cpu.stepping not in match.steppings):
        return False
    if match.never and re.search(match.never, name):
        return False
    return not match.refines or _refined(match, name, topology or Topology())


def _refined(match: Match, name: str, topology: Topology) -> bool:
    largest = max((group.size or 0 for group in topology.l3), default=0)
    return bool(
        (match.l3 and largest >= match.l3)
        or (match.hbm and any(node.kind == "hbm" for node in topology.nodes))
        or (match.name and re.search(match.name, name))
    )


def platform_by_id(name: str) -> Platform:
    """Return the platform of a name such as ``rome`` or ``sapphire-rapids``."""
    wanted = "-".join(name.lower().split()).replace("_", "-")
    known = {platform.id: platform for platform in platforms()}
    if wanted in known:
        return known[wanted]
    raise BadValue(f"unknown platform {name[:40]!r}", cure=did_you_mean(wanted, known, f"there are {', '.join(known)}"))
