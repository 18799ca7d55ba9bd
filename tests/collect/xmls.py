"""hwloc XML written by hand, for shapes that no installed lstopo would write."""

from collections.abc import Sequence


def mask(cpus: Sequence[int]) -> str:
    """Return hwloc's bitmap of some numbers."""
    bits = sum(1 << cpu for cpu in cpus)
    words: list[str] = []
    while bits or not words:
        words.append(f"0x{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def thing(kind: str, index: int | None, cpus: Sequence[int], inner: str = "", nodes: Sequence[int] = (0,), **more: str) -> str:
    """Return one object of the XML with what it holds."""
    number = "" if index is None else f' os_index="{index}"'
    sets = f' cpuset="{mask(cpus)}" complete_cpuset="{mask(cpus)}" nodeset="{mask(nodes)}" complete_nodeset="{mask(nodes)}"'
    extra = "".join(f' {key}="{value}"' for key, value in more.items())
    return f'<object type="{kind}"{number}{sets}{extra}>{inner}</object>'


def core(index: int, cpus: Sequence[int], nodes: Sequence[int] = (0,)) -> str:
    """Return a core with its PUs."""
    return thing("Core", index, cpus, "".join(thing("PU", cpu, [cpu], nodes=nodes) for cpu in cpus), nodes)


def cores(cpus: Sequence[int], nodes: Sequence[int] = (0,)) -> str:
    """Return a core for each CPU."""
    return "".join(core(cpu, [cpu], nodes) for cpu in cpus)


def node(index: int, cpus: Sequence[int], memory: int | None = 1 << 30, **more: str) -> str:
    """Return a NUMA node."""
    size = {} if memory is None else {"local_memory": str(memory)}
    return thing("NUMANode", index, cpus, nodes=[index], **size, **more)


def info(name: str, value: str) -> str:
    """Return a name and value pair."""
    return f'<info name="{name}" value="{value}"/>'


def document(
    inner: str, cpus: Sequence[int], nodes: Sequence[int] = (0,), *, version: str = "2.0", tail: str = "", **more: str
) -> bytes:
    """Return a whole XML around the machine's content."""
    sets = {"allowed_cpuset": mask(cpus), "allowed_nodeset": mask(nodes), **more}
    machine = thing("Machine", 0, cpus, inner, nodes, **sets)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return f'{head}<topology version="{version}">{machine}{tail}</topology>'.encode()


def adapter(address: str, kind: str, name: str, osdev: str, inner: str = "") -> str:
    """Return a host bridge with one PCI device and the OS device on it."""
    os = f'<object type="OSDev" gp_index="91" name="{name}" osdev_type="{osdev}">{inner}</object>'
    pci = f'<object type="PCIDev" gp_index="90" pci_busid="{address}" pci_type="{kind}" pci_link_speed="15.75">{os}</object>'
    return f'<object type="Bridge" gp_index="89" bridge_type="0-1" depth="0" bridge_pci="0000:[00-ff]">{pci}</object>'


CONNECTX = "0207 [15b3:1017] [15b3:0008] 00"
