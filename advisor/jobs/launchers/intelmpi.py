"""Intel MPI: ``I_MPI_PIN_DOMAIN``, one mask of the kernel's CPU numbers a local rank, or a domain's name where faithful."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from advisor.errors import BadValue
from advisor.jobs.hydra import alike, atoi, kin, objects, once
from advisor.jobs.intelmpi_domains import MASKS, Given, Pins, Tree, by_cores, domains_of_ranks, masks, processors
from advisor.jobs.launcher import Avoided, Launch, Launcher, LaunchRequest, Lines
from advisor.jobs.launchers import mpich, wrapper
from advisor.jobs.placement import LintRank, LintWarning, Placement, Slot
from advisor.jobs.ranks_per_host import (
    FEW,
    Run,
    counted,
    devices_differ,
    filled,
    kinds,
    memory_notes,
    names,
    passed,
    refuse_colon,
    runs,
)
from advisor.jobs.request import MOST_RANKS, Line, Prediction, Refused, Unclear, Words, ranks_here, warning
from advisor.machine.cpuset import CpuSet
from advisor.machine.numbering import logical_numbering
from advisor.machine.topology import Topology

NAME = "intelmpi"


UNBOUND = ("-genv", "I_MPI_PIN", "0")


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    each = -(-total // max(1, len(hosts)))
    named = ("-hosts", ",".join(hosts), "-ppn", str(each)) if hosts else ()
    return "mpiexec.hydra", "-n", str(total), *named, *UNBOUND


SEGMENTS, LONG = 16, 60_000
"""Segments of a command line, and characters of its masks; more go into a file (-configfile)."""


DOMAINS = {"cache3": "l3cache", "numa": "numa", "socket": "socket", "core": "core"}
"""Names of I_MPI_PIN_DOMAIN that were observed to be what they say, and hydra.objects' names for them."""


Segments = list[tuple[int, dict[str, str]]]
"""How many ranks in a row, and the variables that pin them."""


_SIZES = Avoided(
    "I_MPI_PIN_DOMAIN=N:compact", "2021.18 makes the domains larger than N when there are few ranks (4 ranks of 4 CPUs: 16 each)"
)


_ORDER = Avoided("I_MPI_PIN_ORDER=scatter|spread", "2021.18 binds each rank to one core of its domain only")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the mpiexec.hydra line: a domain's name where faithful, else lists for each kind of host, else the wrapper."""
    grouped = list(runs(placement))
    refuse_colon(wish.command)
    if wish.wrap or devices_differ(placement):
        return _wrapped(placement, wish, ())
    domain = None if wish.exact else short_form(placement, wish)
    if domain:
        pins = {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": domain, "I_MPI_PIN_ORDER": "compact"}
        return _line(placement, wish, f"domain {domain}", [(placement.size, pins)], (_SIZES, _ORDER))
    why = "some parts of the nodes are not alike, or no domain has the CPUs and the order of the plan"
    avoided = () if wish.exact else (Avoided("I_MPI_PIN_DOMAIN=numa|cache3|socket|core|omp", why), _SIZES)
    if any(run.ranks > MASKS and not _single(run.slots) for run in grouped):
        return _wrapped(
            placement, wish, (*avoided, Avoided("mask list", f"Intel MPI dies of more than {MASKS} masks for a host"))
        )
    lists = {run.kind: listed(run) for run in {run.kind: run for run in grouped}.values()}
    segments = _joined([(run.ranks * len(run.hosts), lists[run.kind], run.ranks) for run in grouped])
    form = "processor list" if any("I_MPI_PIN_PROCESSOR_LIST" in pins for _, pins in segments) else "domain masks"
    return _line(placement, wish, form, segments, avoided)


def _joined(parts: list[tuple[int, dict[str, str], int]]) -> Segments:
    """Return the segments, those in a row joined that have the same list for hosts with as many ranks."""
    grouped = groupby(parts, key=lambda part: part[1:])
    return [(sum(number for number, *_ in same), pins) for (pins, _), same in grouped]


def listed(run: Run) -> dict[str, str]:
    """Return the variables with exactly one entry a local rank: of more, Intel MPI silently makes something else."""
    if run.ranks > MASKS:
        return {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": ",".join(str(slot.cpus) for slot in run.slots)}
    # The 0x is needed: without it the list is not understood, and silently not used.
    return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": f"[{','.join(hex(slot.cpus.bits) for slot in run.slots)}]"}


def _single(slots: Sequence[Slot]) -> bool:
    """Whether each rank has one CPU and no two the same: a list of processors is read as a set otherwise."""
    cpus = [slot.cpus for slot in slots]
    return all(len(each) == 1 for each in cpus) and len(set(cpus)) == len(cpus)


def short_form(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return the domain's name that is right on every kind of host, None where there is none."""
    good: set[str] | None = None
    for plan, ranks in kinds(placement).items():
        found = set(domains(placement.plans[plan].topology, placement.plans[plan].slots[:ranks], wish))
        good = found if good is None else good & found
    return min(good, key=[*DOMAINS, "omp"].index) if good else None


def domains(topology: Topology, slots: Sequence[Slot], wish: LaunchRequest) -> Iterator[str]:
    """Yield the domains whose first ones, in compact order, are those of the plan."""
    have = objects(topology)
    cpus = [slot.cpus for slot in slots]
    for name, kind in DOMAINS.items():
        if alike(have[kind], topology) and cpus == list(have[kind][: len(cpus)]):
            yield name
    threads = wish.environment.get("OMP_NUM_THREADS", "")
    if threads.isascii() and threads.isdigit() and all(alike(sets, topology) for sets in have.values() if sets):
        pus = packed(topology, int(threads))
        if cpus == pus[: len(cpus)]:
            yield "omp"


def packed(topology: Topology, size: int) -> list[CpuSet]:
    """Return so many neighbouring hardware threads, again and again."""
    pus = logical_numbering(topology).pus
    return [CpuSet(pus[i : i + size]) for i in range(0, len(pus) - size + 1, size)] if size else []


Where = tuple[tuple[str, ...], dict[str, Lines], dict[str, str]]


def where(placement: Placement, wish: LaunchRequest, *, listed: bool = False) -> Where:
    """Return the words, the file and the variables that name the hosts; ``listed``: one by one, in a file."""
    named, each = names(placement), filled(placement)
    if not named:
        return (), {}, {}
    # Under a scheduler Intel MPI counts its slots and neither -ppn nor a host file, unless told so.
    environment = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"} if wish.scheduler else {}
    if each and not listed and (wish.scheduler or len(named) <= FEW):
        return (() if wish.scheduler else ("-hosts", ",".join(named))) + ("-ppn", str(each)), {}, environment
    return ("-machinefile", "hostfile"), {"hostfile": lambda: counted(placement)}, environment


def _line(placement: Placement, wish: LaunchRequest, form: str, segments: Segments, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish, listed=len(segments) > 1)
    environment |= {"I_MPI_DEBUG": "4"} if wish.report else {}
    everywhere = tuple(passed(wish.environment, "-genv"))
    if len(segments) == 1:
        pinning = tuple(passed(segments[0][1], "-genv"))
        argv = ("mpiexec.hydra", *hosts, *everywhere, *pinning, "-n", str(placement.size), *wish.command)
        return Launch(NAME, wish.version, form, argv, environment, files, avoided, memory_notes(placement))
    if len(segments) > SEGMENTS or sum(len(value) for _, pins in segments for value in pins.values()) > LONG:
        return _configured(placement, wish, form, segments, avoided)
    words: list[str] = []
    for number, pins in segments:
        words += [":"] if words else []
        words += ["-n", str(number), *passed(pins, "-env"), *wish.command]
    argv = ("mpiexec.hydra", *hosts, *everywhere, *words)
    return Launch(NAME, wish.version, f"{form} for each host", argv, environment, files, avoided, memory_notes(placement))


def _configured(
    placement: Placement,
    wish: LaunchRequest,
    form: str,
    segments: Segments,
    avoided: tuple[Avoided, ...],
) -> Launch:
    _, files, environment = where(placement, wish, listed=True)
    environment |= {"I_MPI_DEBUG": "4"} if wish.report else {}
    if any(not re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII) for word in (*wish.command, *wish.environment.values())):
        return _wrapped(
            placement, wish, (*avoided, Avoided("-configfile", "Intel MPI documents no quoting in it, and the command needs it"))
        )

    def lines() -> Iterator[str]:
        first = "-machinefile hostfile "
        for number, pins in segments:
            words = ["-n", str(number), *passed(wish.environment, "-env"), *passed(pins, "-env"), *wish.command]
            yield first + " ".join(words)
            first = ""

    files["segments"] = lines
    argv = ("mpiexec.hydra", "-configfile", "segments")
    return Launch(NAME, wish.version, f"{form} in a file", argv, environment, files, avoided, memory_notes(placement))


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish)
    variables = passed({**wish.environment, "I_MPI_PIN": "0"}, "-genv")
    argv = ("mpiexec.hydra", *hosts, *variables, "-n", str(placement.size), *wrapper.wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, environment, {**files, **wrapper.files(placement)}, avoided, wrapper.NOTES)


OFF = frozenset({"0", "no", "off", "disable"})


RESPECT = "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"


PLACES = frozenset({"I_MPI_PERHOST", RESPECT, "I_MPI_HYDRA_HOST_FILE"})
"""Variables that say which host a rank goes to."""


_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)


def hosts_of_ranks(made: Prediction, total: int) -> Iterator[tuple[int, str | None]]:
    """Yield the host of each rank: its position and its name."""
    line = made.line
    variables = line.words.environment
    fine = {"I_MPI_PERHOST"} | ({RESPECT} if variables.get(RESPECT) in OFF else set())
    if odd := next((name for name in PLACES - fine if name in variables), None):
        raise Unclear(f"{odd} changes which host a rank goes to")
    files = [said for said in line.options if said.name in ("-f", "-hosts", "-host")]
    each = each_host(line)
    if not files and "HYDRA_HOST_FILE" in variables:
        raise Unclear("HYDRA_HOST_FILE names the hosts, and that it is read was not seen often")
    if not files:
        yield from ((0, None) for _ in range(total))
        return
    if len(files) > 1:
        yield from _of_programs(line, each)
        return
    by_slots = files[0].written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine")
    slots = list(_named(made, files[0].name, files[0].values[-1], each, by_slots=by_slots))
    place = {name: position for position, name in enumerate(dict.fromkeys(name for name, _ in slots))}
    turn = [(place[name], name) for name, count in slots for _ in range(min(count, total))]
    for rank in range(total):
        yield turn[rank % len(turn)]


def _of_programs(line: Line, each: int | None) -> Iterator[tuple[int, str]]:
    """Yield the host of each rank where every program has one of its own; raise Unclear where that is said otherwise."""
    place: dict[str, int] = {}
    for segment in line.segments:
        named = [said for said in segment.options if said.name in ("-f", "-hosts", "-host")]
        own = named[0].values[-1] if len(named) == 1 and named[0].name != "-f" else ""
        counts = [atoi(said.values[-1]) for said in segment.options if said.name == "-n"]
        if each is not None or len(counts) != 1 or not _HOST.fullmatch(own):
            raise Unclear("the line names its hosts twice")
        position = place.setdefault(own, len(place))
        yield from ((position, own) for _ in range(min(counts[0], MOST_RANKS)))


def each_host(line: Line) -> int | None:
    """Return the ranks of each host; None where the line does not say."""
    counts = [atoi(said.values[-1]) for said in line.options if said.name in ("-ppn", "-grr") and said.values]
    text = line.words.environment.get("I_MPI_PERHOST")
    if any(said.name == "-rr" for said in line.options):
        counts.append(1)
    if not counts and text is not None:
        counts.append(atoi(text))
    if any(count < 1 for count in counts) or len(set(counts)) > 1:
        raise Unclear("how many ranks a host gets, is said in a way that is not worked out here")
    return counts[0] if counts else None


def _named(made: Prediction, option: str, text: str, each: int | None, *, by_slots: bool) -> Iterator[tuple[str, int]]:
    """Yield each host and how many ranks it takes at a time."""
    found: list[tuple[str, int]] = []
    for word in hosts_listed(made, option, text):
        match = re.fullmatch(rf"({_HOST.pattern})(?::(\d{{1,6}}))?", word, re.ASCII)
        again = found and match and found[-1][0] == match[1]
        if not match or (match[2] and not by_slots and match[1] in dict(found)):
            raise Unclear(f"the host {word[:40]!a} is written in a way that is not worked out here")
        if again and option == "-f":  # rows of one host beside each other are one, of a list they are not (2021.18, observed)
            found[-1] = (match[1], found[-1][1] + int(match[2] or by_slots))
        else:
            found.append((match[1], int(match[2] or by_slots)))
    if not found:
        raise Unclear("no host is named")
    yield from _turns(made, found, each, by_slots=by_slots)


def _turns(made: Prediction, found: Sequence[tuple[str, int]], each: int | None, *, by_slots: bool) -> Iterator[tuple[str, int]]:
    """Yield the hosts of a file or list with how many ranks each takes at a time."""
    slots = [count for _, count in found]
    if by_slots and max(slots) > 1 and any(said.name == "-rr" for said in made.line.options):
        raise Unclear("a machine file with slots beside -rr is not worked out here")
    if by_slots and all(slots):
        yield from found  # whatever -ppn says (2021.18, observed)
        return
    if each is None:
        if len(dict(found)) > 1:
            raise Unclear("without -ppn a host gets as many ranks as the one that mpiexec.hydra is started on has cores")
        each = MOST_RANKS
    if by_slots:
        raise Unclear("a machine file with a host of no slots is not worked out here")
    yield from ((name, each) for name, _ in found)


def hosts_listed(made: Prediction, option: str, text: str) -> list[str]:
    """Return the hosts as a file or the option's own list has them."""
    if option != "-f":
        return [word for word in text.split(",")[:MOST_RANKS] if word]
    if text not in made.files:
        raise Unclear(f"the host file {text[:80]} was not read")
    return [row for line in made.files[text].splitlines()[:MOST_RANKS] if (row := line.partition("#")[0].strip())]


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


def ranks(made: Prediction) -> tuple[LintRank, ...]:
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


def _heard(line: Line) -> None:
    """Raise Refused of a line that asks for the version alone, Unclear of versions that were never asked."""
    if any(said.written[0].lstrip("-") == "V" for said in line.options):  # of MPICH it is -verbose
        raise Refused("it prints its version, and ends")
    if line.release is not None and line.release < (2019, 0, 0):
        raise Unclear("Intel MPI before 2019 pinned in other ways")


def _odd(line: Line) -> None:
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


def _programs(made: Prediction) -> Iterator[Pins]:
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


def _unsaid(made: Prediction) -> int:
    """Return the ranks of a line without -n: one for each core of this host, or -ppn, for each host that is listed."""
    line = made.line
    named = next((said for said in line.options if said.name in ("-f", "-hosts", "-host")), None)
    each = each_host(line)
    if named is None:
        return each or _cores(made.topology)
    if each is None or named.written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine"):
        raise Unclear("without -n Intel MPI starts as many ranks as the hosts have cores, or as a scheduler says")
    hosts = hosts_listed(made, named.name, named.values[-1])
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
    return domains_of_ranks(tree, domain, order, count, pins)


def _processors(pins: Pins, tree: Tree, count: int) -> Given | None:
    """Return what a processor list gives, whatever I_MPI_PIN_ORDER is; None where it is passed over."""
    if "I_MPI_PIN_DOMAIN" in pins:
        raise Unclear(
            "I_MPI_PIN_PROCESSOR_LIST beside I_MPI_PIN_DOMAIN: the domain divides the list, and how is not worked out here"
        )
    return processors(pins["I_MPI_PIN_PROCESSOR_LIST"], tree, count, cell=pins.get("I_MPI_PIN_CELL", "").lower())


def claim(words: Words, tools: frozenset[str]) -> int:
    """Return how surely a line is Intel MPI's: by its variables or program, by Hydra's words where it alone is there."""
    if "I_MPI_" in " ".join((*words.environment, *words.rest)) or words.launcher.endswith(("impi", "intel")):
        return 8
    if kin(words):
        return 6 if "intelmpi" in tools and "mpich" not in tools else 0
    return 3 if "intelmpi" in tools else 0


def intel_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the masks of Intel MPI."""
    for segment in case.line.segments:
        pins = dict(case.want.exports)
        own = {
            said.values[0]: said.values[1] for said in segment.options if said.name in ("-env", "-genv") and len(said.values) > 1
        }
        pins |= own
        domain, processors = pins.get("I_MPI_PIN_DOMAIN", ""), pins.get("I_MPI_PIN_PROCESSOR_LIST", "")
        count = ranks_here(case) if len(case.line.segments) == 1 else None
        if domain.startswith("["):
            yield from _masks(domain, count)
        elif re.fullmatch(r"[0-9][0-9,-]*", processors, re.ASCII):
            yield from _processor_lists(processors, count)


def _masks(domain: str, count: int | None) -> Iterator[LintWarning]:
    masks = domain.strip("[]").split(",")
    bare = next((mask for mask in masks if not mask.lower().startswith("0x")), None)
    if bare is not None:
        better = f"I_MPI_PIN_DOMAIN=[{','.join('0x' + mask.lower().removeprefix('0x') for mask in masks[:64])}]"
        why = "Without 0x the list is not understood: Intel MPI pins in its own way instead, and ends with success."
        yield warning("mask-without-0x", "the masks are not used", why, f"{bare[:40]} in {domain[:60]}", better, bad=True)
    elif count and len(masks) != count:
        why = "Where masks and local ranks are not as many, Intel MPI pins in its own way instead."
        yield warning(
            "mask-count", f"{len(masks)} masks for {count} ranks on a node", why, domain[:80], f"{count} masks", bad=True
        )
    if len(masks) > 112:
        yield warning(
            "too-many-masks",
            "Intel MPI dies",
            "2021.18 writes past an array from 115 masks on.",
            f"{len(masks)} masks",
            "I_MPI_PIN_PROCESSOR_LIST",
        )


def _processor_lists(text: str, count: int | None) -> Iterator[LintWarning]:
    try:
        entries = len(text.split(",")) if "-" not in text else len(CpuSet.parse(text))
    except BadValue:
        return
    if count and (entries != count or "-" in text):
        why = "Only with exactly one entry a local rank is the order kept; otherwise the list is a set, and short ones wrap."
        yield warning(
            "list-count",
            f"{entries} CPUs are listed for {count} ranks on a node",
            why,
            f"I_MPI_PIN_PROCESSOR_LIST={text[:60]}",
            f"{count} single CPUs",
            bad=True,
        )


LAUNCHER = Launcher(
    name=NAME,
    title="Intel MPI",
    order=40,
    launch=launch,
    aliases=("impi", "intel", "intel-mpi"),
    tools=("intelmpi",),
    variables=("I_MPI_", "HYDRA_"),
    ranks=mpich.RANKS,
    without_binding=UNBOUND,
    dialect=replace(
        mpich.LINES,
        programs=("mpiexec.hydra", "mpiexec", "mpirun"),
        ranks=ranks,
        claim=claim,
        lists=intel_lists,
        aliases={**mpich.LINES.aliases, "-machine": "-f"},
        binds=True,
    ),
    unbound_line=unbound,
)
