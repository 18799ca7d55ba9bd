"""What of an hwloc XML an anonymised capture keeps: attributes and infos that describe a machine."""

import re
from xml.etree.ElementTree import Element, tostring

from advisor.host.kept import Mask
from advisor.host.secrets import GONE

_ATTRIBUTES = frozenset(
    (
        *(
            "version",
            "type",
            "os_index",
            "logical_index",
            "gp_index",
            "id",
            "index",
            "depth",
            "kind",
            "subtype",
            "subkind",
            "name",
        ),
        *("cpuset", "complete_cpuset", "online_cpuset", "allowed_cpuset", "nodeset", "complete_nodeset", "allowed_nodeset"),
        *("local_memory", "size", "count", "cache_size", "cache_linesize", "cache_associativity", "cache_type", "dont_merge"),
        *("bridge_type", "bridge_pci", "pci_busid", "pci_type", "pci_link_speed", "osdev_type", "nbobjs", "length", "indexing"),
        *(
            "relative_depth",
            "latency_base",
            "value",
            "target_obj_gp_index",
            "initiator_cpuset",
            "initiator_obj_gp_index",
            "flags",
        ),
        *(
            "initiator_obj_type",
            "target_obj_type",
            "forced_efficiency",
            "efficiency",
            "unit_width",
            "levels",
            "memory_kb",
            "huge_page",
        ),
    )
)
_INFOS = re.compile(
    r"Architecture|Backend|hwlocVersion|OSName|OSRelease|OSVersion|HostName|LinuxCgroup|MemoryMode|ClusterMode|MemoryTier"
    r"|CPU(?:Vendor|FamilyNumber|ModelNumber|Model|Stepping|Type|Revision|Implementer|Part|Variant|Architecture)"
    r"|DMI(?:Sys|Board|BIOS|Chassis)(?:Vendor|Version|Date|Name|Type)|DMIProduct(?:Name|Version)"
    r"|PCI(?:Vendor|Device|Slot)|GPU(?:Vendor|Model)|Port\d+(?:State|LID|LMC)|Port|Inclusive|Coherent|CoreType|FrequencyMaxMHz"
    r"|FrequencyBaseMHz|DAX(?:Device|Type|Parent)|Type|Vendor|PartNumber|FormFactor|DeviceLocation|BankLocation|Rank|Size"
    r"|(?:CUDA|NVIDIA|AMD|OpenCL|LevelZero)(?:Memory|ComputeUnits|MPs|CoresPerMP|GlobalMemorySize|L2CacheSize|SharedMemorySizePerMP|DeviceType)"
    r"|Synthetic|NVLinkBandwidth|XGMI\w{0,20}|LinuxDeviceID|AddressingMode"
)
_ADDRESSES = re.compile(r"Port\d+GID\d+|NodeGUID|SysImageGUID|Address")
_NUMBERS = re.compile(r"[\w\s.,:+-]*")
_NAMED_BY_SITES = ("2", "3", "16", "32", "48")
"""Networks and InfiniBand as hwloc 2 and 3 number them (HWLOC_OBJ_OSDEV_NETWORK, _OPENFABRICS; in 3 a bit mask)."""
_ELEMENTS = frozenset(
    (
        *("topology", "object", "info", "page_type", "distances2", "distances2hetero", "indexes", "u64values", "memattr"),
        *("memattr_value", "cpukind", "distances", "latency"),
    )
)


def kept_xml(root: Element, mask: Mask) -> bytes:
    """Return a topology's elements, attributes and infos as far as they are known to name nobody."""
    _keep(root, mask)
    version = root.get("version", "").partition(".")[0]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc%s.dtd">\n' % (
        "2" if version == "2" else version
    )
    body: bytes = tostring(root, encoding="utf-8")
    return head.encode() + body + b"\n"


def _keep(element: Element, mask: Mask) -> None:
    for child in tuple(element):
        if child.tag not in _ELEMENTS or (child.tag == "info" and not _may_stay(child.get("name", ""))):
            element.remove(child)
            continue
        _keep(child, mask)
    element.text = (
        element.text if element.text and element.tag in ("indexes", "u64values") and _NUMBERS.fullmatch(element.text) else None
    )
    element.tail = "\n"
    if element.tag == "info":
        element.attrib = {"name": element.get("name", ""), "value": _info(element, mask)}
    else:
        kept = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES}
        element.attrib = {key: _attribute(element, mask, key, value) for key, value in kept.items()}


def _attribute(element: Element, mask: Mask, key: str, value: str) -> str:
    if key == "name" and element.get("osdev_type") in _NAMED_BY_SITES:
        return mask.device(value)
    return mask.known(mask.text(value)) if key in ("name", "subtype") else mask.text(value)


def _may_stay(name: str) -> bool:
    return bool(_INFOS.fullmatch(name) or _ADDRESSES.fullmatch(name))


def _info(element: Element, mask: Mask) -> str:
    name, value = element.get("name", ""), element.get("value", "")
    if name == "HostName":
        return "node"
    if name == "LinuxCgroup":
        return mask.cgroup(value)
    if name in ("OSRelease", "OSVersion", "OSName", "Backend"):
        return mask.known(mask.text(value))
    if name.startswith("DMI"):
        return mask.product(value)
    return mask.text(value) if len(value) <= 200 else GONE
