"""Says why a job does not fit, and which shapes nearest to it would."""

from collections.abc import Callable
from typing import Final

from advisor.errors import BadValue
from advisor.model.placement import Strategy

WALLS: Final[dict[Strategy, str]] = {
    "compact": "no rank straddles sockets",
    "spread-numa": "each rank stays in one NUMA node",
    "spread-l3": "each rank stays in one L3 group",
    "hybrid": "no rank straddles sockets",
    "balanced": "no rank straddles sockets",
    "hca-near": "no rank straddles sockets",
    "per-hca": "no rank straddles sockets",
    "gpu-near": "no rank straddles sockets",
}


def refusal(
    strategy: Strategy,
    shape: tuple[int, int],
    free: tuple[int, int],
    fits: Callable[[int], int],
    *,
    where: str = "",
    smt: bool = False,
) -> BadValue:
    """Return the refusal of (ranks, threads) where so many (cores, hardware threads) are free.

    ``fits`` says how many ranks of some threads would fit.
    """
    ranks, threads = shape
    cores, pus = free
    asked = f"{_ranks(ranks)} x {threads} thread{'s' * (threads > 1)}{where}"
    room, what = (pus, "hardware threads") if smt else (cores, "cores")
    if ranks * threads > room:
        problem = f"{asked} need {ranks * threads} {what}, {room} {'is' if room == 1 else 'are'} free"
    else:
        problem = f"{asked} do not fit: with {strategy} {WALLS[strategy]}"
    options = _nearest(ranks, threads, room, fits)
    if not smt and room < ranks * threads <= pus:
        options.append("--smt use")
    return BadValue(f"{problem}: {', or '.join(options)}" if options else problem)


def _nearest(ranks: int, threads: int, room: int, fits: Callable[[int], int]) -> list[str]:
    most = fits(threads)
    options = [f"{_ranks(most)} of {threads}"] if most else []
    thinner = next((each for each in range(min(threads - 1, room // ranks), 0, -1) if fits(each) >= ranks), None)
    if thinner:
        options.append(f"{ranks if options else _ranks(ranks)} of {thinner}")
    if not options:
        widest = next((each for each in range(min(threads - 1, room), 0, -1) if fits(each)), None)
        options = [f"{_ranks(fits(widest))} of {widest}"] if widest else []
    return options


def _ranks(count: int) -> str:
    return f"{count} rank{'s' * (count != 1)}"
