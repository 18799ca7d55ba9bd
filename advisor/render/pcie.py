"""A card's way to the processor in words: how it runs, what the card could do, and what holds it back."""

from advisor.language.units import generation, link, link_state, slower
from advisor.model.hardware.devices import Link, PciDevice

QUIET = ("nic", "nvme", "accelerator")
"""Kinds of which an unknown link is not worth a word."""


def link_words(kind: str, card: PciDevice | None) -> str:
    """Return a card's link: ``PCIe 4.0 x16``, ``PCIe 4.0 x8 of x16``, ``NVLink-C2C``; nothing of a device that has none."""
    if card is not None and card.joined:
        return card.joined
    if card is None or (kind in QUIET and not _known(card.link)):
        return ""
    return link(card.card) if _rests(kind, card) else link_state(card.link, card.card)


def held_back(kind: str, card: PciDevice | None) -> bool:
    """Return whether the way to a card is known to be narrower than the card."""
    if card is None or card.joined or _rests(kind, card):
        return False
    return card.bottleneck is not None or slower(card.link, card.card)


def hindrance(kind: str, card: PciDevice | None) -> str:
    """Return what narrows the way to a card: ``narrowed at 0000:40:01.1``; nothing where nothing does."""
    if card is None or card.joined:
        return ""
    if card.bottleneck is not None:
        more = "" if _same(card.path, card.link) else f" to {_short(card.path)}"
        return f"narrowed{more} at {card.bottleneck}"
    if _rests(kind, card):
        return f"at {generation(card.link.speed) if card.link else ''} now (idle?)"
    return "its slot allows more" if slower(card.link, card.card) and not slower(card.path, card.card) and card.path else ""


def _rests(kind: str, card: PciDevice) -> bool:
    """Return whether a GPU runs all its lanes at less than its speed: it does so to save power until it has work."""
    now, able = card.link, card.card
    if kind != "gpu" or now is None or able is None or not slower(now, able) or card.bottleneck is not None:
        return False
    return now.width is not None and now.width == able.width


def _known(now: Link | None) -> bool:
    return now is not None and any((now.speed, now.width, now.bandwidth))


def _same(path: Link | None, now: Link | None) -> bool:
    return path is None or (now is not None and (path.speed, path.width) == (now.speed, now.width))


def _short(path: Link | None) -> str:
    return link(path).removeprefix("PCIe ")
