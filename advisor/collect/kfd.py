"""AMD's GPUs as the compute driver shows them to programs: in the runtime's order, a card in partitions as several."""

import re
from collections import defaultdict
from typing import Final

from advisor.collect.pci_path import partition
from advisor.collect.reader import Reader
from advisor.model.hardware.devices import Gpu

NODES: Final = "/sys/class/kfd/kfd/topology/nodes"
PATHS: Final = (f"{NODES}/*/properties",)

_PROPERTY = re.compile(r"^(simd_count|location_id|domain) (\d{1,10})$", re.MULTILINE | re.ASCII)


def kfd_gpus(reader: Reader) -> tuple[Gpu, ...]:
    """Return the GPUs with their numbers; () where the driver is not loaded.

    A node with SIMD units is a GPU. Its location is bus, device and function, with the number of the partition in the four
    highest bits, or, in some kernels, in place of the function (Linux: drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
    """
    cards: dict[str, list[tuple[int, int]]] = defaultdict(list)
    numbers = sorted(int(name) for name in reader.host.list(NODES) if name.isdecimal() and len(name) < 6)
    index = 0
    for number in numbers:
        facts = {key: int(value) for key, value in _PROPERTY.findall(reader.text(f"{NODES}/{number}/properties") or "")}
        if facts.get("simd_count"):
            cards[_card(facts)].append((_part(facts), index))
            index += 1
    return tuple(gpu for card, parts in cards.items() for gpu in _gpus(card, parts))


def _gpus(card: str, parts: list[tuple[int, int]]) -> tuple[Gpu, ...]:
    if len(parts) == 1:
        return (Gpu(address=card, vendor="amd", index=parts[0][1]),)
    return tuple(Gpu(address=partition(card, part), card=card, vendor="amd", index=index) for part, index in parts)


def _card(facts: dict[str, int]) -> str:
    location = facts.get("location_id", 0)
    return f"{facts.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.0"


def _part(facts: dict[str, int]) -> int:
    location = facts.get("location_id", 0)
    return location >> 28 & 0xF or location & 0x7
