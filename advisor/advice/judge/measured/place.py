"""Says where a figure stands: below its ceiling, and among those published under the same, other or unknown conditions. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from advisor.advice.model.case import Case
from advisor.machine.cpu import is_model
from advisor.machine.units import duration, flop_rate, plain, throughput
from advisor.measure.measured_facts import UNPUBLISHED, Linpack, MeasuredFacts, Place, Publication, Speed
from advisor.measure.measurement import Measurements
from advisor.measure.published import Metric, PublishedFigure

_SLACK: Final = 0.02
"""2933 MT/s is 2934 in some tables: speeds that differ by less are the same."""
_LARGE: Final = 0.9
"""Of the published N: a smaller system of equations is slower by itself."""
_FILLED: Final = 0.5
"""Of the memory: a system that fills so much is a large one, whatever was published."""


class Figure(NamedTuple):
    """One figure of this machine, and how it was measured."""

    name: str
    metric: Metric
    value: float
    sockets: int
    threads: int
    stores: str | None = None
    program: str | None = None
    problem: int | None = None
    grid: str | None = None
    filled: bool = False
    """Whether a system of equations fills much of the memory."""


def places(facts: MeasuredFacts, measurements: Measurements, case: Case, figures: Sequence[PublishedFigure]) -> tuple[Place, ...]:
    """Return where each figure of the whole machine stands."""
    return tuple(_place(each, facts, case, figures) for each in _figures(facts, measurements, case))


def _figures(facts: MeasuredFacts, measurements: Measurements, case: Case) -> Iterator[Figure]:
    """Yield the machine's own figures; of a machine of one socket that socket is the machine."""
    sockets, whole = case.shape.sockets if case.shape else None, facts.machine
    program = next((name for name in ("STREAM", "BabelStream", "likwid-bench", "MLC") if _is_of(name, measurements)), None)
    if whole is not None and sockets:
        rates: tuple[tuple[Metric, float | None], ...] = (("triad", whole.triad), ("copy", whole.copying), ("load", whole.load))
        for metric, value in rates:
            if value is not None:
                stores = _stores(whole) if metric == "triad" and program is None else None
                yield Figure(f"{metric} of the machine", metric, value, sockets, len(whole.cpus), stores, program)
        if whole.latency is not None:
            yield Figure("latency of local memory", "latency", whole.latency, sockets, 1)
    run = facts.hpl
    if run is not None and run.whole and run.hosts == 1 and run.part == "machine" and sockets:
        yield _of_hpl(run, sockets)


def _is_of(name: str, measurements: Measurements) -> bool:
    return any(words.startswith(name) for words in measurements.conditions.imported or ())


def _stores(whole: Speed) -> str | None:
    """Return which stores gave the better triad."""
    return None if whole.triad is None else "streaming" if whole.streaming == whole.triad else "regular"


def _of_hpl(run: Linpack, sockets: int) -> Figure:
    grid = run.grid.replace(" ", "") if run.grid else None
    filled = (run.memory_share or 0) >= _FILLED
    return Figure(
        "HPL of the machine", "hpl", run.rate, sockets, (run.ranks or 0) * (run.threads or 1), None, "HPL", run.n, grid, filled
    )


def _place(own: Figure, facts: MeasuredFacts, case: Case, figures: Sequence[PublishedFigure]) -> Place:
    found, kin = _alike(own, case, figures)
    beside = tuple(_beside(own, one, case) for one in found)
    compared = () if kin and not _same_dies(found, case) else beside
    stated = [one for one in compared if one.stated and one.outcome != "other" and not kin]
    ceiling, because = _ceiling(own, facts, case)
    place = Place(
        name=own.name,
        metric=own.metric,
        value=own.value,
        ceiling=ceiling,
        because=because,
        processor=f"{own.sockets} x {_model(found, case)}" if found else None,
        published=beside,
        kin=kin,
        count=len(compared),
        low=min((one.low for one in compared), default=None),
        high=max((one.high for one in compared), default=None),
        stated_low=min((one.low for one in stated), default=None),
        judged=facts.idle is True and any(one.outcome == "meets" for one in compared),
        doubts=_doubts(own, ceiling, facts, case),
    )
    return place.model_copy(update={"says": _says(place), "of_ceiling": _of_ceiling(place)})


def _alike(own: Figure, case: Case, figures: Sequence[PublishedFigure]) -> tuple[tuple[PublishedFigure, ...], bool]:
    """Return what was published of the same for this processor, or else for others of its generation; and whether for others."""
    virtual = case.environment.virtual if case.environment else None
    cloud = "metal" if virtual in (None, "none") else "virtual"
    same = [
        one for one in figures if (one.metric, one.sockets, one.cloud) == (own.metric, own.sockets, cloud) and one.of == "node"
    ]
    if cloud == "virtual":  # a part of the host: only the size tells which
        same = [one for one in same if one.threads == own.threads]
    if own.metric == "hpl":
        same = [one for one in same if own.filled or (one.problem and (own.problem or 0) >= _LARGE * one.problem)]
    mine = tuple(one for one in same if _is_mine(one, case))
    if mine or case.platform is None:
        return mine, False
    return tuple(one for one in same if one.channels in (None, case.platform.channels)), True


def _is_mine(one: PublishedFigure, case: Case) -> bool:
    return is_model(one.processor.removeprefix("Xeon "), case.cpu.model_name if case.cpu else None)


def _same_dies(found: Iterable[PublishedFigure], case: Case) -> bool:
    """Return whether all publications are of models that reach memory through as many dies as this one."""
    platform = case.platform
    own = {socket.dies for socket in case.sockets or ()}
    known = platform.processors if platform else {}
    theirs = {known[one.processor].dies if one.processor in known else None for one in found}
    return len(own | theirs) == 1 and None not in own


_FEW: Final = 3


def _model(found: Sequence[PublishedFigure], case: Case) -> str:
    names = tuple(dict.fromkeys(one.processor for one in found))
    return " or ".join(names) if len(names) <= _FEW or case.platform is None else case.platform.name


class _Condition(NamedTuple):
    """One condition of a publication: in words, what is so here, and whether that is the same; None where it is not known."""

    words: str
    here: str
    met: bool | None


def _beside(own: Figure, one: PublishedFigure, case: Case) -> Publication:
    all_of = [*_conditions_of(own, one, case)]
    differs = tuple(f"{each.words} (here {each.here})" for each in all_of if each.met is False)
    unknown = (*(each.words for each in all_of if each.met is None), *one.others)
    low, high = one.value.low or one.value.high or 0.0, one.value.high or one.value.low or 0.0
    return Publication(
        processor=one.processor,
        low=low,
        high=high,
        outcome="other" if differs else "unknown" if unknown or not one.stated else "meets",
        stated=one.stated,
        conditions=tuple(each.words for each in all_of if each.met),
        differs=differs,
        unknown=unknown,
        ref=one.source,
    )


def _conditions_of(own: Figure, one: PublishedFigure, case: Case) -> Iterator[_Condition]:
    """Yield what a publication states, beside what is so here."""
    cut = case.layout.cut if case.layout else None
    sure = cut.name if cut and cut.confidence != "low" and cut.name != "unknown" else None
    if one.numa:
        yield _Condition(
            "no sub-NUMA clustering" if one.numa == "none" else one.numa, str(sure), None if sure is None else sure == one.numa
        )
    if one.smt:
        state = case.layout.smt.state if case.layout else None
        yield _Condition(f"SMT {one.smt}", f"SMT {state}", state == one.smt if state in ("on", "off") else None)
    if one.memory_speed:
        yield _of_speed(one, case)
    if one.channels:
        filled = {socket.channels for socket in case.sockets or ()}
        yield _Condition(
            f"{one.channels} channels filled", f"{filled}", None if None in filled or not filled else filled == {one.channels}
        )
    if one.threads and own.threads and own.metric != "latency":
        yield _Condition(f"{one.threads} threads", f"{own.threads}", one.threads == own.threads)
    if one.stores:
        yield _Condition(f"{one.stores} stores", str(own.stores), None if own.stores is None else own.stores == one.stores)
    if one.problem:
        yield _Condition(f"N {one.problem}", f"N {own.problem}", (own.problem or 0) >= _LARGE * one.problem)
    if one.grid and own.grid:
        yield _Condition(f"grid {one.grid}", own.grid, one.grid == own.grid)
    if one.program and own.program:
        yield _Condition(one.program, own.program, one.program == own.program)


def _of_speed(one: PublishedFigure, case: Case) -> _Condition:
    wanted = one.memory_speed or 0.0
    own = [socket.configured for socket in case.sockets or ()]
    known = [speed for speed in own if speed is not None]
    met = all(abs(speed - wanted) <= _SLACK * wanted for speed in known) if known and len(known) == len(own) else None
    return _Condition(f"{wanted / 1e6:.0f} MT/s", f"{min(known) / 1e6:.0f} MT/s" if known else "?", met)


_SPOKEN: Final = {"latency": duration, "hpl": flop_rate}


def _says(place: Place) -> str:
    """Return where a figure stands among the published ones, in words: its share of them, and under which conditions they are."""
    write = _SPOKEN.get(place.metric, throughput)
    return f"{write(place.value)}: {_among(place, write)}"


def _of_ceiling(place: Place) -> str:
    """Return which share of its ceiling a figure is, in words; empty where none is known."""
    if not place.ceiling:
        return ""
    return f"{100 * place.value / place.ceiling:.0f} % of the {throughput(place.ceiling)} that {place.because} carry at most"


def _among(place: Place, write: Callable[[float], str]) -> str:
    """Return how a figure stands to what was published for this processor; where that is nothing, for its kin."""
    every = place.published
    if not every:
        return UNPUBLISHED
    low, high = min(one.low for one in every), max(one.high for one in every)
    span = write(low) if write(low) == write(high) else f"{_number(write(low), write(high))} to {write(high)}"
    sources = tuple(dict.fromkeys(_cited(one.ref) for one in every))
    model = f"{place.processor} (none for this model)" if place.kin else place.processor
    of = f"{span} published for {model} [{sources[0] if len(every) == 1 else f'{len(every)} figures'}]"
    if place.low is None or place.high is None:
        return of
    if round(place.value / place.low, 2) < 1:
        lowest = "lowest of the " if low != high and len(every) > 1 else ""
        return f"{100 * place.value / place.low:.0f} % of the {lowest}{of}, {_terms(every)}"
    if round(place.value / place.high, 2) > 1:
        return f"{100 * place.value / place.high:.0f} % of the {of}, {_terms(every)}"
    return f"{'as the' if low == high else 'within the'} {of}, {_terms(every)}"


def _cited(ref: str) -> str:
    """Return a source in a word: its id, the repository of a file, the host of a page."""
    host = re.fullmatch(r"https?://([^/]+).*", ref)
    return plain(host[1] if host else ref.partition(":")[0], 80)


def _number(words: str, other: str) -> str:
    """Return a value without its unit where the other end of the range has the same one."""
    number, _, unit = words.partition(" ")
    return number if other.endswith(f" {unit}") else words


def _terms(every: Sequence[Publication]) -> str:
    """Return under which conditions the figures were published: those of one in full, of several how many hold here."""
    if len(every) > 1:
        met, other = (sum(1 for one in every if one.outcome == outcome) for outcome in ("meets", "other"))
        rest = len(every) - met - other
        counts = (
            (met, "under conditions met here"),
            (other, "under other conditions"),
            (rest, "under conditions not stated or not known here"),
        )
        return ", ".join(f"{number} {words}" for number, words in counts if number)
    (one,) = every
    parts = (
        ", ".join(one.conditions),
        ", ".join(one.differs),
        f"not known here: {', '.join(one.unknown)}" if one.unknown else "",
    )
    return "; ".join(part for part in parts if part) or "conditions not stated"


def _ceiling(own: Figure, facts: MeasuredFacts, case: Case) -> tuple[float | None, str | None]:
    """Return what the memory of all sockets carries at most, and why: by its DIMMs where these are known, else by arithmetic."""
    if own.metric not in ("triad", "copy", "load"):
        return None, None
    if facts.machine and facts.machine.ceiling:
        return facts.machine.ceiling, "its DIMMs"
    return (case.bounds.bandwidth, case.bounds.because) if case.bounds else (None, None)


_TOLERANCE: Final = 1.02


def _doubts(own: Figure, ceiling: float | None, facts: MeasuredFacts, case: Case) -> str:
    """Return what may be behind a low figure and cannot be excluded: placement that arithmetic allows, and other work."""
    said = []
    shape = case.shape
    if ceiling and own.metric != "latency" and shape and shape.cpu_nodes and shape.sockets:
        node, socket = ceiling / shape.cpu_nodes, ceiling / shape.sockets
        if shape.cpu_nodes > shape.sockets and own.value <= _TOLERANCE * node:
            said.append(f"all memory on one NUMA node, which carries {throughput(node)} (first touch by one thread)")
        elif shape.sockets > 1 and own.value <= _TOLERANCE * socket:
            said.append(f"memory or threads on one socket, which carries {throughput(socket)}")
    if any(socket.configured is None for socket in case.sockets or ()):
        said.append("slow or missing DIMMs, which nobody read")
    if facts.idle is not True:
        said.append("other work meanwhile")
    return ", ".join(said)
