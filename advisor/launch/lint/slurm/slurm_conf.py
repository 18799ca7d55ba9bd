"""What slurm.conf says of how srun binds: task plugins, the default distribution, what tasks are bound to by themselves."""

import re
from collections.abc import Iterator, Mapping

from advisor.launch.lint.openmpi.mapper import Unclear
from advisor.launch.lint.slurm.task_affinity import Setup
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Topology

KEY = "--slurm-conf"
"""The name of slurm.conf's text among the files of a line: no file that a line names begins so."""

MOST_LINES = 65_536


def setups(files: Mapping[str, str], machine: Machine, topology: Topology) -> tuple[Setup, ...] | None:
    """Return how Slurm is set up: None where no slurm.conf was read, () where its tasks are not bound at all."""
    if KEY not in files:
        return None
    if any(re.match(r"include\s", row.strip(), re.IGNORECASE) for row in _rows(files[KEY])):
        raise Unclear("slurm.conf includes other files, which were not read")
    said, nodes = read(files[KEY])
    plugins = {word.strip() for word in said.get("taskplugin", "task/affinity").lower().split(",")}
    if not plugins & {"task/affinity", "affinity"}:
        if plugins & {"task/cgroup", "cgroup"}:
            raise Unclear("TaskPlugin has task/cgroup alone: which CPUs its cpuset holds, is not worked out here")
        return ()
    if (selects := said.get("selecttype", "").lower()) and not selects.endswith(("cons_tres", "cons_res")):
        raise Unclear(f"SelectType={selects[:40]} gives CPUs in a way that is not worked out here")
    if any(word in said.get("slurmdparameters", "").lower() for word in ("l3cache_as_socket", "numa_node_as_socket")):
        raise Unclear("SlurmdParameters makes sockets of L3 groups or NUMA nodes")
    select = {word.strip() for word in said.get("selecttypeparameters", "").lower().split(",")}
    if any(word.startswith("cr_cpu") for word in select):
        raise Unclear("SelectTypeParameters counts CPUs and not cores")
    automatic, single = _automatic(said.get("taskpluginparam", "").lower()), _single(nodes, machine, topology)
    return (Setup("cr_core_default_dist_block" in select, automatic, single),)


def _automatic(text: str) -> str | None:
    """Return what TaskPluginParam lets tasks be bound to: autobind=cores; none where it says nothing."""
    match = re.search(r"autobind=(threads|cores|sockets)", text)
    if any(word in text.split(",") for word in ("none", "cores", "sockets", "threads", "cpusets", "sched")):
        raise Unclear("TaskPluginParam binds in a way of Slurm before 20.11, which is not worked out here")
    return match[1] if match else None


def _single(nodes: list[dict[str, str]], machine: Machine, topology: Topology) -> bool:
    """Return whether the node has as many CPUs as cores; raise Unclear where slurm.conf describes another node."""
    mine = [node for node in nodes if machine.name and machine.name.partition(".")[0] in names_of(node["nodename"])]
    shapes = {tuple(node.get(key) for key in ("cpus", "threadspercore", "sockets", "corespersocket")) for node in mine or nodes}
    if not shapes:
        return False
    if len(shapes) > 1:
        raise Unclear("slurm.conf has nodes of several shapes, and none of this machine's name")
    cpus, threads, sockets, cores = (
        int(word) if word and re.fullmatch(r"\d{1,7}", word, re.ASCII) else None for word in shapes.pop()
    )
    inside = len(topology.cores) or len(topology.pus)
    if (sockets and sockets != len(topology.packages)) or (sockets and cores and sockets * cores != inside):
        raise Unclear("slurm.conf describes this node with other sockets or cores than it has")
    if threads and threads * inside != len(topology.pus):
        raise Unclear("slurm.conf describes this node with other threads than it has")
    return cpus == inside


def names_of(text: str) -> set[str]:
    """Return the names of a list such as ``node[01-04],login``, as far as they are few."""
    found: set[str] = set()
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\][^,\[\]]*)?", text)[:1024]:
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            found.add(part)
            continue
        for span in match[2].split(","):
            first, _, last = span.partition("-")
            both = all(re.fullmatch(r"\d{1,8}", word, re.ASCII) for word in (first, last or first))
            if both and int(last or first) - int(first) < MOST_LINES and len(found) < MOST_LINES:
                numbers = range(int(first), int(last or first) + 1)
                found |= {f"{match[1]}{number:0{len(first)}d}{match[3]}" for number in numbers}
    return found


def read(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return the settings of a slurm.conf and its nodes, names in small letters; NodeName=DEFAULT holds for all after it."""
    said: dict[str, str] = {}
    nodes: list[dict[str, str]] = []
    default: dict[str, str] = {}
    for row in _rows(text):
        pairs = {key.lower(): value for key, value in re.findall(r"([A-Za-z]+)=(\"[^\"]*\"|\S+)", row)}
        if "nodename" in pairs:
            boards = (pairs.get("socketsperboard", ""), pairs.get("boards", "1"))
            if all(re.fullmatch(r"\d{1,4}", word, re.ASCII) for word in boards):
                pairs["sockets"] = str(int(boards[0]) * int(boards[1]))
            if pairs["nodename"].upper() == "DEFAULT":
                default = pairs
            else:
                nodes.append({**default, **pairs})
        elif "include" not in row.lower()[:8]:
            said |= pairs
    return said, nodes


def _rows(text: str) -> Iterator[str]:
    """Yield the lines without comments, those that end with a backslash joined to the next."""
    whole = ""
    for line in text.splitlines()[:MOST_LINES]:
        row = line.partition("#")[0].rstrip()
        whole += row.removesuffix("\\")
        if row.endswith("\\"):
            whole += " "
            continue
        yield whole
        whole = ""
    yield whole
