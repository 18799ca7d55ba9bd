"""GPUs of a node's line and of gres.conf against the node."""

import re
from collections.abc import Iterator

from advisor.errors import BadValue
from advisor.exports.slurm_conf.node import Compared, Fix, Found
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Gpu
from advisor.machine.slurm_conf import ConfLine
from advisor.machine.slurm_definition import local_cpus, near


def gpus_differ(node: Compared) -> Iterator[Found]:
    """Yield what differs of the GPUs; nothing where those of the node are not known."""
    gpus = node.machine.gpus
    if gpus is None:
        return
    said = counted(node.line.said.get("gres", ""))
    total = sum(said.values())
    if total > len(gpus) and _may_be_parts(node, gpus):
        return
    count = next(_counts(node, gpus, total), None) or next(_usable(node, gpus, said), None)
    if count is not None:
        yield count
    yield from _cores(node, gpus)
    if total and gpus and len(node.topology.cpu_nodes) > 1:
        yield from _not_placed(node)


def counted(gres: str) -> dict[str, int]:
    """Return how many GPUs of each type a value of Gres names.

    >>> counted("gpu:a100:2,gpu:v100:1,bandwidth:lustre:no_consume:4G"), counted("gpu"), counted("gpu:4")
    ({'a100': 2, 'v100': 1}, {'': 1}, {'': 4})
    """
    found: dict[str, int] = {}
    for entry in gres.lower().split(","):
        name, *rest = [word for word in entry.strip().split(":") if word != "no_consume"]
        if name != "gpu":
            continue
        count = int(rest[-1]) if rest and rest[-1].isascii() and rest[-1].isdecimal() and len(rest[-1]) < 6 else 1
        kind = next((word for word in rest if not word.isdecimal()), "")
        found[kind] = found.get(kind, 0) + count
    return found


def _counts(node: Compared, gpus: tuple[Gpu, ...], said: int) -> Iterator[Found]:
    have, value = len(gpus), node.wanted.gres or f"gpu:{len(gpus)}"
    jobs_want = sum(gpu.vendor != "intel" for gpu in gpus)  # Intel's may be the processor's own, for a screen
    if said > have:
        yield node.differs(
            "slurm-gpus-too-many",
            "high",
            f"Gres has {said} GPUs, the node has {have}",
            f"slurmctld drains the node: gres/gpu count reported lower than configured ({have} < {said})",
            Fix(gres=value) if have else "the line without Gres=gpu",
        )
    elif said < jobs_want:
        yield node.differs(
            "slurm-gpus-too-few",
            "medium",
            f"Gres has {said} GPUs, the node has {have}",
            f"{jobs_want - said} of {have} GPUs get no job{_before(node, have)}",
            Fix(gres=value),
        )
    elif said and "gpu" not in node.conf.words("grestypes"):
        yield node.differs(
            "slurm-gres-types",
            "high",
            "GresTypes does not name gpu",
            "slurmctld ignores Gres of the node (Invalid GRES configured): no job gets a GPU",
            f"GresTypes={','.join(sorted({*node.conf.words('grestypes'), 'gpu'}))}",
        )


def _may_be_parts(node: Compared, gpus: tuple[Gpu, ...]) -> bool:
    """Return whether Gres may count parts of NVIDIA's cards (MIG), of which nothing is said here."""
    named = re.search(r"\d+g\.\d+gb", node.line.said.get("gres", "").lower())
    several = autodetects(node) or any("multiplefiles" in line.said for line in gpu_lines(node))
    parted = any(gpu.instances for gpu in gpus)
    return any(gpu.vendor == "nvidia" for gpu in gpus) and bool(parted or named or several)


def _before(node: Compared, have: int) -> str:
    """Return what Gres= alone would do where gres.conf does not give slurmd so many GPUs."""
    if autodetects(node) or sum(len(files_of(line)) for line in gpu_lines(node)) >= have:
        return "" if "gpu" in node.conf.words("grestypes") else "; GresTypes=gpu is wanted too"
    return "; write gres.conf first (AutoDetect, or advisor export slurm on the node), or the node is drained"


def _usable(node: Compared, gpus: tuple[Gpu, ...], said: dict[str, int]) -> Iterator[Found]:
    """Yield a gres.conf that gives slurmd fewer GPUs than the line has: seen on slurmctld to drain the node."""
    lines = gpu_lines(node)
    if not said or not gpus or autodetects(node):
        return
    files = dict.fromkeys(said, 0)
    for line in lines:
        kind = line.said.get("type", "").lower()
        if kind in files or "" in files:
            files[kind if kind in files else ""] += len(files_of(line))
    short = next((kind for kind, count in said.items() if files[kind] < count), None)
    if short is not None:
        word = f"gpu:{short}" if short else "gpu"
        why = "no gres.conf" if node.conf.gres is None else f"gres.conf has {files[short]} with File="
        yield Found(
            "slurm-gres-without-file",
            "high",
            lines[0].place if lines else node.line.place,
            f"Gres has {said[short]} {word}, {why}, and no AutoDetect",
            f"slurmctld drains the node: gres/gpu count reported lower than configured ({files[short]} < {said[short]})",
            _gres_lines(node),
        )


def _cores(node: Compared, gpus: tuple[Gpu, ...]) -> Iterator[Found]:
    """Yield Cores= that are not there, or far from the GPU, which a line's files name."""
    by_file = {gpu.file: gpu for gpu in gpus if gpu.file}
    for line in gpu_lines(node):
        said = _cores_of(line)
        if said is None or not node.wanted.found.even:
            continue
        if said and (said.last or 0) >= node.cores:
            yield Found(
                "slurm-gres-cores-not-there",
                "medium",
                line.place,
                f"Cores={said}, the last core is {node.cores - 1}: Slurm's numbers count cores, not hardware threads",
                "Slurm refuses them (Invalid GRES data), and a job gets any cores with its GPU",
                _gres_lines(node),
            )
            continue
        mine = [by_file[file] for file in files_of(line) if file in by_file]
        yield from _far(node, line, said, mine)


def _far(node: Compared, line: ConfLine, said: CpuSet, gpus: list[Gpu]) -> Iterator[Found]:
    for gpu in gpus:
        wanted, cpus = near(gpu, node.wanted.found, node.topology), local_cpus(gpu, node.topology)
        if wanted is None or cpus is None:
            continue
        kernels = said <= cpus and not said <= wanted
        if said & wanted and not kernels:
            continue
        why = "; these are the kernel's CPU numbers, Slurm wants its own" if kernels else ""
        yield Found(
            "slurm-gres-cores-far",
            "medium",
            line.place,
            f"Cores={said} for {gpu.file}, which is near {wanted}{why}",
            "a job gets cores of another NUMA node with its GPU, and copies cross between sockets or dies",
            _gres_lines(node),
        )
        return


def _not_placed(node: Compared) -> Iterator[Found]:
    lines = gpu_lines(node)
    wanted = [cores for gpu in node.machine.gpus or () if (cores := near(gpu, node.wanted.found, node.topology))]
    if lines and wanted and not autodetects(node) and not any("cores" in line.said or "cpus" in line.said for line in lines):
        yield Found(
            "scheduler-gpus-not-placed",
            "low",
            lines[0].place,
            "gres.conf has neither AutoDetect nor Cores",
            "a job that asks for a GPU gets cores on any NUMA node",
            _gres_lines(node),
        )


def gpu_lines(node: Compared) -> list[ConfLine]:
    """Return the lines of gres.conf for the node's GPUs; those for it alone go before those for all."""
    lines = [line for line in node.gres if line.said.get("name", "").lower() == "gpu"]
    return [line for line in lines if line.nodes is not None] or lines


def autodetects(node: Compared) -> bool:
    """Return whether Slurm finds the node's GPUs by a vendor's library."""
    own = [line.said["autodetect"].lower() for line in node.gres if line.nodes is not None and "autodetect" in line.said]
    every = [line.said["autodetect"].lower() for line in node.gres if line.nodes is None and "autodetect" in line.said]
    return any(word != "off" for word in own or every)


def files_of(line: ConfLine) -> list[str]:
    """Return the device files of a line.

    >>> files_of(ConfLine("", None, {"file": "/dev/nvidia[0-1,3],/dev/x"}))
    ['/dev/nvidia0', '/dev/nvidia1', '/dev/nvidia3', '/dev/x']
    """
    text = line.said.get("file") or line.said.get("multiplefiles") or ""
    found: list[str] = []
    for stem, inside in re.findall(r"([^,\[]+)(?:\[([0-9,-]*)\])?", text)[:1024]:
        try:
            found += [f"{stem}{number}" for number in CpuSet.parse(inside)] if inside else [stem]
        except BadValue:
            found.append(f"{stem}[{inside}]")
    return found[:1024]


def _cores_of(line: ConfLine) -> CpuSet | None:
    text = line.said.get("cores") or line.said.get("cpus")
    try:
        return CpuSet.parse(text) if text else None
    except BadValue:
        return None


def _gres_lines(node: Compared) -> str:
    if node.wanted.gpus:
        return "\n".join(each.line(node.line.nodes or node.name) for each in node.wanted.gpus)
    return "in gres.conf: advisor export slurm on the node writes its lines; or AutoDetect=nvml (rsmi, oneapi), with the library"
