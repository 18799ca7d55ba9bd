"""Where a line of Intel MPI puts its ranks: hosts by -ppn or a machine file, and there what its I_MPI_PIN variables make."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from advisor.launch.lint.hydra.bind_to import atoi, kin
from advisor.launch.lint.hydra.intelmpi_domains import by_cores, domains
from advisor.launch.lint.hydra.intelmpi_hosts import OFF, PLACES, each_host, hosts_of_ranks, listed
from advisor.launch.lint.hydra.intelmpi_levels import Given, Pins, Tree
from advisor.launch.lint.hydra.mpich import once
from advisor.launch.lint.hydra.processor_list import masks, processors
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.command_line import Words
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction

_ELSEWHERE = frozenset({"-configfile", "-hosts-group", "-nolocal", "-cpu-bind", "-rmk", "-gtool", "-localhost"})
_FOREIGN = frozenset(
    {"-umask", "-topolib", "-output-from", "-gpus-per-proc", "-gpu-subdevs-per-proc", "-memory-alloc-kinds", "-timeout"}
    | {"-report-bindings", "-disable-hostname-propagation", "-enable-hostname-propagation", "-hybrid-hosts", "-pmi-port"}
    | {"-order-nodes", "-skip-launch-node", "-rankmap"}
)
"""Options of other Hydras that 2021.18 ends at: "unrecognized argument"."""
_ONCE = (
    *(
        ("-ppn", "-rr", "-grr"),
        ("-prepend-rank", "-prepend-pattern", "-prepend-timestamp"),
        ("-usize",),
        ("-launcher",),
        ("-iface",),
    ),
    *(("-outfile-pattern",), ("-errfile-pattern",), ("-s",), ("-nameserver",), ("-print-all-exitcodes",)),
    *(("-verbose",), ("-enable-auto-cleanup", "-disable-auto-cleanup")),
)
"""Options of which a line takes one: "duplicate setting" (2021.18, observed)."""
_ONCE_EACH = (("-n",), ("-wdir",))


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of Intel MPI's; raise Refused or Unclear.

    A host has the variables of the program of its first rank, and, of pinning, all that other programs have beside (observed).
    """
    line = made.line
    _odd(line)
    programs = list(_programs(made))
    total = len(programs)
    where = list(hosts_of_ranks(made, total))
    counts = Counter(host for host, _ in where)
    if len(set(counts.values())) > 1 and max(counts.values()) > len(made.topology.pus):
        raise Unclear("some host has more ranks than others and than CPUs, and how these are bound was not seen often")
    pins: dict[int, Pins] = {}
    for (host, _), mine in zip(where, programs, strict=True):
        pins.setdefault(host, mine)
    others = {name: value for mine in reversed(programs) for name, value in mine.items() if name.startswith("I_MPI_")}
    pins = {host: {**others, **mine} for host, mine in pins.items()}
    tree = Tree(made.topology, clusters=made.machine.architecture != "x86_64" and made.machine.cpu is None)
    given = {host: pinned(pins[host], tree, count) for host, count in counts.items()}
    local: Counter[int] = Counter()
    found: list[LintRank] = []
    for rank, (host, name) in enumerate(where):
        found.append(LintRank(rank=rank, host=name, cpus=given[host][local[host]]))
        local[host] += 1
    return tuple(found)


def _heard(line: "Line") -> None:
    """Raise Refused of a line that asks for the version alone, Unclear of versions that were never asked."""
    if any(said.written[0].lstrip("-") == "V" for said in line.options):  # of MPICH it is -verbose
        raise Refused("it prints its version, and ends")
    if line.release is not None and line.release < (2019, 0, 0):
        raise Unclear("Intel MPI before 2019 pinned in other ways")


def _odd(line: "Line") -> None:
    _heard(line)
    for said in line.options:
        if not said.known:
            raise Unclear(f"{said.written[0][:40]} of mpiexec.hydra is not known here")
        if said.name in _FOREIGN:
            if line.release and line.release[0] != 2021:
                raise Unclear(f"Intel MPI 2021 does not know {said.name}; what others do with it was not seen")
            raise Refused(f"unrecognized argument {said.written[0][:40]}")
        if said.name in _ELSEWHERE:
            raise Unclear(f"what {said.name} does to hosts or CPUs, is not worked out here")
    try:
        once(line, _ONCE, _ONCE_EACH)
    except Refused as refusal:
        if any(said.name in ("-f", "-hosts", "-host") for said in line.options):
            raise Unclear(
                "what is said before and after the hosts may be said twice (observed); which counts was not"
            ) from refusal
        raise
    if not all(segment.command for segment in line.segments):
        raise Refused("no executable provided")


def _programs(made: "Prediction") -> Iterator[Pins]:
    """Yield the variables of each rank, segment by segment."""
    everywhere = dict(made.line.words.environment)
    for said in made.line.options:
        if said.name == "-genv":
            everywhere |= dict([_variable(said.values)])
    made_so_far = 0
    for segment in made.line.segments:
        own = dict(everywhere)
        own |= dict(_variable(said.values) for said in segment.options if said.name == "-env")
        counts = [atoi(said.values[-1]) for said in segment.options if said.name == "-n" and said.values]
        if not counts and len(made.line.segments) == 1:
            counts = [_unsaid(made)]
        if not counts or counts[-1] < 1 or len(set(counts)) > 1:
            raise Unclear("of which program without -n there are how many ranks, is not worked out here")
        made_so_far += counts[-1]
        if made_so_far > MOST_RANKS:
            raise Unclear(f"{made_so_far} ranks are more than the {MOST_RANKS} that are worked out one by one")
        for _ in range(counts[-1]):
            yield own


def _unsaid(made: "Prediction") -> int:
    """Return the ranks of a line without -n: one for each core of this host, or -ppn, for each host that is listed."""
    line = made.line
    named = next((said for said in line.options if said.name in ("-f", "-hosts", "-host")), None)
    each = each_host(line)
    if named is None:
        return each or _cores(made.topology)
    if each is None or named.written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine"):
        raise Unclear("without -n Intel MPI starts as many ranks as the hosts have cores, or as a scheduler says")
    hosts = listed(made, named.name, named.values[-1])
    if len(set(hosts)) < len(hosts):
        raise Unclear("without -n, how often Intel MPI counts a host that is listed twice, was not seen")
    return each * len(hosts)


def _cores(topology: Topology) -> int:
    """Return how many cores Intel MPI counts: those of CPUs whose numbers are below the count of CPUs (2021.18, observed).

    A core is known by its number in its package, so cores of one number are one.
    """
    inside = topology.inside
    if any(core.os_index is None for core in inside.cores):
        raise Unclear("without -n Intel MPI starts as many ranks as it finds cores, and their numbers are not known")
    seen = [core for core in inside.cores if (core.cpuset.first or 0) < len(inside.pus)]
    found = {(inside.package_of(core.cpuset), core.os_index) for core in seen}
    if not found:
        raise Refused("without -n Intel MPI starts as many ranks as it finds cores, and it finds none")
    return len(found)


def _variable(values: Sequence[str]) -> tuple[str, str]:
    name, _, value = values[0].partition("=")
    return name, values[1] if len(values) > 1 else value


_ON = frozenset({"1", "yes", "on", "enable"})
_READ = frozenset({"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_CELL"})
_WORDS = ("I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_CELL", "I_MPI_PIN_PROCESSOR_LIST")
_HARMLESS = re.compile(
    r"I_MPI_(PIN_MODE|PIN_RESPECT_(?:CPUSET|HCA)|DEBUG|FABRICS|OFI_|ADJUST_|SHM|ROOT|HYDRA_(BOOTSTRAP|DEBUG|IFACE)|TUNING|EXTRA|EAGER"
    r"|(?:FALLBACK|DEVICE|MALLOC|PMI_LIBRARY|JOB_TIMEOUT|SPIN_COUNT|WAIT_MODE|CBWR|LIBRARY_KIND|THREAD_SPLIT|HARD_FINALIZE"
    r"|DYNAMIC_CONNECTION|SCALABLE_OPTIMIZATION|MPIRUN_CLEANUP|COMPATIBILITY|REMOVED_VAR_WARNING|VAR_CHECK_SPELLING|TMPDIR"
    r"|SILENT_ABORT|PRINT_VERSION|OUTPUT_CHUNK_SIZE|HYDRA_(?:BRANCH_COUNT|PMI_CONNECT|CLEANUP))$|(?:DAPL|TMI|OFA|RDMA|COLL|LUSTRE)_)"
)
"""Variables beside which ranks were bound as without them (2021.18, sixty of them on three machines)."""


def _known(pins: Pins) -> None:
    """Raise Unclear where a variable may bear on pinning in a way that was not seen."""
    odd = next((name for name in _WORDS if pins.get(name, "") != pins.get(name, "").lower() and pins[name][:1] != "["), None)
    if odd:
        raise Unclear(f"{odd}={pins[odd][:20]}: it passes over words in capitals, not everywhere alike")
    own = (name for name in pins if name.startswith("I_MPI_") and name not in _READ | PLACES)
    if odd := next((name for name in own if not _HARMLESS.match(name)), None):
        raise Unclear(f"what {odd[:40]} does to pinning, is not worked out here")


def pinned(pins: Pins, tree: Tree, count: int) -> Given:
    """Return the CPUs of a host's ranks; raise Unclear where what Intel MPI makes of the variables was not seen."""
    _known(pins)
    tree.readable()
    switch = pins.get("I_MPI_PIN", "1").lower()
    if switch in OFF:
        return (None,) * count
    if switch not in _ON:
        raise Unclear(f"I_MPI_PIN={switch[:20]} is not understood")
    cell, cores = pins.get("I_MPI_PIN_CELL", "").lower(), tree.level("core")
    smt = any(len(core) > 1 for core in cores)
    if cell and smt and (cell not in ("unit", "core") or count > len(cores)):
        raise Unclear(f"what I_MPI_PIN_CELL={cell[:20]} does where cores have several threads, is not worked out here")
    domain, order = pins.get("I_MPI_PIN_DOMAIN", "").lower(), pins.get("I_MPI_PIN_ORDER", "bunch").lower()
    if "I_MPI_PIN_PROCESSOR_LIST" in pins and (given := _processors(pins, tree, count)) is not None:
        return given
    if domain.startswith("["):
        if (given := masks(domain, tree.topology, count)) is not None:
            return given
        domain = ""
    if cell == "core" and smt:
        return by_cores(tree, domain, order, count, pins)
    return domains(tree, domain, order, count, pins)


def _processors(pins: Pins, tree: Tree, count: int) -> Given | None:
    """Return what a processor list gives, whatever I_MPI_PIN_ORDER is; None where it is passed over."""
    if "I_MPI_PIN_DOMAIN" in pins:
        raise Unclear(
            "I_MPI_PIN_PROCESSOR_LIST beside I_MPI_PIN_DOMAIN: the domain divides the list, and how is not worked out here"
        )
    return processors(pins["I_MPI_PIN_PROCESSOR_LIST"], tree, count, cell=pins.get("I_MPI_PIN_CELL", "").lower())


def claim(words: "Words", tools: frozenset[str]) -> int:
    """Return how surely a line is Intel MPI's: by its variables or program, by Hydra's words where it alone is there."""
    if "I_MPI_" in " ".join((*words.environment, *words.rest)) or words.launcher.endswith(("impi", "intel")):
        return 8
    if kin(words):
        return 6 if "intelmpi" in tools and "mpich" not in tools else 0
    return 3 if "intelmpi" in tools else 0
