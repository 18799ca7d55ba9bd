"""The lines that race: each strategy with each split of the job that gives its ranks something else."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.place_cores import device_names
from advisor.jobs.placement import STRATEGIES, JobShape, Placement
from advisor.jobs.tune.candidates import MOST, Candidate, Seats, distinct, splits
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine

_FIRST = ("auto", *STRATEGIES)


def placements(
    job: JobShape,
    machines: Sequence[Machine],
    allowed: CpuSet | None = None,
    *,
    split: bool = True,
    smt: bool = False,
    devices: bool = False,
    known: Sequence[Seats] = (),
    most: int = MOST,
) -> tuple[list[Candidate], int]:
    """Return the distinct placements of a job, one fewer than the ``most`` lines of a race, and how many were left out.

    ``split`` allows other numbers of ranks and threads with the same product, ``smt`` second hardware threads, ``devices``
    ranks near each adapter and each GPU.
    """
    near = _near_each(job, machines, allowed) if devices else iter(())
    found = list(distinct((*near, *_every(job, machines, allowed, split=split, smt=smt)), known))
    return found[: most - 1], max(0, len(found) - most + 1)


def _near_each(job: JobShape, machines: Sequence[Machine], allowed: CpuSet | None) -> Iterator[Candidate]:
    """Yield the job near each adapter and GPU of its first host."""
    ranks = job.ranks or _as_many(job, machines, allowed)
    for name in device_names(machines[0]):
        given = {"ranks": ranks, "strategy": "hca-near", "near": name, "ranks_per_node": None, "per": None, "purpose": None}
        with suppress(BadValue):
            wanted = job.model_copy(update=given)
            yield Candidate(f"near {name} {ranks}x{job.threads}", wanted, place(wanted, machines, allowed=allowed))


def _every(job: JobShape, machines: Sequence[Machine], allowed: CpuSet | None, *, split: bool, smt: bool) -> Iterator[Candidate]:
    ranks = job.ranks or _as_many(job, machines, allowed)
    shapes = splits(ranks, job.threads, max(1, len(job.hosts))) if split else ((ranks, job.threads),)
    kinds = ("skip", "use") if smt and job.smt == "skip" else (job.smt,)
    wishes = [(kind, shape, strategy) for kind in kinds for shape in shapes for strategy in _FIRST]
    for kind, (count, threads), strategy in sorted(wishes, key=lambda wish: (wish[1] != shapes[0]) + (wish[2] != "auto")):
        given = {"ranks": count, "threads": threads, "strategy": strategy, "smt": kind}
        wanted = job.model_copy(update={**given, "ranks_per_node": None, "per": None, "purpose": None})
        with suppress(BadValue):
            yield _named(place(wanted, machines, allowed=allowed), wanted)


def _as_many(job: JobShape, machines: Sequence[Machine], allowed: CpuSet | None) -> int:
    return place(job, machines, allowed=allowed).size


def _named(placed: Placement, job: JobShape) -> Candidate:
    second = " smt" if job.smt == "use" else ""
    return Candidate(f"{placed.strategy} {job.ranks}x{job.threads}{second}", job, placed)
