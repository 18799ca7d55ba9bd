"""Puts nodes of the same hardware together; one that lacks a module of its kind is in it, and named."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.fleet.fold import Folded, Hardware, Modules, modules_text

MINORITY = 10
"""A tenth of a kind at most has drifted; more is another population."""


@dataclass
class Group:
    """Nodes of one kind."""

    name: str
    hardware: Hardware
    nodes: list[str] = field(default_factory=list)
    lacking: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Class of modules and what some nodes have of it -> those nodes."""


def group(nodes: Mapping[str, Folded]) -> list[Group]:
    """Return the kinds of hardware, the largest first, and every node in one of them."""
    same: dict[Hardware, list[str]] = defaultdict(list)
    for name, node in nodes.items():
        same[node.hardware].append(name)
    ordered = sorted(same.items(), key=lambda item: (-_known(item[0]), -len(item[1]), item[0].text))
    ordered.sort(key=lambda item: -len(item[1]))
    found: list[Group] = []
    for hardware, names in ordered:
        _place(hardware, names, found)
    found.sort(key=lambda each: (-len(each.nodes), each.hardware.text))
    for number, each in enumerate(found):
        each.name = letters(number)
    return found


def letters(number: int) -> str:
    """Return the name of a kind by its place.

    >>> [letters(each) for each in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    name = ""
    while number >= 0:
        name, number = chr(ord("A") + number % 26) + name, number // 26 - 1
    return name


def _known(hardware: Hardware) -> int:
    return sum(each is not None for _, each in hardware.modules)


def _place(hardware: Hardware, names: list[str], found: list[Group]) -> None:
    """Put nodes into the kind that they are of, else into one of their own."""
    for each in found:
        differing = _differing(hardware, each.hardware)
        if differing is None or (differing and not _is_minority(len(names), len(each.nodes))):
            continue
        for name, modules in differing:
            each.lacking.setdefault((name, modules_text(modules)), []).extend(names)
        each.nodes.extend(names)
        return
    found.append(Group("", hardware, list(names)))


def _is_minority(few: int, many: int) -> bool:
    return few * MINORITY <= few + many


def _differing(few: Hardware, many: Hardware) -> list[tuple[str, Modules]] | None:
    """Return the classes of which one has less than the other; None where it is another kind of node altogether.

    What is not known of one of the two differs in nothing.
    """
    if few.base != many.base:
        return None
    found: list[tuple[str, Modules]] = []
    for (name, less), (_, more) in zip(few.modules, many.modules, strict=True):
        if less is None or more is None or less == more:
            continue
        if name == "sockets" or not _is_part(dict(less), dict(more)):
            return None
        found.append((name, less))
    return found


def _is_part(less: Mapping[str, int], more: Mapping[str, int]) -> bool:
    return all(count <= more.get(what, 0) for what, count in less.items())
