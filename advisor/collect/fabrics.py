"""What several sources tell together of the networks that programs send messages by: Slingshot's adapters, link layers."""

import re
from collections.abc import Mapping
from typing import Final

from advisor.collect.pci_kinds import layer_of
from advisor.model.hardware.devices import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT, Hca, Nic, PciDevice, Port
from advisor.model.hardware.machine import Machine

_DEVICE: Final = re.compile(r"cxi\d{1,4}", re.ASCII)
"""What the driver calls a Slingshot adapter, and libfabric after it."""
_INTERFACE: Final = re.compile(r"hs[ni]\d{1,4}", re.ASCII)
"""Its Ethernet interface: hsn0 at most sites, hsi0 at Livermore."""
_OMNI_PATH: Final = re.compile(r"hfi1_\d{1,4}", re.ASCII)
_AZURE: Final = {"mlx5_an": ETHERNET, "mlx5_ib": INFINIBAND}
"""Accelerated Networking, which is Ethernet, beside the InfiniBand adapters of an Azure node."""

_LAST_UNICAST: Final = 0xBFFF
"""InfiniBand Architecture Specification 1.4, volume 1, section 4.1.3: higher LIDs are multicast, 0xFFFF is permissive."""
_NONE_YET: Final = 0xFFFF


def with_fabrics(machine: Machine) -> Machine:
    """Return the machine with Slingshot's adapters among its HCAs, and the link layer of every port as far as told."""
    cards = {device.address: device for device in machine.pci or ()}
    nics = machine.nics and tuple(nic for nic in machine.nics if not _DEVICE.fullmatch(nic.name))
    found = _slingshot(machine, cards)
    places = {hca.address for hca in found} - {None}
    if machine.hcas is None and not found:
        return machine
    others = [hca for hca in machine.hcas or () if hca.address not in places and hca.name not in {hca.name for hca in found}]
    hcas = tuple(_layered(hca, cards.get(hca.address or "")) for hca in (*others, *found))
    return machine.model_copy(update={"hcas": hcas, "nics": nics})


def _slingshot(machine: Machine, cards: Mapping[str, PciDevice]) -> tuple[Hca, ...]:
    """Return an adapter for each card, by the name that libfabric knows it by where a source tells that."""
    nics = [nic for nic in machine.nics or () if _is_slingshot(nic, cards)]
    drivers = {hca.address: hca.name for hca in machine.hcas or () if _DEVICE.fullmatch(hca.name)}
    drivers |= {nic.address: nic.name for nic in nics if _DEVICE.fullmatch(nic.name)}
    interfaces = {nic.address: nic for nic in nics if not _DEVICE.fullmatch(nic.name)}
    places = {hca.address: hca.locality for hca in machine.hcas or () if hca.address in drivers}
    places |= {nic.address: nic.locality for nic in nics}
    found = []
    for address in sorted({*drivers, *interfaces}, key=lambda each: each or ""):
        nic, card = interfaces.get(address), cards.get(address or "")
        found.append(
            Hca(
                name=drivers.get(address) or (nic.name if nic else ""),
                address=address,
                locality=places.get(address) or (card.locality if card else None),
                kind="Slingshot",
                ports=(_port(nic),),
            )
        )
    return tuple(found)


def _is_slingshot(nic: Nic, cards: Mapping[str, PciDevice]) -> bool:
    card = cards.get(nic.address or "")
    if card is not None:
        return layer_of(card.class_code, card.vendor) == SLINGSHOT
    return bool(_DEVICE.fullmatch(nic.name) or _INTERFACE.fullmatch(nic.name))


def _port(nic: Nic | None) -> Port:
    if nic is None:
        return Port(number=1, link_layer=SLINGSHOT)
    states = {"up": "active", "down": "down"}
    return Port(number=1, state=states.get(nic.state or ""), rate=nic.speed, link_layer=SLINGSHOT, netdev=nic.name)


def _layered(hca: Hca, card: PciDevice | None) -> Hca:
    if hca.ports is None:
        return hca.model_copy(update={"layer": _layer(hca, Port(number=1), card)})
    ports = tuple(port.model_copy(update={"link_layer": _layer(hca, port, card)}) for port in hca.ports)
    return hca.model_copy(update={"ports": ports})


def _layer(hca: Hca, port: Port, card: PciDevice | None) -> str | None:
    """Return the link layer of a port: as the driver says, else as its LID, its card's class or its name tell.

    Omni-Path's driver says InfiniBand of a fabric that no InfiniBand card can be part of.
    """
    made = layer_of(card.class_code, card.vendor) if card else None
    if made in (OMNI_PATH, SLINGSHOT) or _OMNI_PATH.fullmatch(hca.name):
        return made or OMNI_PATH
    if port.link_layer:
        return port.link_layer
    if port.lid is not None and 0 < port.lid <= _LAST_UNICAST:
        return INFINIBAND
    named = next((layer for prefix, layer in _AZURE.items() if hca.name.startswith(prefix)), None)
    if made == INFINIBAND or port.lid == _NONE_YET:
        return INFINIBAND
    return named or (made if port.lid in (None, 0) else None)
