"""What the firmware is to do, checked against what it does now and what this processor offers."""

from dataclasses import dataclass
from typing import Literal

from advisor.change.seats import Seats
from advisor.errors import BadValue
from advisor.model.audit.platform import CutOffer, Platform, dies, offered
from advisor.model.hardware.cpu import Scheme, scheme
from advisor.model.hardware.layout import Assumption, Cut
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.partitioning import infer_cut

Nodes = Literal["all"] | int
"""Domains of memory: one over all sockets, or so many in each."""


@dataclass(frozen=True)
class Target:
    """How the sockets are to be cut; None where the cut stays."""

    scheme: Scheme
    name: str
    nodes: Nodes | None = None
    l3_as_node: bool = False
    doubt: str | None = None
    """Why it is not sure that the firmware offers it."""


_NAMES = {
    "nps": (Scheme.NPS, "NPS", "EPYC 7002 and later"),
    "l3_as_node": (Scheme.NPS, "L3 as NUMA node", "EPYC 7002 and later"),
    "interleave": (Scheme.DIES, "die or channel interleaving", "EPYC 7001"),
    "snc": (Scheme.SNC, "SNC", "Xeons since Skylake"),
    "cod": (Scheme.COD, "cluster on die", "Haswell and Broadwell"),
}


def target_of(machine: Machine, seats: Seats, wish: Assumption, platform: Platform | None) -> Target:
    """Return the cut that is wished for; raise where this processor cannot have it."""
    kind, cut = scheme(machine.cpu), infer_cut(machine)
    _must_suit(machine, wish, kind, platform)
    if wish.nps is not None or wish.l3_as_node is not None:
        target = _nps(cut, wish)
    elif wish.interleave is not None:
        target = _interleave(seats, wish, platform)
    elif wish.snc is not None:
        target = Target(kind, "none" if wish.snc == 1 else f"SNC{wish.snc}", wish.snc)
    elif wish.cod is not None:
        target = Target(kind, "COD" if wish.cod else "none", 2 if wish.cod else 1)
    else:
        return Target(kind, cut.name)
    if cut.name == "unknown":
        raise BadValue(f"how this machine is cut now is not known: {cut.why[0]}", cure="nothing can be taken from it")
    if cut.name == target.name and (target.nodes is None or not target.l3_as_node or cut.beneath == target.nodes):
        return Target(kind, cut.name)
    return _offered(target, seats, platform)


def _must_suit(machine: Machine, wish: Assumption, kind: Scheme, platform: Platform | None) -> None:
    """Refuse a setting that this generation of processors does not have."""
    for name, (needs, words, who) in _NAMES.items():
        if getattr(wish, name) is None or kind is needs:
            continue
        if kind is Scheme.UNKNOWN or platform is None:
            shown = (machine.cpu.model_name if machine.cpu else None) or "a processor without a name"
            raise BadValue(
                f"{words} is of {who}; what {shown[:60]} offers is not known", cure="only smt and enumeration can be tried"
            )
        raise BadValue(f"{platform.name} has no {words}: that is of {who}", cure=_choice(platform.cuts))


def _nps(cut: Cut, wish: Assumption) -> Target:
    present = {"NPS0": 0, "NPS1": 1, "NPS2": 2, "NPS4": 4, "L3-as-NUMA": cut.beneath}.get(cut.name)
    nps = present if wish.nps is None else wish.nps
    l3 = cut.name == "L3-as-NUMA" if wish.l3_as_node is None else wish.l3_as_node
    if wish.nps is None and l3 == (cut.name == "L3-as-NUMA"):
        return Target(Scheme.NPS, cut.name)
    if nps is None:
        raise BadValue("the NPS under L3-as-NUMA is not known here", cure="say it too: nps=1, nps=2 or nps=4")
    if nps == 0 and l3:
        raise BadValue("how L3 as NUMA node looks over NPS0 is not known", cure="choose nps=1, nps=2 or nps=4")
    name = "L3-as-NUMA" if l3 else f"NPS{nps}"
    return Target(Scheme.NPS, name, "all" if nps == 0 else nps, l3)


def _interleave(seats: Seats, wish: Assumption, platform: Platform | None) -> Target:
    if wish.interleave == "socket":
        return Target(Scheme.DIES, "socket-interleaving", "all")
    if wish.interleave == "die":
        return Target(Scheme.DIES, "die-interleaving", 1)
    count = dies(platform, len(seats.groups(0))) if platform else None
    if not count:
        raise BadValue("the L3 groups do not tell how many dies a socket has", cure="choose interleave=die")
    return Target(Scheme.DIES, "channel-interleaving", count)


def _offered(target: Target, seats: Seats, platform: Platform | None) -> Target:
    """Return the target with any doubt that this processor offers it; raise where it does not."""
    if platform is None:
        return target
    groups, sockets, cores = len(seats.groups(0)), len(seats.sockets), len(seats.sockets[0])
    count = dies(platform, groups)
    choice = offered(platform, count, sockets, cores)
    names = [target.name] if not target.l3_as_node else ["L3-as-NUMA", f"NPS{target.nodes}"]
    doubts = []
    for name in names:
        offer = next((cut for cut in platform.cuts if cut.name == name), None)
        if offer in choice:
            continue
        if offer is None or _excluded(offer, count, sockets):
            shape = f"{platform.name} with {_dies(count)}{sockets} socket{'s' * (sockets > 1)}"
            raise BadValue(f"{name} is not offered by {shape}", cure=_choice(choice))
        doubts.append(f"whether this processor offers {name} is not known")
    return Target(target.scheme, target.name, target.nodes, target.l3_as_node, doubts[0] if doubts else None)


def _dies(count: int | None) -> str:
    return "" if count is None else f"{count} die{'s' * (count > 1)} a socket and "


def _excluded(offer: CutOffer, count: int | None, sockets: int) -> bool:
    """Return whether what the machine shows rules an offer out."""
    if offer.dies_multiple_of and count and count % offer.dies_multiple_of:
        return True
    return offer.sockets is not None and offer.sockets != sockets


def _choice(cuts: tuple[CutOffer, ...]) -> str:
    return f"it offers {', '.join(cut.name for cut in cuts)}" if cuts else "nothing is known of what it offers"
