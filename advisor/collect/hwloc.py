"""The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats)."""

from advisor.collect.arm_parts import arm_name
from advisor.collect.hwloc_devices import devices
from advisor.collect.hwloc_objects import Document, Element, Infos, children_infos, parse_document
from advisor.collect.hwloc_parts import core_kinds, modules
from advisor.collect.hwloc_topology import memory_tiers, topology
from advisor.collect.reader import CAPTURE_HELP, Reader, strange
from advisor.errors import BadInput
from advisor.host.base import Host, Ran, Why
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.firmware import Firmware
from advisor.model.hardware.machine import Machine, Source
from advisor.model.hardware.operating_system import Kernel, Limits
from advisor.model.quantity import iso_date, number
from advisor.model.value import is_name

# --disallowed shows the part of the machine that a cgroup hides; hwloc 2.0 does not know the option.
LSTOPO = ("lstopo-no-graphics", "--disallowed", "--of", "xml", "-")
LSTOPO_PLAIN = ("lstopo-no-graphics", "--of", "xml", "-")

PATHS: tuple[str, ...] = ()
COMMANDS = (LSTOPO, LSTOPO_PLAIN)
RANK = 10


def collect(host: Host) -> Machine:
    """Return what lstopo says of the host, or the gap it leaves."""
    reader = Reader(host)
    answer = host.run(LSTOPO)
    if not answer.text:
        answer = host.run(LSTOPO_PLAIN) if answer.why is None else answer
    if not answer.text:
        _note_absence(reader, answer)
        return Machine(gaps=reader.gaps)
    lone = host.kind == "hwloc xml"
    return machine_from_xml(answer.out, host.name if lone else "lstopo", "hwloc XML" if lone else "lstopo", alone=lone)


def machine_from_xml(data: bytes, file: str, where: str = "hwloc XML", *, alone: bool = True) -> Machine:
    """Return the Machine that an hwloc XML describes: ``file`` is named in errors, ``where`` is the source of every fact.

    What firmware's own tables say better, the memory modules, is told only where the file is ``alone``.
    """
    document = parse_document(data, file)
    try:
        root = document.root
        infos = {**children_infos(document.top), **children_infos(root)}
        shown = topology(document)
        found = devices(document, shown.nodes)
        host = infos.get("HostName", "")
        facts = Machine(
            name=host if is_name(host) else None,
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
            gaps=(*strange("devices", found.strange), *(strange("host", [host]) if host not in ("", "(none)") else ())),
        )
    except BadInput as error:
        raise error.within(file) from error
    return facts.model_copy(update={"sources": _sources(facts, where)})


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
    facts = {field: infos[info].strip() or None for field, info in words.items() if info in infos}
    if not facts:
        return None
    return Firmware(**facts, bios_date=iso_date(infos.get("DMIBIOSDate")))


def _sources(facts: Machine, where: str) -> tuple[Source, ...]:
    plain = ("schema_version", "sources", "gaps")
    return tuple(
        Source(fact=name, where=where) for name in Machine.model_fields if name not in plain and getattr(facts, name) is not None
    )
