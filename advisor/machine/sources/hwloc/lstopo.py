"""The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from advisor.errors import BadInput
from advisor.machine.cpu import CoreKind, Cpu
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Hca
from advisor.machine.firmware import Firmware
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine, Source
from advisor.machine.memory import Dimm, Memory
from advisor.machine.operating_system import Kernel, Limits
from advisor.machine.sources.cpu import arm_name
from advisor.machine.sources.firmware.dimm_slots import Board, placed
from advisor.machine.sources.firmware.smbios import clean
from advisor.machine.sources.hwloc.devices import devices
from advisor.machine.sources.hwloc.objects import Document, Element, Infos, children_infos, cpuset, os_index, parse_document
from advisor.machine.sources.hwloc.topology import memory_tiers, topology
from advisor.machine.sources.reader import CAPTURE_HELP, FactSource, Reader, answer_view, invalid_names, part
from advisor.machine.sources.views import MARK, own_words, shared_text
from advisor.machine.value import is_name, iso_date, number

_CORE_TYPES: Final = {"IntelCore": "P-core", "IntelAtom": "E-core"}
_APART: Final = 1.25
"""Kinds are one where no figure of theirs differs by more: some cores of a kind clock a little higher than the others."""
MOST_MODULES: Final = 1024

_Figures = tuple[str, tuple[int, ...]]
"""What a kind is called, and the figures that tell it from others."""


def core_kinds(document: Document) -> tuple[CoreKind, ...] | None:
    """Return the kinds of cores, the fastest first; None where the file does not tell several apart."""
    named: dict[str, CpuSet] = defaultdict(CpuSet)
    sized: list[tuple[_Figures, CpuSet]] = []
    for element in document.top.findall("cpukind"):
        infos, cpus = children_infos(element), cpuset(element, "cpuset") or CpuSet()
        name, figures = _CORE_TYPES.get(infos.get("CoreType", "")), _figures(infos)
        if name:
            named[name] |= cpus
        elif figures:
            sized.append((figures, cpus))
    kinds = [CoreKind(name=name, cpus=named[name]) for name in _CORE_TYPES.values() if name in named] or _by_figures(sized)
    return tuple(kinds) if len(kinds) > 1 else None


def _figures(infos: Infos) -> _Figures | None:
    """Return the kernel's capacity of a kind, or its clocks: highest and nominal."""
    capacity = number(infos.get("LinuxCapacity"))
    if capacity and capacity > 0:
        return f"core of capacity {capacity}", (capacity,)
    most, base = number(infos.get("FrequencyMaxMHz")), number(infos.get("FrequencyBaseMHz"))
    if not most or not base or min(most, base) <= 0:
        return None
    return f"core of up to {most / 1000:.1f} GHz", (most, base)


def _by_figures(sized: list[tuple[_Figures, CpuSet]]) -> list[CoreKind]:
    groups: list[tuple[_Figures, CpuSet]] = []
    for figures, cpus in sorted(sized, key=lambda each: each[0][1], reverse=True):
        if groups and _alike(groups[-1][0][1], figures[1]):
            groups[-1] = groups[-1][0], groups[-1][1] | cpus
        else:
            groups.append((figures, cpus))
    return [CoreKind(name=figures[0], cpus=cpus) for figures, cpus in groups]


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether kinds are one: of several figures all must differ, a server's cores differ in one by a setting."""
    return len(one) != len(other) or any(a <= _APART * b for a, b in zip(one, other, strict=True))


def modules(document: Document) -> Memory | None:
    """Return the memory modules that the file lists: those present, by name, without speeds; None where it lists none."""
    found = [element for element in document.of_type("Misc") if element.get("subtype") == "MemoryModule"][:MOST_MODULES]
    dimms = []
    for element in found:
        infos = {name: clean(value) for name, value in children_infos(element).items()}
        locator = infos.get("DeviceLocation")
        if locator:
            maker, part = infos.get("Vendor"), infos.get("PartNumber")
            dimms.append(Dimm(locator=locator, bank=infos.get("BankLocation"), size=None, maker=maker, part=part))
    return Memory(dimms=placed(dimms, Board())) if dimms else None


# --disallowed shows the part of the machine that a cgroup hides; hwloc 2.0 does not know the option.
LSTOPO = ("lstopo-no-graphics", "--disallowed", "--of", "xml", "-")
LSTOPO_PLAIN = ("lstopo-no-graphics", "--of", "xml", "-")

PATHS: tuple[str, ...] = ()
COMMANDS = (LSTOPO, LSTOPO_PLAIN)


def collect(host: Host) -> Machine:
    """Return what lstopo says of the host, or the gap it leaves."""
    reader = Reader(host)
    answer, shared = host.run(LSTOPO), _of_all
    if not answer.text and answer.why is None:
        answer, shared = host.run(LSTOPO_PLAIN), _of_allowed
    if not answer.text:
        _note_absence(reader, answer)
        return Machine(gaps=reader.gaps)
    if host.kind == "hwloc xml":
        return machine_from_xml(answer.out, host.name)
    try:
        return _named(part(host, shared), own_words(answer.out), "lstopo")
    except BadInput:  # its place has to be that in the file
        return machine_from_xml(answer.out, "lstopo", "lstopo", alone=False)


def machine_from_xml(data: bytes, file: str, where: str = "hwloc XML", *, alone: bool = True) -> Machine:
    """Return the Machine that an hwloc XML describes: ``file`` is named in errors, ``where`` is the source of every fact.

    What firmware's own tables say better, the memory modules, is told only where the file is ``alone``.
    """
    return _named(_shape(data, file, alone=alone), (), where)


@dataclass(frozen=True)
class Shape:
    """What equal nodes share of an XML, and where their own words belong."""

    facts: Machine
    host: str
    lids: Mapping[tuple[str, int], str]
    memories: Mapping[int, str]


def _of_all(host: Host) -> Shape:
    """Return what lstopo says of a host and of its like."""
    return _shape(answer_view(host, LSTOPO, shared_text), "lstopo", alone=False)


def _of_allowed(host: Host) -> Shape:
    """Return the same of an lstopo that does not show what a cgroup hides."""
    return _shape(answer_view(host, LSTOPO_PLAIN, shared_text), "lstopo", alone=False)


def _shape(data: bytes, file: str, *, alone: bool) -> Shape:
    """Return what an XML says but for the name of the host."""
    document = parse_document(data, file)
    try:
        root = document.root
        infos = {**children_infos(document.top), **children_infos(root)}
        shown = topology(document)
        found = devices(document, shown.nodes)
        facts = Machine(
            architecture=infos.get("Architecture"),
            topology=shown,
            tiers=memory_tiers(document),
            cpu=_cpu(document),
            memory=modules(document) if alone else None,
            firmware=_firmware(infos),
            kernel=Kernel(release=infos.get("OSRelease"), version=infos.get("OSVersion")) if "OSRelease" in infos else None,
            limits=Limits(cgroup=infos.get("LinuxCgroup")) if "LinuxCgroup" in infos else None,
            pci=found.pci,
            hcas=found.hcas,
            nics=found.nics,
            gpus=found.gpus,
            gaps=invalid_names("devices", found.strange),
        )
        named = {element.get("name", ""): children_infos(element) for element in document.of_type("OSDev")}
        memories = {os_index(element): element.get("own", "") for element in document.of_type("NUMANode")}
    except BadInput as error:
        raise error.within(file) from error
    lids = {
        (hca.name, port.number): named.get(hca.name, {}).get(f"Port{port.number}LID", "")
        for hca in found.hcas or ()
        for port in hca.ports or ()
    }
    return Shape(facts, infos.get("HostName", ""), lids, memories)


def _named(shape: Shape, words: tuple[str, ...], where: str) -> Machine:
    """Return the machine with a node's own words in their places."""
    own = {f"{MARK}{at}": word for at, word in enumerate(words)}
    host = own.get(shape.host, shape.host)
    facts = shape.facts.model_copy(
        update={
            "name": host if is_name(host) else None,
            "gaps": (*shape.facts.gaps, *(invalid_names("host", [host]) if host not in ("", "(none)") else ())),
        }
    )
    if own and facts.topology is not None:
        memories = {node: int(own[mark]) for node, mark in shape.memories.items() if mark in own}
        nodes = tuple(
            node.model_copy(update={"memory": memories.get(node.os_index, node.memory)}) for node in facts.topology.nodes
        )
        facts = facts.model_copy(
            update={
                "topology": facts.topology.model_copy(update={"nodes": nodes}),
                "hcas": facts.hcas and tuple(_with_lids(hca, shape.lids, own) for hca in facts.hcas),
            }
        )
    return facts.model_copy(update={"sources": _sources(facts, where)})


def _with_lids(hca: Hca, lids: Mapping[tuple[str, int], str], own: Mapping[str, str]) -> Hca:
    ports = hca.ports and tuple(
        port if (lid := own.get(lids.get((hca.name, port.number), ""))) is None else port.model_copy(update={"lid": number(lid)})
        for port in hca.ports
    )
    return hca.model_copy(update={"ports": ports})


def _note_absence(reader: Reader, answer: Ran) -> None:
    if answer.why is Why.NOT_KEPT:
        reader.lacks("hwloc", "no lstopo output in this input", CAPTURE_HELP)
    elif answer.why is Why.ABSENT:
        reader.lacks("hwloc", "lstopo is not installed; the topology is read from /sys alone", "install hwloc")
    else:
        reason = answer.why or f"status {answer.status}"
        reader.lacks("hwloc", f"lstopo did not answer ({reason}); the topology is read from /sys alone", "run lstopo by hand")


def _cpu(document: Document) -> Cpu | None:
    """Return the processor's identity and, where cores differ, their kinds."""
    found, kinds = _processor((*document.objects, document.top)), core_kinds(document)
    if not kinds:
        return found
    # hwloc gives the part of the first core alone: it is no name of a processor that has others.
    arm = found is not None and (found.vendor or "").startswith("0x")
    return (found or Cpu()).model_copy(update={"kinds": kinds, **({"model_name": None, "model": None} if arm else {})})


def _processor(objects: tuple[Element, ...]) -> Cpu | None:
    """Return the processor's identity from the first that carries it: a package, the machine, in 3.x the topology."""
    for element in objects:
        if element.get("type", "Machine") not in ("Package", "Machine"):
            continue
        infos = children_infos(element)
        if "CPUModel" in infos or "CPUVendor" in infos or "CPUImplementer" in infos:
            return _identity(infos)
    return None


def _identity(infos: Infos) -> Cpu:
    arm = arm_name(number(infos.get("CPUImplementer")), number(infos.get("CPUPart")))
    return Cpu(
        vendor=infos.get("CPUVendor") or infos.get("CPUImplementer"),
        model_name=" ".join(infos["CPUModel"].split()) if "CPUModel" in infos else arm,
        family=number(infos.get("CPUFamilyNumber")),
        model=number(infos.get("CPUModelNumber") or infos.get("CPUPart")),
        stepping=number(infos.get("CPUStepping")),
    )


def _firmware(infos: Infos) -> Firmware | None:
    words = {
        "system_vendor": "DMISysVendor",
        "product": "DMIProductName",
        "product_version": "DMIProductVersion",
        "board_vendor": "DMIBoardVendor",
        "board": "DMIBoardName",
        "bios_vendor": "DMIBIOSVendor",
        "bios_version": "DMIBIOSVersion",
        "cluster_mode": "ClusterMode",
        "memory_mode": "MemoryMode",
    }
    facts = {field: clean(infos[info]) for field, info in words.items() if info in infos}
    if not facts:
        return None
    return Firmware(**facts, bios_date=iso_date(infos.get("DMIBIOSDate")))


def _sources(facts: Machine, where: str) -> tuple[Source, ...]:
    plain = ("schema_version", "sources", "gaps")
    return tuple(
        Source(fact=name, where=where) for name in Machine.model_fields if name not in plain and getattr(facts, name) is not None
    )


SOURCES = (
    FactSource(
        "hwloc",
        10,
        "The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats).",
        PATHS,
        COMMANDS,
        collect,
    ),
)
