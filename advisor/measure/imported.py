"""Makes results of a machine out of what other programs printed, as far as it is known where each ran."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.units import binary, count, flop_rate
from advisor.measure.measurement import ImportedFigure, ImportedRun, Part, Purpose, Result, Unit
from advisor.measure.plan import home_of
from advisor.measure.resources import TIMES_L3, CoreGroup, Memory, Resources

PLACES = "machine, socket N, numa N, l3 N, core N or cpus LIST; for messages between two hosts: hosts, or hosts ADAPTER"
_PARTS: tuple[Part, ...] = ("socket", "numa", "l3", "core")
_GPU = ("CUDA", "HIP", "SYCL", "OpenCL", "OpenACC", "Kokkos")
"""Models of BabelStream that run on a GPU: their bandwidth is not that of the host's memory."""


def adapter_of(ground: Resources, words: str | None) -> str | None:
    """Return the adapter beside which one rank on each of two hosts sat, where words say so: hosts, hosts mlx5_0."""
    kind, _, name = (words or "").strip().partition(" ")
    if kind.lower() != "hosts":
        return None
    there = [each.name for each in ground.machine.hcas or ()]
    if name.strip() in there or (not name and len(there) == 1):
        return name.strip() or there[0]
    cure = f"write hosts, then one of: {', '.join(there)}" if there else "only a machine with an adapter sends to other hosts"
    raise BadValue(f"--placed {(words or '')[:40]} does not name an adapter in this machine", cure=cure)


def place_of(ground: Resources, words: str) -> CoreGroup:
    """Return the part of a machine that words name: machine, socket 0, numa 6, l3 2, core 5, cpus 0-15."""
    kind, _, number = words.strip().lower().partition(" ")
    if kind in ("machine", "node") and not number:
        return next(iter(ground.pieces("machine")))
    if kind == "cpus" and number:
        cpus = ground.on(CpuSet.parse(number))
        if cpus:
            return next((each for each in _pieces(ground) if set(each.cpus) == set(cpus)), CoreGroup("machine", None, cpus))
    found = next((each for each in _pieces(ground) if each.part == kind and str(each.index) == number.strip()), None)
    if found is None:
        raise BadValue(f"--placed {words[:40]}: this machine has no such part", cure=f"one of: {PLACES}")
    return found


def _pieces(ground: Resources) -> Iterator[CoreGroup]:
    """Yield every part, the larger first, so that what has the same CPUs is called by the larger."""
    yield from ground.pieces("machine")
    for part in _PARTS:
        yield from ground.pieces(part)


class Beside(NamedTuple):
    """One figure that two sides have: what it is, its unit, and both."""

    what: str
    unit: Unit
    first: float
    second: float


_ARRAYS = {"stream": 3}
"""Arrays that a program walks, where its size is that of one."""


FASTEST = 5e9
"""The highest boost of any server processor here (EPYC 9575F): what is above the peak at that clock ran elsewhere."""


@dataclass(frozen=True)
class Placing:
    """Makes results of one run: the machine, and what the run is called."""

    ground: Resources
    task: str
    peak: float | None = None
    """FLOP/s of a core at its base clock; None if either is not known."""
    most: float | None = None
    """FLOP/s of a core at the fastest clock there is; None where its FLOP/cycle are not known."""
    adapter: str | None = None
    """Through which messages went to another host, from beside it; None where nobody says that they did."""

    def result(self, run: ImportedRun, figure: ImportedFigure, place: CoreGroup, **more: Any) -> Result:
        """Return a figure as a result, marked with the program that it is from."""
        own: dict[str, Any] = {
            "task": f"{self.task}/{figure.what}",
            "kernel": run.format.replace("-", "_"),
            "purpose": "part",
            "variant": figure.what,
            "part": place.part,
            "index": place.index,
            "cpus": place.cpus,
            "unit": figure.unit,
            "values": (figure.value,),
            "bytes": figure.size,
            "details": {"imported": f"{run.title}, {figure.statistic}"},
        }
        return Result(**{**own, **more})


Results = tuple[list[Result], str | None]
"""Those of a run, and why not all of it could be taken."""


def results_of_run(on: Placing, run: ImportedRun, place: CoreGroup | None) -> Results:
    """Return the results of a run, and why not all of it could be taken."""
    reader = _READERS.get(run.format)
    return reader(on, run, place) if reader else ([], "displayed only: no rule uses these values")


def _machine_of(on: Placing, *counts: object) -> CoreGroup | None:
    """Return the whole machine where threads or ranks are as many as its cores or its CPUs."""
    (whole,) = on.ground.pieces("machine")
    return whole if {len(whole.cpus), len(on.ground.inside.cores)} & {*counts} else None


def _own_place(on: Placing, run: ImportedRun) -> CoreGroup | None:
    """Return where a run says itself that it ran: on these CPUs, or with as many threads as the machine has cores or CPUs.

    Its CPUs are those of a part: all of them, or one thread of each core.
    """
    if not run.cpus:
        return _machine_of(on, run.conditions.get("threads"), run.conditions.get("ranks"))
    theirs = CpuSet(run.cpus)
    for piece in _pieces(on.ground):
        mine = CpuSet(piece.cpus)
        cores = [core.cpuset & mine for core in on.ground.inside.cores if core.cpuset & mine]
        if theirs <= mine and cores and all(core & theirs for core in cores):
            return piece
    return None


def _bandwidth(on: Placing, run: ImportedRun, place: CoreGroup | None) -> Results:
    if any(word in str(run.conditions.get("implementation", "")) for word in _GPU):
        return [], "GPU memory: only shown; no rule uses it"
    alone = run.conditions.get("threads") == 1 and not run.cpus
    where = place or _own_place(on, run)
    if alone:  # what one thread ran on is a core of the place that the user names, or of the machine, whatever else is there
        first = (place.cpus if place else on.ground.order)[:1]
        where = next(each for each in on.ground.pieces("core") if each.cpus == first)
    if where is None:
        return [], f"it does not say where it ran; give --placed {PLACES}"
    if not alone and (strange := _too_many(run.conditions.get("threads"), "thread", where)):
        return [], strange
    size, l3 = (
        run.conditions.get("bytes") or next((figure.size for figure in run.figures), None),
        on.ground.reached_l3(where.cpus),
    )
    size = size if isinstance(size, int) else None
    if size is not None and l3 and size < l3:
        return [], f"arrays of {binary(size)} fit into the L3 ({where.label}: {l3 >> 20} MiB): not memory bandwidth"
    own = {**_memory(on.ground.memory_of(where.cpus)), "bytes": size and size * _ARRAYS.get(run.format, 1)}
    kept = (figure for figure in run.figures if figure.at is None and figure.unit == "bytes/s")
    made = [on.result(run, figure, where, variant=figure.what.replace(" ", "-"), **own) for figure in kept]
    remarks = []
    if alone and not place:
        remarks.append("measured with one thread: the figure is for one core (not named), not for the whole machine")
    if size is not None and l3 and size < TIMES_L3 * l3:
        remarks.append(
            f"used, although its arrays are smaller than {TIMES_L3} times the L3: part of the data may come from the cache"
        )
    return made, "; ".join(remarks) or None


def _too_many(number: object, what: str, where: CoreGroup) -> str | None:
    """Return why a run of so many threads or ranks was not on a part: it has fewer CPUs."""
    if not isinstance(number, int) or number <= len(where.cpus):
        return None
    there = f"{where.label.replace('/', ' ')} has {count(len(where.cpus), 'CPU')}"
    return f"it ran {count(number, what)}, but {there}: it ran on another machine, or on a larger part"


def _memory(memory: Memory) -> dict[str, Any]:
    return {"memory": memory.node, "distance": memory.distance, "slit": memory.slit}


def _nodes(on: Placing, run: ImportedRun, _: CoreGroup | None) -> Results:
    """Return figures from node to node: those of other nodes than the machine has make the file another machine's."""
    homes = {piece.index: piece for piece in on.ground.pieces("numa")}
    there = {node.os_index for node in on.ground.memories}
    named = {figure.at for figure in run.figures if figure.at}
    strange = sorted({cores for cores, _ in named} - set(homes) | {memory for _, memory in named} - there)
    nodes = run.conditions.get("NUMA nodes")
    if strange or (isinstance(nodes, int) and nodes != len(homes)):
        return (
            [],
            (
                f"from a machine with {nodes or strange} NUMA nodes, but this one has {len(homes)}: another machine, or "
                f"different partitioning"
            ),
        )
    made = []
    for figure in run.figures:
        if figure.at is not None:
            cores, memory = figure.at
            far = on.ground.towards(homes[cores].cpus, memory)
            purpose: Purpose = "part" if far.distance == "local" and figure.unit == "bytes/s" else "matrix"
            variant = "chase" if figure.unit == "seconds" else figure.what
            made.append(on.result(run, figure, homes[cores], purpose=purpose, variant=variant, **_memory(far)))
        elif run.format == "mlc" and figure.what in ("load", "triad"):
            made.append(on.result(run, figure, next(iter(on.ground.pieces("machine"))), distance="spread"))
    return made, None


def _hpl(on: Placing, run: ImportedRun, place: CoreGroup | None) -> Results:
    n = int(run.conditions.get("N", 0))
    memory = sum(node.memory or 0 for node in on.ground.memories)
    if memory and 8 * n * n > memory:
        need, have = 8 * n * n / 2**30, memory / 2**30
        why = f"its matrix of {need:.0f} GiB is more than this machine's {have:.0f} GiB"
        return [], f"{why}: it ran on several nodes, or on another machine"
    ranks = int(run.conditions.get("P", 0)) * int(run.conditions.get("Q", 0))
    where = place or _machine_of(on, ranks)
    if where is None:
        return [], f"it does not say how many cores its {count(ranks, 'rank')} ran on; give --placed {PLACES}"
    cores = sum(1 for core in on.ground.inside.cores if core.cpuset & CpuSet(where.cpus))
    fastest = max((figure.value for figure in run.figures), default=0.0)
    if strange := _too_many(ranks, "rank", where):
        return [], strange
    if on.most and fastest > on.most * cores:
        most = f"{cores} cores can deliver ({flop_rate(on.most * cores)})"
        return [], f"{flop_rate(fastest)} is more than {most}: the benchmark ran on more hosts or on another machine"
    # Its matrix fits into this machine, on all of whose cores, or where the user says, it ran: so one host solved it.
    told = {name.lower(): run.conditions.get(name, 0) for name in ("N", "NB", "P", "Q")} | {"hosts": 1, "ranks": ranks}
    told |= {"peak_base": on.peak * cores} if on.peak else {}
    made = [
        on.result(run, figure, where, kernel="hpl", purpose="hpl", variant="xhpl", details={**told, "imported": run.title})
        for figure in run.figures
    ]
    return made, None


def _pairs(on: Placing, run: ImportedRun, _: CoreGroup | None) -> Results:
    """Return round trips between CPUs: the file has halves, and positions, which are CPU numbers where all CPUs were asked."""
    cpus = sorted(on.ground.whole.pus)
    if run.conditions.get("CPUs") != len(cpus):
        return (
            [],
            (
                f"run on {run.conditions.get('CPUs')} CPUs, but this machine has {len(cpus)}: another machine, or only some of "
                f"its cores"
            ),
        )
    place = CoreGroup("pair", None, ())
    return [
        on.result(run, figure, place, kernel="c2c", purpose="map", variant="ping-pong",
                  cpus=(cpus[figure.at[0]], cpus[figure.at[1]]), values=(2 * figure.value,))
        for figure in run.figures if figure.at
    ], None  # fmt: skip


_TESTS = {"bandwidth": "mbw_mr", "both ways": "bibw", "latency": "latency"}


def _messages(on: Placing, run: ImportedRun, place: CoreGroup | None) -> Results:
    """Return messages: between two hosts where the user says so, and inside this one where he says on which part."""
    home = next(iter(home_of(on.ground.machine, on.adapter).numa_nodes or ()), None)
    beside = next((each for each in on.ground.pieces("numa") if each.index == home), next(iter(on.ground.pieces("machine"))))
    place = beside if on.adapter else place
    if place is None:
        return [], "it does not say where its ranks ran; give --placed hosts for two hosts, --placed machine for this one"
    pairs = run.conditions.get("pairs")
    pairs = 1 if all(figure.scope == "pair" for figure in run.figures) else int(pairs) if pairs else None
    if pairs is None:
        return [], "the output does not say how many pairs sent messages: only shown; no rule uses it"
    rates = {figure.size: figure.value for figure in run.figures if figure.what == "message rate"}
    purpose: Purpose = "network-pair" if pairs == 1 else "network"
    made = []
    for figure in run.figures:
        if figure.what in _TESTS:
            mark = {"imported": f"{run.tool}, {figure.statistic}", "pairs": pairs}
            mark |= {"across": 1, "hca": on.adapter, "hca_distance": "local"} if on.adapter else {}
            rate = {"messages": rates[figure.size]} if figure.what == "bandwidth" and figure.size in rates else {}
            made.append(on.result(run, figure, place, purpose=purpose, variant=_TESTS[figure.what], details={**mark, **rate}))
    return made, None


_READERS: Mapping[str, Callable[[Placing, ImportedRun, CoreGroup | None], Results]] = {
    **dict.fromkeys(("stream", "babelstream", "likwid-bench"), _bandwidth),
    **dict.fromkeys(("mlc", "numademo"), _nodes),
    **dict.fromkeys(("osu", "imb"), _messages),
    "hpl": _hpl,
    "core-to-core": _pairs,
}
