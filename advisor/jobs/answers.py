"""Which answer to where ranks go counts: what they saw themselves, what the launcher plans, what is simulated here."""

from collections.abc import Callable
from dataclasses import replace

from advisor.errors import CannotWork
from advisor.jobs.observe import reported
from advisor.jobs.placement import FEW, LintAnswer, LintRank, Placed
from advisor.jobs.request import Prediction
from advisor.jobs.started.plan_file import read_bytes
from advisor.machine.cpuset import CpuSet

Ask = Callable[[Prediction], LintAnswer | None]
"""Asks the launcher itself what a line does; None where it is not asked."""


def settled(
    made: Prediction, ask: Ask | None = None, observed: LintAnswer | None = None
) -> tuple[Prediction, Placed, tuple[LintAnswer, ...]]:
    """Return a prediction with the answer that counts, its kind, and every answer.

    What ranks saw themselves counts before all; else what the launcher plans, where what is simulated is not something else.
    """
    simulated = LintAnswer(kind="simulated", ranks=made.ranks, refused=made.refused) if made.unclear is None else None
    asked = ask(made) if ask else None
    seen = observed and observed.model_copy(update={"ranks": _without_names(made, observed.ranks or ())})
    answers = tuple(each for each in (simulated, asked, seen) if each is not None)
    if not answers:
        return made, "not-told", ()
    best = answers[-1]
    if observed is None and len({_as_seen(made, each.ranks) for each in answers}) > 1:
        why = "; ".join(f"{each.kind}: {_in_short(each)}{f' ({each.by})' if each.by else ''}" for each in answers)
        why = f"the answers differ, and advisor check --observed settles it. {why[0].upper()}{why[1:]}"
        return replace(made, ranks=None, refused=None, unclear=why), "not-told", answers
    return replace(made, ranks=best.ranks, refused=best.refused, unclear=None), best.kind, answers


def _as_seen(made: Prediction, ranks: tuple[LintRank, ...] | None) -> tuple[tuple[str | None, CpuSet], ...] | None:
    """Return ranks as they see themselves: those that are not bound have every CPU."""
    everything = made.topology.inside.pus
    return None if ranks is None else tuple((rank.host, rank.cpus or everything) for rank in ranks)


def _in_short(answer: LintAnswer) -> str:
    """Return the first ranks of an answer, or why nothing starts."""
    if answer.ranks is None:
        return f"nothing starts, {(answer.refused or '')[:160]}"
    named = [f"{f'{rank.host}:' if rank.host else ''}{rank.cpus or 'not bound'}" for rank in answer.ranks[:FEW]]
    more = " ..." if len(answer.ranks) > FEW else ""
    return f"CPUs {' | '.join(named)}{more} for ranks 0 to {len(answer.ranks) - 1}"


def _without_names(made: Prediction, ranks: tuple[LintRank, ...]) -> tuple[LintRank, ...]:
    """Return what ranks saw as the other answers have it: unbound on all CPUs, and of a line without hosts no names."""
    everything = made.topology.inside.pus
    return tuple(
        LintRank(
            rank=each.rank,
            host=each.host if made.want.hosts else None,
            cpus=None if everything <= (each.cpus or everything) else each.cpus,
        )
        for each in ranks
    )


def observed_in(file: str) -> LintAnswer:
    """Return what ranks saw, of a file with what the probe printed in a job."""
    gathered = reported(read_bytes(file, "output of a job"))
    ranks = tuple(LintRank(rank=each.rank, host=each.host, cpus=each.cpus) for each in gathered.ranks if each.rank is not None)
    if not ranks:
        raise CannotWork(f"{file}: no line of the probe in it; advisor verify --print-probe > probe.sh, and start sh probe.sh")
    if gathered.repeated or [rank.rank for rank in ranks] != list(range(len(ranks))):
        raise CannotWork(f"{file}: some ranks are missing or there twice; give the whole output of one run")
    return LintAnswer(kind="observed", by=file, ranks=ranks)
