"""MVAPICH: 2.x by its own mapping list under mpirun_rsh, 3 and later by the same list under Hydra. Not tried with a real one."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from advisor.launch.launcher import (
    Avoided,
    Dialect,
    JobScript,
    Launch,
    LaunchRequest,
    Options,
    RankVariables,
    VersionQuery,
    late,
)
from advisor.launch.launchers import mpich, pals, wrapper
from advisor.launch.launchers.pals import Given, known_words, listed_cpus, number, seated
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.launch.ranks_per_host import counted, devices_differ, memory_notes, names, only_slots, runs, version_of
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank, Placement, Slot

if TYPE_CHECKING:
    from advisor.launch.lint.command_line import Words
    from advisor.launch.lint.line import Said
    from advisor.launch.lint.predict import Prediction
    from advisor.model.hardware.operating_system import Tool

NAME = "mvapich"
ALIASES = ("mvapich2", "mvapich3", "mpirun_rsh")
TITLE = "MVAPICH2"
ORDER = 25
VERSIONS = (
    # MVAPICH2 Version:       2.3.7   (mpichversion);   MVAPICH2 2.3.7 Wed March 02 ... ch3:mrail   (mpiname -a)
    VersionQuery(
        "mvapich",
        (("mpichversion",), ("mpiname", "-a")),
        r"^MVAPICH2?(?:[ \t]+Version:)?[ \t]+([0-9][^\s]*)",
        parts=("mpich",),
    ),
    # Its later launcher is MPICH's Hydra and prints the version of that; only its build options betray it.
    VersionQuery("mvapich", (), r"\A\s*HYDRA(?is:.*mvapich)", parts=("mpich",)),
)
VARIABLES = ("MV2_", "MVP_")
RANKS = RankVariables(
    rank=("MV2_COMM_WORLD_RANK", "MVP_COMM_WORLD_RANK"),
    size=("MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE"),
    local=("MV2_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK"),
)
UNBOUND = ("MV2_ENABLE_AFFINITY=0",)
JOB = JobScript()

LONGEST = 2000
"""Characters of a mapping: MVAPICH2 copies it into a buffer of _POSIX2_LINE_MAX, 2048."""

UNTRIED = "not proven by a run: Debian and PyPI have no MVAPICH, so this form follows its guide; check it with advisor verify"
_DIFFER = Avoided("CPU_MAPPING", "the mapping is the same on every host, and these differ")
_LONG = Avoided("CPU_MAPPING", f"longer than the {LONGEST} characters that MVAPICH2 surely reads")

MPIRUN_RSH: Options = {
    "-np": (1, "starts {0} ranks"),
    "-hostfile": (1, "on the hosts of the file {0}"),
    "-hosts": (1, "on the hosts {0}, a name for each rank"),
    "-env": (2, "sets {0} to {1} for all ranks"),
    "-ssh": (0, "starts daemons by ssh"),
    "-rsh": (0, "starts daemons by rsh"),
    "-export": (0, "passes variables on"),
    "-export-all": (0, "passes all variables on"),
    "-debug": (0, "starts a debugger"),
    "-show": (0, "shows what it would start"),
    "-legacy": (0, "starts in the older way"),
}


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


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: lines are not translated to what was never tried."""


def which(words: "Words", number: str | None, name: str | None, _tools: "Sequence[Tool]") -> tuple[str, str | None, str]:
    """Return the launcher of a line: mpirun_rsh is its own, and mpiexec of MVAPICH 3 is MPICH's Hydra."""
    if words.launcher != "mpirun_rsh":
        return "mpich", number, "--launcher-version"
    return NAME, number, "--launcher-version" if number and not name else "the word mpirun_rsh"


def settle(options: "list[Said]", words: Sequence[str], at: int) -> "tuple[list[Said], int]":
    """Return the options with the hosts and the variables that stand after them as options too."""
    from advisor.launch.lint.line import Said

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


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of mpirun_rsh's; raise Refused or Unclear."""
    line = made.line
    known_words(line, "mpirun_rsh")
    total = number(line, "-np", "")
    if total is None:
        raise Refused("mpirun_rsh needs -np")
    hosts = list(_rsh_hosts(made, total))
    pins = made.want.exports
    counts = Counter(hosts)
    return tuple(seated(hosts, {host: _mapped(pins, made.topology, count) for host, count in counts.items()}))


def _rsh_hosts(made: "Prediction", total: int) -> Iterator[str | None]:
    named = made.line.first.value("-hosts")
    file = made.line.first.value("-hostfile")
    if file is not None:
        if file not in made.files:
            raise Unclear(f"the host file {file[:80]} was not read")
        rows = [row.partition("#")[0].strip() for row in made.files[file].splitlines()[:MOST_RANKS]]
        words = [word for row in rows if row for word in _slots(row)]
    else:
        words = [word for word in (named or "").split(",") if word]
    if not words:
        yield from (None for _ in range(total))
        return
    if len(words) < total:
        raise Unclear(f"{len(words)} places for {total} ranks: how mpirun_rsh begins again, is not worked out here")
    yield from words[:total]


def _slots(row: str) -> list[str]:
    match = re.fullmatch(r"([A-Za-z0-9._-]{1,255})(?::(\d{1,5}))?(?::\S*)?", row, re.ASCII)
    if not match:
        raise Unclear(f"the line {row[:40]!a} of the host file is not understood")
    return [match[1]] * max(1, int(match[2] or 1))


def _mapped(pins: Mapping[str, str], topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks by MV2_CPU_MAPPING."""
    if pins.get("MV2_ENABLE_AFFINITY", "1") == "0":
        return (None,) * count
    mapping = pins.get("MV2_CPU_MAPPING")
    if mapping is None:
        raise Unclear("where MVAPICH2 binds ranks by itself, depends on its version and how it was built")
    return listed_cpus("list", mapping, topology, count)


LINES = Dialect(
    programs=("mpirun_rsh", "mpiexec", "mpirun"),
    options=MPIRUN_RSH,
    aliases={"-n": "-np"},
    ranks=ranks,
    request=pals.request,
    which=which,
    settle=settle,
    lists=late("cpu_lists:user_lists"),
)
