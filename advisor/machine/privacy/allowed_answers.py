"""What an anonymised capture keeps of each command's answer, of an hwloc XML and of each variable; nothing else."""

import json
import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, tostring

from advisor.machine.hosts.base import Ran
from advisor.machine.privacy.allowed_files import Keeper, Mask, text_of, whole
from advisor.machine.privacy.pseudonyms import REMOVED, stems

_SAYS_VERSION = re.compile(
    r"(?i)version|mpi|prrte|slurm|flux|pbs|fabric|lstopo|hwloc|hydra|ucx|pals|mvapich|^[\w .-]{0,30}\d+\.\d+[\w.]*$"
)
_SAYS_MORE = re.compile(r"[/@\\'\"]|--|\bCC\b|CXX|FLAGS|(?i:error|cannot|could not|unable|fail|refused|denied|connect|by:)")
_LINES = 40


def _versions(mask: Mask, text: str) -> str:
    """Keep the lines that say a version in words of the trade; not those of paths, options and addresses."""
    lines = (line.rstrip() for line in text.splitlines()[:_LINES] if len(line) < 300)
    kept = [line for line in lines if _SAYS_VERSION.search(line) and not _SAYS_MORE.search(line)]
    if "mvapich" in text.lower() and not any("mvapich" in line.lower() for line in kept):
        kept.append("mvapich")
    return "".join(f"{mask.known(mask.text(line))}\n" for line in kept)


def _one_word(mask: Mask, text: str) -> str:
    return f"{mask.known(text.strip())}\n" if re.fullmatch(r"\s*[\w-]{1,40}\s*", text) else ""


_NODE = re.compile(
    r"(NodeName|NodeHostName|Arch|CoresPerSocket|CPUAlloc|CPUEfctv|CPUTot|CPUs|Boards|SocketsPerBoard|Sockets|ThreadsPerCore"
    r"|RealMemory|CoreSpecCount|CPUSpecList|MemSpecLimit|Gres|GresUsed|State|Version)=(\S*)"
)


def _slurm_node(mask: Mask, text: str) -> str:
    """Keep this node's line, of it what says how the node is partitioned."""
    kept = []
    for line in text.splitlines():
        words = _NODE.findall(line)
        if any(key in ("NodeName", "NodeHostName") and mask.own(value) for key, value in words):
            shown = (
                f"{key}={'node' if key in ('NodeName', 'NodeHostName') else mask.known(mask.text(value))}" for key, value in words
            )
            kept.append(" ".join(shown) + "\n")
    return "".join(kept)


def _keys(mask: Mask, text: str) -> str:
    """Keep the lines ``key=value`` in words of the trade, and that a file was closed."""
    kept = re.findall(r"(?m)^([A-Za-z]{1,40}=)([\w/,.:|\[\]-]{0,200})$", text)
    closed = "Permission denied\n" if "ermission denied" in text else ""
    return (
        "".join(f"{key}{_SETTING.sub(lambda m: _setting(mask, m[0]), value)}\n" for key, value in kept if key != "MainPID=")
        + closed
    )


_SETTING = re.compile(r"\w+")
_SLURM_WORDS = (
    "read yes no off on task affinity cgroup none proctrack linuxproc pgid select linear cons_tres cons_res nvml nvidia rsmi"
    " oneapi slurmdoffspec cores sockets threads autobind verbose all memlock stack nofile infinity loaded"
)
_SETTINGS = frozenset(_SLURM_WORDS.split())


def _setting(mask: Mask, word: str) -> str:
    """Keep a word that Slurm or systemd knows, and what is known anyway."""
    return word if word.lower() in _SETTINGS else mask.known(word)


_OPTION = re.compile(
    r"(?m)^((?:PCI )?[Dd]evice:\s+(?:[0-9a-fA-F:.]{4,16}|/dev/mst/mt\d{4,6}_[\w.]{1,30}))$"
    r"|^([\s*]*[A-Z][A-Z0-9_]{2,60}\s+)(\S.*)$"
)


def _options(mask: Mask, text: str) -> str:
    """Keep the options of adapters' firmware below the addresses of the adapters."""
    return "".join(f"{device or option + mask.known(value)}\n" for device, option, value in _OPTION.findall(text))


def _links(mask: Mask, text: str) -> str:
    """Keep the numbers of GPUs and of their MIG instances, and the rates of their links, not their names."""
    kept = re.findall(r"(?m)^(GPU \d{1,3}:|[ \t]+MIG [\w.+ ]{3,30} Device +\d{1,2}:)|^(\s*Link \d{1,2}: )(\S.{0,40})$", text)
    return "".join(f"{gpu or link + mask.known(rate)}\n" for gpu, link, rate in kept)


_COLUMN = re.compile(
    r"index|count|name|driver_version|gpu_bus_id|remapped_rows[\w.]*|retired_pages[\w.]*|pstate"
    r"|(?:pci|pcie|memory|clocks|power|ecc|mig|temperature|utilization|compute|persistence)[\w.]*"
)


def _columns(mask: Mask, argv: tuple[str, ...], out: str) -> str:
    """Keep the columns of nvidia-smi's answer that name no card."""
    query = next((word.partition("=")[2] for word in argv if word.startswith("--query-")), "")
    fields = [field.strip() for field in query.split(",")]
    kept = []
    for line in out.splitlines():
        cells = line.split(", ")
        if len(cells) == len(fields):
            told = (_cell(mask, field, cell) for field, cell in zip(fields, cells, strict=True))
            kept.append(", ".join(told) + "\n")
    return "".join(kept)


def _cell(mask: Mask, field: str, cell: str) -> str:
    """Keep a cell of a column that names no card; the bits that say why clocks are slow as they are."""
    if not _COLUMN.fullmatch(field) or len(cell) >= 80:
        return REMOVED
    return cell if re.fullmatch(r"0x[0-9a-fA-F]{16}", cell) else mask.known(mask.text(cell, addresses=False))


_CARD = re.compile(
    r"(?i)card (?:series|model|vendor|sku)|pci bus|vram .*memory.*|gfx version"
    r"|device (?:name|id|rev)|subsystem id|.*partition.*|node id"
)


def _cards(mask: Mask, out: str) -> str:
    """Keep what rocm-smi says of cards but their identity."""
    try:
        told = json.loads(out)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict):
        return ""
    cards = {
        name: {key: mask.known(mask.text(str(value))) for key, value in facts.items() if _CARD.fullmatch(key)}
        for name, facts in told.items()
        if isinstance(facts, dict) and re.fullmatch(r"(?:card|gpu)\d+|system", name, re.IGNORECASE)
    }
    return json.dumps(cards)


_PROGRAMS: dict[str, Keeper] = {
    **dict.fromkeys(("uname", "systemctl", "systemd-detect-virt"), _one_word),
    **dict.fromkeys(("mpichversion", "mpiname"), _versions),
    **dict.fromkeys(("mlxconfig", "mstconfig"), _options),
    "sed": _keys,
    "slurmd": _slurm_node,
    "scontrol": _slurm_node,
}
_VERSION_ASKED = frozenset({"--version", "-v", "-V", "version"})


def command_keeper(argv: tuple[str, ...]) -> Keeper | None:
    """Return what is kept of what a command prints, None where nothing is said of it."""
    if _VERSION_ASKED.intersection(argv[1:2]) and len(argv) == 2:
        return _versions
    if argv[0] == "nvidia-smi" and any(word.startswith("--query-") for word in argv):
        return lambda mask, text: _columns(mask, argv, text)
    if argv[0] == "nvidia-smi" and argv[1:2] in (("nvlink",), ("-L",)):
        return _links
    if argv[:2] == ("systemctl", "show"):
        return _keys
    if argv[0] == "rocm-smi":
        return _cards
    return _PROGRAMS.get(argv[0])


def kept_answer(mask: Mask, argv: tuple[str, ...], ran: Ran) -> Ran:
    """Return what of a command's two outputs stays."""
    keeper = command_keeper(argv)
    if keeper is None:
        return ran._replace(out=b"", err=b"")
    out, err = (whole(keeper(mask, text_of(text))) for text in (ran.out, ran.err))
    return ran._replace(out=out, err=err)


def kept_variables(mask: Mask, variables: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield what of the variables stays: node lists by their shape, numbers of jobs as 1, words of the trade."""
    for name, value in variables:
        if re.search(r"NODELIST|NODENAME|LSB_(?:MCPU_)?HOSTS", name):
            yield name, stems(re.sub(r"\.[A-Za-z][\w.-]*", "", value))
        elif re.search(r"JOB_?ID$|APID$", name):
            yield name, "1"
        elif re.search(r"MASK|BIND", name) and re.fullmatch(r"[\w:,]{0,40}?:?[0-9A-Fa-fx,:-]{1,4096}", value):
            yield name, re.sub(r"(?<![0-9a-fx])[a-z_]*[g-wyz_][a-z_]*", lambda match: mask.known(match[0]), value)
        elif not re.search(
            r"PARTITION|RESERVATION|ACCOUNT|USER|NAME|QOS|_[UG]ID$|HOST|DIR$|HOME|QUEUE|NODEFILE|NODEID$|ADDR$", name
        ):
            yield mask.known(name), mask.known(mask.text(value))


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
    return mask.text(value) if len(value) <= 200 else REMOVED
