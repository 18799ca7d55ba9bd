"""MVAPICH: 2.x by its own mapping list under mpirun_rsh, 3 and later by the same list under Hydra. Not tried with a real one."""

from collections.abc import Mapping, Sequence

from advisor.errors import BadValue
from advisor.launch import mpich, wrapper
from advisor.launch.launcher import Avoided, Launch, LaunchRequest, Lines
from advisor.launch.ranks_per_host import counted, devices_differ, memory_notes, names, only_slots, runs, version_of
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Placement, Slot

NAME = "mvapich"
ALIASES = ("mvapich2", "mvapich3", "mpirun_rsh")

LONGEST = 2000
"""Characters of a mapping: MVAPICH2 copies it into a buffer of _POSIX2_LINE_MAX, 2048."""

Bindings = dict[int, tuple[str | None, CpuSet | None]]
"""Each rank's host and CPUs; None as CPUs: not bound."""

UNTRIED = "not proven by a run: Debian and PyPI have no MVAPICH, so this form follows its guide; check it with advisor verify"
_DIFFER = Avoided("CPU_MAPPING", "the mapping is the same on every host, and these differ")
_LONG = Avoided("CPU_MAPPING", f"longer than the {LONGEST} characters that MVAPICH2 surely reads")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line of MVAPICH2 (mpirun_rsh) or of a later version (Hydra's mpiexec); where not known, of 2."""
    list(runs(placement))
    newer = version_of(wish.version) >= (3,)
    slots = only_slots(placement)
    mapping = listed(slots) if slots else ""
    avoided = (_DIFFER,) if slots is None else (_LONG,) if len(mapping) > LONGEST else ()
    if newer:
        return _hydra(placement, wish, mapping, avoided)
    if avoided or wish.wrap or devices_differ(placement):
        return _rsh(placement, wish, "wrapper", {"MV2_ENABLE_AFFINITY": "0"}, avoided)
    return _rsh(placement, wish, "mapping", {"MV2_ENABLE_AFFINITY": "1", "MV2_CPU_MAPPING": mapping}, avoided)


def listed(slots: Sequence[Slot]) -> str:
    """Return the mapping, one part a local rank: ``0-3:4-7``."""
    return ":".join(str(slot.cpus) for slot in slots)


def _rsh(placement: Placement, wish: LaunchRequest, form: str, pins: Mapping[str, str], avoided: tuple[Avoided, ...]) -> Launch:
    wrap = form == "wrapper"
    hosts, files = (("-hostfile", "hostfile"), {"hostfile": lambda: counted(placement)}) if names(placement) else ((), {})
    settings = [f"{name}={value}" for name, value in {**wish.environment, **pins}.items()]
    settings += ["MV2_SHOW_CPU_BINDING=1"] if wish.report else []
    command = wrapper.wrapped(wish.command) if wrap else wish.command
    argv = ("mpirun_rsh", "-np", str(placement.size), *hosts, *settings, *command)
    extra = wrapper.files(placement) if wrap else {}
    notes = (UNTRIED, *(wrapper.NOTES if wrap else memory_notes(placement)))
    return Launch(NAME, wish.version, form, argv, {}, {**files, **extra}, avoided, notes)


def _hydra(placement: Placement, wish: LaunchRequest, mapping: str, avoided: tuple[Avoided, ...]) -> Launch:
    """Return Hydra's line: MVAPICH binds by its own mapping, or is set to leave alone what Hydra binds."""
    if avoided or wish.wrap or devices_differ(placement):
        quiet = {**wish.environment, "MVP_ENABLE_AFFINITY": "0"}
        made = mpich.launch(placement, _with(wish, quiet))
        notes = (UNTRIED, *made.notes)
        return Launch(NAME, wish.version, made.form, made.argv, made.environment, made.files, (*avoided, *made.avoided), notes)
    hosts, files = mpich.where(placement, wish)
    settings = {**wish.environment, "MVP_ENABLE_AFFINITY": "1", "MVP_CPU_MAPPING": mapping}
    settings |= {"MVP_SHOW_CPU_BINDING": "1"} if wish.report else {}
    variables = [word for name, value in settings.items() for word in ("-genv", name, value)]
    argv = ("mpiexec", *hosts, "-n", str(placement.size), *variables, "-bind-to", "none", *wish.command)
    return Launch(NAME, wish.version, "mapping", argv, {}, files, avoided, (UNTRIED, *memory_notes(placement)))


def _with(wish: LaunchRequest, environment: Mapping[str, str]) -> LaunchRequest:
    return LaunchRequest(wish.command, None, True, wish.report, wish.scheduler, environment, wish.wrap)  # noqa: FBT003 - all of its fields


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line does: each rank's host and CPUs."""
    if argv[0] == "mpiexec":
        return _parse_hydra(argv, files, topologies)
    words = list(argv[1:])
    options: dict[str, str] = {}
    while words and words[0].startswith("-"):
        if words[0] not in ("-np", "-hostfile") or len(words) < 2:
            raise BadValue(f"{words[0]} of mpirun_rsh is not understood here")
        options[words[0]] = words[1]
        del words[:2]
    settings: dict[str, str] = {}
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    return _settled(settings.get("MV2_CPU_MAPPING"), _hosts(options, files, topologies), int(options["-np"]), (words, files))


def _hosts(
    options: Mapping[str, str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]
) -> list[tuple[str | None, int]]:
    if "-hostfile" not in options:
        return [(next(iter(topologies)), int(options["-np"]))]
    pairs = (line.partition(":") for line in files[options["-hostfile"]]())
    return [(name, int(count)) for name, _, count in pairs]


def _settled(
    mapping: str | None,
    hosts: Sequence[tuple[str | None, int]],
    size: int,
    command: tuple[Sequence[str], Mapping[str, Lines]],
) -> Bindings:
    table = wrapper.table(*command)
    parts = [CpuSet.parse(part) for part in mapping.split(":")] if mapping else []
    bindings: Bindings = {}
    for name, count in hosts:
        for local in range(min(count, size - len(bindings))):
            rank = len(bindings)
            cpus = table.cpus(name, rank, local) if table else parts[local] if local < len(parts) else None
            bindings[rank] = (name, cpus)
    return bindings


def _parse_hydra(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    seen = mpich.parse(argv, files, topologies)
    words = list(argv)
    if "MVP_CPU_MAPPING" not in words:
        return seen
    parts = [CpuSet.parse(part) for part in words[words.index("MVP_CPU_MAPPING") + 1].split(":")]
    local: dict[str | None, int] = {}
    for rank, (host, _) in seen.items():
        mine = local[host] = local.get(host, -1) + 1
        seen[rank] = (host, parts[mine] if mine < len(parts) else None)
    return seen
