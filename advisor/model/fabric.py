"""Which network a plan uses: of several link layers one, for messages cannot leave by one and arrive by another."""

from collections.abc import Sequence
from typing import Final

from advisor.model.devices import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT, Hca, Port

NAMES: Final = {
    INFINIBAND: "InfiniBand",
    ETHERNET: "Ethernet",
    OMNI_PATH: "Omni-Path",
    SLINGSHOT: "Slingshot",
}
"""Link layers as people write them."""
_MADE_FOR_MESSAGES: Final = (INFINIBAND, SLINGSHOT, OMNI_PATH)


def is_active(port: Port) -> bool:
    """Return whether a port is active, or not known to be anything else."""
    return port.state in (None, "active")


def fabric_of(hcas: Sequence[Hca]) -> str | None:
    """Return the link layer of the network that messages go over; None where no port's is known.

    A network made for messages goes before Ethernet, which such nodes have for storage and services. Its ports count where
    they are down too, or a plan made while a cable is out would name the wrong network for good; not those of a card whose
    other port is active as Ethernet: they were never cabled.
    """
    ports = [(hca, port) for hca in hcas for port in shown_ports(hca) if port.link_layer]
    services = {_slot(hca) for hca, port in ports if port.link_layer == ETHERNET and port.state == "active"}
    meant = [(h, p) for h, p in ports if p.link_layer != ETHERNET and (is_active(p) or _slot(h) not in services)]
    counted = {layer: [p for _, p in meant if p.link_layer == layer] for layer in _MADE_FOR_MESSAGES}
    best = max(counted, key=lambda layer: (sum(map(is_active, counted[layer])), len(counted[layer])))
    if counted[best]:
        return best
    return ETHERNET if any(port.link_layer == ETHERNET for _, port in ports) else None


def shown_ports(hca: Hca) -> tuple[Port, ...]:
    """Return the ports of an adapter; where none is shown, one of which the link layer alone is known, if that is."""
    if hca.ports is not None:
        return hca.ports
    return (Port(number=1, link_layer=hca.layer),) if hca.layer else ()


def ports_of(hca: Hca, fabric: str | None) -> tuple[Port, ...] | None:
    """Return the ports of an adapter that are of a fabric; None where nothing is known of its ports."""
    if hca.ports is None:
        return None
    return tuple(port for port in hca.ports if fabric is None or port.link_layer == fabric)


def is_of(hca: Hca, fabric: str | None) -> bool:
    """Return whether an adapter is of a fabric: where none is known of any, all are."""
    return fabric is None or any(port.link_layer == fabric for port in shown_ports(hca))


def other_layers(hca: Hca, fabric: str | None) -> tuple[str, ...]:
    """Return the link layers of an adapter that is none of the fabric's, () where they are not known."""
    return () if is_of(hca, fabric) else tuple(sorted({port.link_layer for port in shown_ports(hca) if port.link_layer}))


def _slot(hca: Hca) -> str:
    """Return the card of an adapter: the functions of a card, or the adapter's own name where it has no address."""
    return hca.address.rpartition(".")[0] if hca.address else hca.name
