"""What an anonymised capture keeps of counters, limits and partitions: words and numbers of the kernel."""

import re
from typing import TYPE_CHECKING

from advisor.host.secrets import GONE

if TYPE_CHECKING:
    from advisor.host.kept import Keeper, Mask

_COUNTS = re.compile(r"(?m)^[A-Za-z][A-Za-z_ -]{0,40} \d{1,20}$")


def _counts(mask: "Mask", text: str) -> str:
    """Keep what the kernel counts under names of its own: errors of PCIe by their kind."""
    del mask
    return "".join(f"{line}\n" for line in _COUNTS.findall(text))


def _open_or_not(mask: "Mask", text: str) -> str:
    """Keep whether NVIDIA's kernel module is the open one, not who built it where."""
    del mask
    kind = "Open Kernel Module" if "Open Kernel Module" in text else "Kernel Module"
    return f"NVRM version: NVIDIA UNIX {kind}\n" if "NVRM" in text else ""


def _fitting(pattern: str) -> "Keeper":
    """Return what keeps a word that the kernel chooses from a few."""
    fits = re.compile(rf"\s*(?:{pattern})\s*", re.ASCII)

    def keep(mask: "Mask", text: str) -> str:
        del mask
        return text if fits.fullmatch(text) else f"{GONE}\n"

    return keep


_NUMBER = _fitting(r"\d{1,20}")
CHECKED: tuple[tuple[str, "Keeper"], ...] = (
    (r"/proc/driver/nvidia/version", _open_or_not),
    (r"/sys/.*/aer_dev_\w+", _counts),
    (r"/sys/.*/(?:hw_)?counters/\w+|/sys/.*_count|/sys/.*/dax\d+\.\d+/(?:size|target_node)", _NUMBER),
    (r"/sys/.*/powercap/.*/constraint_\d_\w+_uw", _NUMBER),
    (r"/sys/.*/powercap/.*/(?:name|constraint_\d_name)", _fitting(r"(?:package|die)-\d+|long_term|short_term|dram|core|psys")),
    (r"/sys/.*/current_(?:compute|memory)_partition", _fitting(r"[A-Z]{3}\d?")),
)
"""Patterns of paths and what stays of the files."""
