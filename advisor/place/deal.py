"""Deals ranks over parts: evenly, and where that leaves some over, spaced evenly too."""

from bisect import bisect_right
from collections.abc import Sequence

from advisor.place.seats import Chunk, Key, Level, Seat, parts, seated


def dealt(count: int, room: Sequence[int], keys: Sequence[Key] | None = None) -> list[int]:
    """Return how many each gets: the same, or less where there is less room.

    Of what is left over one more goes to each of the first, or with keys to parts spaced evenly over the machine. What
    finds no room at all is not dealt.
    """
    if not room:
        return []
    low = bisect_right(range(max(room) + 1), count, key=lambda level: sum(min(each, level) for each in room)) - 1
    shares = [min(each, low) for each in room]
    wishing = [i for i, each in enumerate(room) if each > low]
    left = min(count - sum(shares), len(wishing))
    chosen = wishing[:left] if keys is None else [wishing[i] for i in _spaced([keys[i] for i in wishing], left)]
    for i in chosen:
        shares[i] += 1
    return shares


def _spaced(keys: Sequence[Key], count: int, depth: int = 1) -> list[int]:
    """Return so many positions, dealt evenly over sockets, inside each over its nodes, and so on."""
    if count >= len(keys):
        return list(range(len(keys)))
    groups: dict[Key, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(key[:depth], []).append(i)
    if len(groups) == len(keys):
        return [i * len(keys) // count for i in range(count)]
    heads = list(range(len(groups)))
    shares = dealt(count, [len(group) for group in groups.values()], [(i,) for i in heads])
    chosen: list[int] = []
    for group, share in zip(groups.values(), shares, strict=True):
        chosen += [group[i] for i in _spaced([keys[g] for g in group], share, depth + 1)] if share else []
    return chosen


def spread(seats: Sequence[Seat], threads: int, count: int, *levels: Level) -> list[Chunk]:
    """Return so many ranks dealt over the parts of the first level, inside each over those of the next; block order."""
    if not levels:
        return seated(seats, threads, count)
    boxes = parts(seats, levels[0])
    room = [len(seated(box, threads, len(box))) for box in boxes.values()]
    shares = dealt(count, room, list(boxes))
    chunks: list[Chunk] = []
    for box, share in zip(boxes.values(), shares, strict=True):
        inside = spread(box, threads, share, *levels[1:]) if share else []
        chunks += inside if len(inside) == share else seated(box, threads, share)
    return chunks
