"""A description of a machine -> its /sys and /proc, laid out as real kernels lay them out."""

from tests.machines import acpi, memory, pci, proc, smbios
from tests.machines.spec import Cache, Core, Spec
from tests.machines.tree import Link, Tree, listing, mask, texts

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def root(spec: Spec) -> Tree:
    """Return all files of a machine."""
    firmware = spec.firmware or spec
    rooms = (cpus(spec), nodes(spec), memory.files(spec), pci.files(spec), proc.files(spec))
    return {path: data for part in (*rooms, smbios.files(firmware), acpi.files(firmware)) for path, data in part.items()}


def cpus(spec: Spec) -> Tree:
    """Return /sys/devices/system/cpu."""
    online, present = listing(spec.core_of), listing(spec.present)
    tree = texts(CPU, {"online": online, "present": present, "possible": present, "kernel_max": 8191})
    tree |= texts(CPU, {"offline": listing(spec.kernel.offline), "isolated": listing(spec.kernel.isolated)})
    tree |= texts(f"{CPU}/smt", {"active": int(spec.threads > 1), "control": smt_control(spec)})
    for pu in spec.present:
        if pu:
            tree |= texts(f"{CPU}/cpu{pu}", {"online": int(pu in spec.core_of)})
    for pu, core in spec.core_of.items():
        tree |= _topology(spec, pu, core) | _caches(spec, pu, core) | _clock(spec, pu)
        tree[f"{CPU}/cpu{pu}/node{core.node}"] = Link(f"{NODE}/node{core.node}")
    return tree


def smt_control(spec: Spec) -> str:
    """Return what the kernel says of SMT: one thread a core from the firmware looks like a CPU without it."""
    return spec.kernel.smt_control or ("on" if spec.threads > 1 else "notsupported")


def _sets(spec: Spec, names: tuple[str, ...], pus: list[int] | tuple[int, ...]) -> dict[str, object]:
    values: dict[str, object] = dict.fromkeys(names, mask(pus, spec.possible))
    return values | dict.fromkeys((f"{name}_list" for name in names), listing(pus))


def _topology(spec: Spec, pu: int, core: Core) -> Tree:
    values: dict[str, object] = {"physical_package_id": core.package, "core_id": core.core_id, "die_id": core.die}
    values |= _sets(spec, ("thread_siblings", "core_cpus"), core.pus)
    values |= _sets(spec, ("core_siblings", "package_cpus"), spec.package_pus[core.package])
    values |= _sets(spec, ("die_cpus",), spec.die_pus[core.package, core.die])
    return texts(f"{CPU}/cpu{pu}/topology", values)


def _caches(spec: Spec, pu: int, core: Core) -> Tree:
    chip, own = spec.processor, list(core.pus)
    kinds = ((1, "Data", chip.l1d), (1, "Instruction", chip.l1i), (2, "Unified", chip.l2))
    levels = [(level, kind, cache, own, own[0]) for level, kind, cache in kinds]
    if core.l3 is not None:
        group = core.package, core.l3
        levels.append((3, "Unified", chip.l3, spec.l3_pus[group], spec.l3_ids[group]))
    tree: Tree = {}
    for index, (level, kind, cache, shared, number) in enumerate(levels):
        values = _cache(cache) | {"level": level, "type": kind, "id": number}
        values |= {"shared_cpu_map": mask(shared, spec.possible), "shared_cpu_list": listing(shared)}
        tree |= texts(f"{CPU}/cpu{pu}/cache/index{index}", values)
    return tree


def _cache(cache: Cache) -> dict[str, object]:
    return {
        "size": f"{cache.kib}K",
        "ways_of_associativity": cache.ways,
        "coherency_line_size": 64,
        "physical_line_partition": 1,
        "number_of_sets": cache.kib * 1024 // 64 // cache.ways,
    }


def _clock(spec: Spec, pu: int) -> Tree:
    low, nominal, high = spec.khz
    values = {
        "cpuinfo_min_freq": low,
        "cpuinfo_max_freq": high,
        "scaling_min_freq": low,
        "scaling_max_freq": high,
        "scaling_cur_freq": nominal,
        "scaling_driver": spec.processor.driver,
        "scaling_governor": "performance",
    }
    return texts(f"{CPU}/cpu{pu}/cpufreq", values)


def nodes(spec: Spec) -> Tree:
    """Return /sys/devices/system/node."""
    every = listing(node.number for node in spec.nodes)
    filled = listing(node.number for node in spec.nodes if node.kib)
    values = {"online": every, "possible": every, "has_cpu": listing(n.number for n in spec.nodes if spec.cpus(n))}
    tree = texts(NODE, values | {"has_memory": filled, "has_normal_memory": filled})
    for node, row in zip(spec.nodes, spec.slit, strict=True):
        folder, own = f"{NODE}/node{node.number}", spec.cpus(node)
        sets = {"cpumap": mask(own, spec.possible), "cpulist": listing(own)}
        tree |= texts(folder, sets | {"distance": " ".join(map(str, row))})
        tree |= {f"{folder}/cpu{pu}": Link(f"{CPU}/cpu{pu}") for pu in own}
        tree |= memory.of_node(folder, node)
    return tree
