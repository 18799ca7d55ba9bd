"""What an anonymised capture keeps of counters, limits, partitions and profiles: words that the kernel or a maker chose."""

import re
from typing import TYPE_CHECKING

from advisor.host.secrets import GONE

if TYPE_CHECKING:
    from advisor.host.kept import Keeper, Mask

_COUNTS = re.compile(r"(?m)^[A-Za-z][A-Za-z_ -]{0,40} \d{1,20}$")


def counts(mask: "Mask", text: str) -> str:
    """Keep what the kernel counts under names of its own: errors of PCIe by their kind."""
    del mask
    return "".join(f"{line}\n" for line in _COUNTS.findall(text))


def open_or_not(mask: "Mask", text: str) -> str:
    """Keep whether NVIDIA's kernel module is the open one, not who built it where."""
    del mask
    kind = "Open Kernel Module" if "Open Kernel Module" in text else "Kernel Module"
    return f"NVRM version: NVIDIA UNIX {kind}\n" if "NVRM" in text else ""


_SECTION = re.compile(r"(?m)^\s*(\[[a-z_]{1,40}\]|(?:include|force_latency)\s*=[^\n]*)$")


def profile(mask: "Mask", text: str) -> str:
    """Keep of a profile of tuned which others it includes and what latency it holds."""
    return "".join(f"{mask.known(line)}\n" for line in _SECTION.findall(text))


def fitting(pattern: str) -> "Keeper":
    """Return what keeps a word that the kernel chooses from a few."""
    fits = re.compile(rf"\s*(?:{pattern})\s*", re.ASCII)

    def keep(mask: "Mask", text: str) -> str:
        del mask
        return text if fits.fullmatch(text) else f"{GONE}\n"

    return keep
