"""Every test machine by name, with the right answer about it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from tests.machines import special, sysfs, tiers
from tests.machines.expected import Counts, Expected, counted, near
from tests.machines.product import choices, epyc
from tests.machines.seeds import r7425, seeds
from tests.machines.spec import Spec
from tests.machines.tree import Tree, packed, write

__all__ = ["MACHINES", "Counts", "Expected", "Spec", "tree", "write_archive", "write_root"]

Answer = tuple[Spec, Expected]
Name = Literal["linear", "round-robin", "other", "unknown"]
Over = Literal["packages", "nodes"]


def answer(
    spec: Spec, cut: str, per_socket: int | None, numbering: Name = "linear", *, sure: bool = True, why: str = ""
) -> Answer:
    """Return a machine with its answer; what can be counted is counted from the description."""
    expected = Expected(
        counts=counted(spec),
        cut=cut,
        nodes_per_socket=per_socket,
        numbering=numbering,
        smt="on" if spec.threads > 1 else "off",
        hcas=near(spec),
        inside=counted(spec, inside=True) if spec.kernel.cgroup else None,
        sure=sure,
        why=why,
    )
    return spec, expected


def dealt(made: Answer, over: Over) -> Answer:
    """Return a machine whose numbers are dealt to something in turn."""
    return made[0], replace(made[1], numbering="round-robin", over=over)


def _seeds() -> Iterator[tuple[str, Answer]]:
    for name, spec in seeds().items():
        if name.startswith("a-"):
            made = answer(spec, "channel-interleaving", 4, why="Naples has no NPS: four dies per socket")
            over: Over = "nodes" if name.endswith("nodeorder") else "packages"
            yield name, made if name.endswith("linear") else dealt(made, over)
        elif name.startswith("b-"):
            per_socket = len(spec.nodes) // 2
            yield name, answer(spec, "L3-as-NUMA" if per_socket == 16 else f"NPS{per_socket}", per_socket)
        elif name.startswith("c-"):
            cod = name.endswith("-cod")
            yield name, dealt(answer(spec, "COD" if cod else "none", 2 if cod else 1), "packages")
        else:
            snc = "snc2" in name
            yield name, answer(spec, "SNC2" if snc else "none", 2 if snc else 1)


def _product() -> Iterator[tuple[str, Answer]]:
    for choice in choices():
        made = answer(epyc(choice), "L3-as-NUMA" if choice.l3_as_numa else f"NPS{choice.nps}", choice.nodes)
        over: Over = "packages" if choice.nodes == 1 else "nodes"
        yield choice.name, dealt(made, over) if choice.round_robin else made


def _jobs() -> Iterator[tuple[str, Answer]]:
    rome, naples = epyc(special.NPS4), r7425()
    half = {pu for node in range(4) for pu in rome.node_pus[node]}
    for version in (1, 2):
        yield f"job-half-v{version}", answer(special.limited(rome, version, half, set(range(4))), "NPS4", 4)
        cut = special.limited(rome, version, {1, 2, 3, 4, 5}, {0, 1})
        yield f"job-cuts-l3-v{version}", answer(cut, "NPS4", 4, why="CPUs 1 and 4 are half an L3 group each")
    die = special.limited(naples, 2, set(naples.node_pus[6]), {6})
    yield "job-one-die-v2", dealt(answer(die, "channel-interleaving", 4), "packages")


def _special() -> Iterator[tuple[str, Answer]]:
    yield "uneven-l3", answer(special.uneven(), "NPS2", 2)
    yield "virtual", answer(special.uneven(virtual=True), "NPS2", 2, sure=False, why="the hypervisor says so, not the BIOS")
    yield "memoryless", answer(special.memoryless(), "NPS4", 4, why="every other quadrant has no DIMM")
    fake, expected = answer(special.numa_fake(), "unknown", None, why="numa=fake on the kernel's command line")
    yield "numa-fake-8u", (fake, replace(expected, old_hwloc=expected.counts._replace(numa_nodes=2)))
    yield "numa-off", answer(special.numa_off(), "unknown", None, why="numa=off on the kernel's command line")
    yield "nps0", answer(special.nps0(), "NPS0", None, why="one node over two EPYC sockets")
    why = "one node over two sockets: node interleaving, told by the missing SRAT"
    yield "interleaved", dealt(answer(special.interleaved(), "unknown", None, why=why), "packages")
    yield "offline", dealt(answer(special.offline(), "none", 1), "packages")
    yield "smt-disabled", answer(special.smt_disabled(), "NPS4", 4, why="second threads are offline")
    naples = "channel-interleaving"
    yield "dies", dealt(answer(special.dies(), naples, 4, why="the kernel shows the dies"), "packages")
    why = "an old kernel takes dies for packages; SMBIOS has two processors"
    yield "dies-as-packages", dealt(answer(special.dies_as_packages(), naples, 4, why=why), "packages")
    yield "two-hcas", answer(special.adapters(1, 6), "NPS4", 4)
    yield "hca-unplaced", answer(special.unplaced(), "NPS4", 4, why="numa_node is -1")
    yield "isolated", dealt(answer(special.isolated(), "none", 1), "packages")
    yield "big", answer(special.big(), "NPS4", 4, why="512 CPUs, for tests of speed")


def _bounded() -> Iterator[tuple[str, Answer]]:
    """Yield machines of which arithmetic proves something that nobody read."""
    yield "xeon-6972p-126gib", answer(special.few_channels(), "none", 1, why="126 GiB are no twelve DIMMs a socket")
    yield "epyc-9135", answer(special.two_dies(), "NPS1", 1, why="two dies do not fill twelve channels")
    yield "gold-6146", answer(special.gold_6146(), "none", 1)
    yield "epyc-7742-crux", answer(special.crux(), "NPS4", 4)


def _tiers() -> Iterator[tuple[str, Answer]]:
    yield "hbm-flat", answer(tiers.hbm_flat(), "SNC4", 4, why="nodes 8 to 15 are HBM")
    yield "hbm-cache", answer(tiers.hbm_cache(), "SNC4", 4, why="HBM is a memory-side cache")
    yield "cxl", answer(tiers.cxl(), "none", 1, why="node 2 is CXL memory")
    yield "nvdimm", answer(tiers.nvdimm(), "none", 1, why="nodes 2 and 3 are NVDIMMs")
    yield "knights-landing", answer(tiers.knights_landing(), "KNL-SNC4-flat", 4, why="nodes 4 to 7 are MCDRAM")


MACHINES: dict[str, Answer] = dict([*_seeds(), *_product(), *_jobs(), *_special(), *_bounded(), *_tiers()])


def tree(name: str) -> Tree:
    """Return the files of a machine, in a mapping of the caller's own."""
    return dict(_tree(name))


@cache
def _tree(name: str) -> Tree:
    return sysfs.root(MACHINES[name][0])


def write_root(name: str, directory: Path) -> Path:
    """Write the files of a machine into a folder, and return it."""
    write(tree(name), directory)
    return directory


def write_archive(name: str, path: Path) -> Path:
    """Write the files of a machine as a compressed tar file below one folder of its name, and return its path."""
    path.write_bytes(_packed(name))
    return path


@cache
def _packed(name: str) -> bytes:
    """Return that archive: many tests ask for the same one, and packing 16,000 files takes longer than most tests."""
    return packed(_tree(name), name)
