"""MVAPICH: 2.x by its own mapping list under mpirun_rsh, 3 and later by the same list under Hydra. Not tried with a real one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, RankVariables, option_table
from advisor.jobs.launchers import mpich, wrapper
from advisor.jobs.placement import Placement, Slot, counted, devices_differ, memory_notes, names, only_slots, runs, version_of
from advisor.jobs.request import Said, Words
from advisor.machine.machine import Tool

NAME = "mvapich"


LONGEST = 2000
"""Characters of a mapping: MVAPICH2 copies it into a buffer of _POSIX2_LINE_MAX, 2048."""


UNTRIED = "not tested in real runs: Debian and PyPI have no MVAPICH, so this form follows its guide; check it with advisor verify"


_DIFFER = Avoided("CPU_MAPPING", "the mapping is the same on every host, but these hosts differ")


_LONG = Avoided("CPU_MAPPING", f"longer than the {LONGEST} characters that MVAPICH2 is certain to read")


MPIRUN_RSH, ALIASES = option_table("""
    -np -n 1 starts {0} ranks
    -hostfile 1 on the hosts of the file {0}
    -hosts 1 on the hosts {0}, a name for each rank
    -env 2 sets {0} to {1} for all ranks
    -ssh 0 starts daemons by ssh
    -rsh 0 starts daemons by rsh
    -export 0 passes variables on
    -export-all 0 passes all variables on
    -debug 0 starts a debugger
    -show 0 shows what it would start
    -legacy 0 uses the legacy startup
""")


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
        made = mpich.launch(placement, replace(wish, version=None, exact=True, environment=quiet))
        avoided = (*avoided, *made.avoided)
        return replace(made, launcher=NAME, version=wish.version, avoided=avoided, notes=(UNTRIED, *made.notes))
    hosts, files = mpich.where(placement, wish)
    settings = {**wish.environment, "MVP_ENABLE_AFFINITY": "1", "MVP_CPU_MAPPING": mapping}
    settings |= {"MVP_SHOW_CPU_BINDING": "1"} if wish.report else {}
    variables = [word for name, value in settings.items() for word in ("-genv", name, value)]
    argv = ("mpiexec", *hosts, "-n", str(placement.size), *variables, "-bind-to", "none", *wish.command)
    return Launch(NAME, wish.version, "mapping", argv, {}, files, avoided, (UNTRIED, *memory_notes(placement)))


def which(words: Words, number: str | None, name: str | None, _tools: Sequence[Tool]) -> tuple[str, str | None, str]:
    """Return the launcher of a line: mpirun_rsh is its own, and mpiexec of MVAPICH 3 is MPICH's Hydra."""
    if words.launcher != "mpirun_rsh":
        return "mpich", number, "--launcher-version"
    return NAME, number, "--launcher-version" if number and not name else "the name mpirun_rsh"


def settle(options: list[Said], words: Sequence[str], at: int) -> tuple[list[Said], int]:
    """Return the options with the hosts and the variables that stand after them as options too."""
    total = next((said.values[-1] for said in options if said.name == "-np"), "")
    if not any(said.name == "-hostfile" for said in options) and re.fullmatch(r"\d{1,4}", total, re.ASCII):
        named = [word for word in words[at : at + int(total)] if "=" not in word]
        if len(named) == int(total) and len(words) > at + len(named):
            options = [*options, Said("-hosts", (",".join(named),), tuple(named))]
            at += len(named)
    while at < len(words) and re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[at], re.ASCII):
        name, _, value = words[at].partition("=")
        options = [*options, Said("-env", (name, value), (words[at],))]
        at += 1
    return options, at


LAUNCHER = Launcher(
    name=NAME,
    title="MVAPICH2",
    order=25,
    launch=launch,
    aliases=("mvapich2", "mvapich3", "mpirun_rsh"),
    tools=("mvapich",),
    variables=("MV2_", "MVP_"),
    ranks=RankVariables(
        rank=("MV2_COMM_WORLD_RANK", "MVP_COMM_WORLD_RANK"),
        size=("MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE"),
        local=("MV2_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK"),
    ),
    without_binding=("MV2_ENABLE_AFFINITY=0",),
    dialect=Dialect(
        programs=("mpirun_rsh", "mpiexec", "mpirun"),
        options=MPIRUN_RSH,
        aliases=ALIASES,
        which=which,
        settle=settle,
    ),
)
