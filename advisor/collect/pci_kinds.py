"""What a PCI function is to us, from its class and its ids alone."""

from typing import Final

from advisor.model.hardware.devices import ETHERNET, INFINIBAND, OMNI_PATH, SLINGSHOT

# Class codes: PCI Code and ID Assignment Specification 1.15, section 1.
_NETWORK, _ETHERNET, _INFINIBAND_NETWORK, _FABRIC, _INFINIBAND_BUS = 0x02, 0x0200, 0x0207, 0x0208, 0x0C06
_DISPLAY, _NVME, _BRIDGE, _ACCELERATOR, _COPROCESSOR = 0x03, (0x010802, 0x010800), 0x06, 0x12, 0x0B40
"""Of NVMe the second is what hwloc leaves of the first: its files have no programming interface."""

# Makers: the PCI ID Repository (pci-ids.ucw.cz).
NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086
_CRAY, _CORNELIS = 0x17DB, 0x434E
COHERENT: Final = (0x2342, 0x2348, 0x2941, 0x2E12)
"""NVIDIA's GPUs that share memory with a Grace: GH200 120GB and 480GB, GH200 144G HBM3e, GB200, GB10 (pci.ids)."""
GPU_MAKERS: Final = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel"}

_CONSOLES: Final = {
    0x102B: "Matrox",
    0x1A03: "ASPEED",
    0x18CA: "XGI",
    0x126F: "Silicon Motion",
    0x19E5: "HiSilicon",
    0x1013: "Cirrus",
    0x1234: "Bochs",
    0x1414: "Hyper-V",
    0x15AD: "VMware",
    0x1AF4: "virtio",
    0x1B36: "QXL",
}
"""Makers of the frame buffers of management controllers and of virtual machines: displays that compute nothing."""
_OLD_CONSOLES: Final = ((AMD, 0x515E), (AMD, 0x5969), (AMD, 0x4752))
"""ATI ES1000 and Rage XL: the same, from a maker of GPUs (pci.ids)."""


def kind_of(class_code: int, vendor: int, device: int, *, fabric: bool) -> str:
    """Return hca, nic, gpu, nvme, accelerator, bridge or other; ``fabric`` where an RDMA driver serves it."""
    base, sub = class_code >> 16, class_code >> 8
    if fabric or layer_of(class_code, vendor) not in (None, ETHERNET) or sub == _FABRIC:
        return "hca"
    if base == _DISPLAY:
        return "other" if vendor in _CONSOLES or (vendor, device) in _OLD_CONSOLES else "gpu"
    if base == _ACCELERATOR:
        # AMD Instinct MI300 and later call themselves processing accelerators.
        return "gpu" if vendor in (NVIDIA, AMD) else "accelerator"
    if class_code in _NVME:
        return "nvme"
    if sub == _COPROCESSOR:
        return "accelerator"
    return {_NETWORK: "nic", _BRIDGE: "bridge"}.get(base, "other")


def layer_of(class_code: int, vendor: int) -> str | None:
    """Return the link layer that a network card's class and maker tell, None of anything else.

    A Slingshot adapter (17db:0501) calls itself an Ethernet controller; Omni-Path (8086:24f0, 434e:0001) has the class of
    fabrics.
    """
    base, sub = class_code >> 16, class_code >> 8
    if base == _NETWORK and vendor == _CRAY:
        return SLINGSHOT
    if sub == _FABRIC:
        return OMNI_PATH if vendor in (INTEL, _CORNELIS) else None
    return {_INFINIBAND_NETWORK: INFINIBAND, _INFINIBAND_BUS: INFINIBAND, _ETHERNET: ETHERNET}.get(sub)
