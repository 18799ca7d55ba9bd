"""Variables that a job needs beside those of its launcher: OpenMP's threads and their places, the adapter."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.errors import BadValue
from advisor.jobs.placement import Placement, Slot, devices_differ, kinds
from advisor.machine.hardware import (
    NAMES,
    OMNI_PATH,
    SLINGSHOT,
    Hca,
    fabric_of,
    is_active,
    is_on_fabric,
    ports_of,
    shown_ports,
)
from advisor.machine.machine import Machine

_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


_CXI = re.compile(r"cxi(\d{1,4})", re.ASCII)


_HFI = re.compile(r"hfi1_(\d{1,4})", re.ASCII)
"""PSM2 opens /dev/hfi1_N for unit N (libpsm2, hfi_context_open)."""


_AMAZON = 0x1D0F


_CRAY_ONLY = "MPICH_OFI_NIC_POLICY is Cray MPICH's: for another MPI over libfabric set FI_CXI_DEVICE_NAME in each rank"


_BY_POLICY = "adapters are left to Cray MPICH's policy: this input does not tell the cxi device of each, or hosts differ"


@dataclass(frozen=True)
class Settings:
    """Variables for every rank, the plan as a launcher should carry it out, and what to know of them."""

    variables: Mapping[str, str]
    placement: Placement
    notes: tuple[str, ...] = field(default=())


def settings(placement: Placement, machines: Sequence[Machine]) -> Settings:
    """Return what a job needs on these machines: one for each host, or one for all."""
    plan, variables, notes = _fabric(placement, machines)
    variables = {**openmp(placement), **variables, **_nccl(placement, machines)}
    return Settings(variables, with_ports(plan, machines), notes)


def openmp(placement: Placement) -> dict[str, str]:
    """Return OpenMP's variables; none where a rank has one CPU, for there nothing is to be decided.

    Places are parts of what the launcher has bound the rank to: its cores, or hardware threads where these are counted.
    """
    job = placement.job
    if job.threads == 1:
        return {"OMP_NUM_THREADS": "1"} if any(len(slot.cpus) > 1 for slot in _slots(placement)) else {}
    places = "threads" if job.smt == "use" else "cores"
    return {"OMP_NUM_THREADS": str(job.threads), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}


def device(hca: str, machines: Iterable[Machine]) -> str:
    """Return what UCX calls an adapter: its name and its port that is active, ``mlx5_0:1``."""
    if not _DEVICE.fullmatch(hca):
        raise BadValue(f"{hca!a} is not an adapter's name")
    there = [(each, fabric_of(machine.hcas or ())) for machine in machines for each in machine.hcas or () if each.name == hca]
    ports = [port for each, fabric in there for port in ports_of(each, fabric if is_on_fabric(each, fabric) else None) or ()]
    return f"{hca}:{next((port.number for port in ports if is_active(port)), 1)}"


def _fabric(placement: Placement, machines: Sequence[Machine]) -> tuple[Placement, dict[str, str], tuple[str, ...]]:
    """Return the plan with its adapters where they matter, the variables that name one for all ranks, and notes."""
    hcas = sorted({slot.hca for slot in _slots(placement) if slot.hca})
    if not hcas:
        return placement, {}, ()
    if not _matters(placement):
        return without_adapters(placement), {}, ()
    layers = layers_of(hcas, machines)
    if SLINGSHOT in layers:
        return without_adapters(placement), *_slingshot(placement, hcas)
    if OMNI_PATH in layers:
        return without_adapters(placement), *_omni_path(hcas)
    why = unusable(hcas, machines)
    if why:
        return without_adapters(placement), {}, (f"UCX_NET_DEVICES is not set: {why}",)
    known = any(machine.tools is not None for machine in machines)
    notes = () if known else ("UCX is assumed: the MPI and UCX of this machine are unknown",)
    if devices_differ(without_gpus(placement)):
        return placement, {}, notes
    return placement, {"UCX_NET_DEVICES": device(hcas[0], machines)}, notes


def _nccl(placement: Placement, machines: Sequence[Machine]) -> dict[str, str]:
    """Return what keeps NCCL and RCCL to the plan's network where ranks have GPUs: by themselves they take every adapter.

    A sign of equality makes the names exact: mlx5_1 alone means mlx5_10 too (NCCL's page on environment variables). Slingshot
    is reached by libfabric, and what they say beside it goes by its interfaces.
    """
    if not any(slot.gpu for slot in _slots(placement)) or sum(1 for host in placement.hosts if host.ranks) < 2:
        return {}
    found = {tuple(_nccl_of(machine).items()) for machine in machines}
    return dict(found.pop()) if len(found) == 1 else {}


def _nccl_of(machine: Machine) -> dict[str, str]:
    hcas = machine.hcas or ()
    fabric = fabric_of(hcas)
    own = [hca for hca in hcas if is_on_fabric(hca, fabric) and is_up(hca)]
    if fabric == SLINGSHOT:
        interfaces = sorted(port.netdev for hca in own for port in ports_of(hca, fabric) or () if port.netdev)
        return {"NCCL_SOCKET_IFNAME": f"={','.join(interfaces)}"} if len(interfaces) == len(own) > 0 else {}
    if fabric == OMNI_PATH or not own or len(own) == len(hcas) or any(_is_efa(hca, [machine]) for hca in hcas):
        return {}
    return {"NCCL_IB_HCA": f"={','.join(device(hca.name, [machine]) for hca in own)}"}


def layers_of(hcas: Sequence[str], machines: Iterable[Machine]) -> set[str | None]:
    """Return the link layers of adapters' ports."""
    there = (each for machine in machines for each in machine.hcas or () if each.name in hcas)
    return {port.link_layer for each in there for port in shown_ports(each)}


def _slingshot(placement: Placement, hcas: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what sets for libfabric's cxi provider, or Cray MPICH, which adapter each rank uses.

    FI_CXI_DEVICE_NAME takes the driver's names (fi_cxi(7)); MPICH_OFI_NIC_MAPPING numbers the adapters and the node's ranks,
    and counts only with the policy USER (intro_mpi(3) of Cray MPICH).
    """
    numbers = {name: int(match[1]) for name in hcas if (match := _CXI.fullmatch(name))}
    if len(hcas) == 1:
        if numbers:
            return {"FI_CXI_DEVICE_NAME": hcas[0]}, ()
        return {}, (f"FI_CXI_DEVICE_NAME is not set: which cxi device {hcas[0]} is, this input does not tell",)
    plans = [placement.plans[plan].slots[:ranks] for plan, ranks in kinds(placement).items()]
    if len(numbers) == len(hcas) and len(plans) == 1:
        locals_of = {number: [str(i) for i, slot in enumerate(plans[0]) if slot.hca == name] for name, number in numbers.items()}
        mapping = ";".join(f"{number}:{','.join(ranks)}" for number, ranks in sorted(locals_of.items()))
        return {"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": mapping}, (_CRAY_ONLY,)
    slots = [slot for plan in plans for slot in plan]
    if all(slot.gpu for slot in slots):
        return {"MPICH_OFI_NIC_POLICY": "GPU"}, (_BY_POLICY, _CRAY_ONLY)
    if all(len(slot.nodes) == 1 for slot in slots):
        return {"MPICH_OFI_NIC_POLICY": "NUMA"}, (_BY_POLICY, _CRAY_ONLY)
    return {}, ("MPICH_OFI_NIC_POLICY is not set: a rank on several NUMA nodes cannot have the policy NUMA",)


def _omni_path(hcas: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what sets PSM2's adapter: the number of /dev/hfi1_0, the same for all ranks of a node."""
    match = _HFI.fullmatch(hcas[0])
    if len(hcas) == 1 and match:
        return {"HFI_UNIT": match[1]}, ("HFI_UNIT is PSM2's: an MPI over OPX takes FI_OPX_HFI_SELECT",)
    return {}, ("HFI_UNIT is not set: it would have to differ among ranks, and PSM2 assigns the adapters itself",)


def _matters(placement: Placement) -> bool:
    """Whether ranks use an adapter: they are on several hosts, or somebody asked to be near one."""
    near = placement.job.near is not None and any(slot.hca == placement.job.near for slot in _slots(placement))
    return near or placement.job.strategy in ("hca-near", "per-hca") or sum(1 for host in placement.hosts if host.ranks) > 1


def unusable(hcas: Sequence[str], machines: Sequence[Machine]) -> str | None:
    """Return why UCX is not given an adapter."""
    if any(machine.tools is not None and all(tool.name != "ucx" for tool in machine.tools) for machine in machines):
        return "this machine has no UCX"
    there = {hca.name: hca for machine in machines for hca in machine.hcas or ()}
    foreign = sorted(NAMES[layer] for layer in layers_of(hcas, machines) & {SLINGSHOT, OMNI_PATH} if layer)
    if foreign:
        return f"UCX does not use {foreign[0]}"
    if any(_is_efa(there[name], machines) for name in hcas if name in there):
        return "the adapter is an EFA, which MPI uses by libfabric"
    down = [name for name in hcas if name in there and not is_up(there[name])]
    if down:
        return f"no port of {', '.join(down)} is active"
    unlike = [
        name
        for name in hcas
        if len({device(name, [each]) for each in machines if (any(hca.name == name for hca in each.hcas or ()))}) > 1
    ]
    return f"{unlike[0]} is on another port on some of the hosts" if unlike else None


def is_up(hca: Hca) -> bool:
    """Return whether an adapter has an active port, or none that is known to be down."""
    return hca.ports is None or any(map(is_active, hca.ports))


def _is_efa(hca: Hca, machines: Iterable[Machine]) -> bool:
    cards = (card for machine in machines for card in machine.pci or () if card.address == hca.address)
    return hca.address is not None and any(card.vendor == _AMAZON for card in cards)


def _slots(placement: Placement) -> list[Slot]:
    return [slot for plan, ranks in kinds(placement).items() for slot in placement.plans[plan].slots[:ranks]]


def with_ports(placement: Placement, machines: Sequence[Machine]) -> Placement:
    """Return the plan with the adapters as UCX calls them, ``mlx5_0:1``: so the wrapper gives them to the ranks."""
    names = {hca: device(hca, machines) for hca in {slot.hca for plan in placement.plans for slot in plan.slots} if hca}
    return _each(placement, lambda slot: {"hca": names[slot.hca]} if slot.hca else {})


def without_adapters(placement: Placement) -> Placement:
    """Return the plan without its adapters: a launcher need not tell ranks which to use."""
    return _each(placement, lambda _: {"hca": None, "distance": None})


def without_gpus(placement: Placement) -> Placement:
    """Return the plan without its GPUs."""
    return _each(placement, lambda _: {"gpu": None})


def _each(placement: Placement, change: Callable[[Slot], Mapping[str, object]]) -> Placement:
    plans = tuple(
        plan.model_copy(update={"slots": tuple(slot.model_copy(update=change(slot)) for slot in plan.slots)})
        for plan in placement.plans
    )
    return placement.model_copy(update={"plans": plans})


def article(hca: str | None, machines: Iterable[Machine]) -> dict[str, str]:
    """Return what dell-naples-2018 sets for benchmarks between two hosts, as far as it is still there and this adapter's.

    HCOLL off, and of Mellanox adapters the accelerated reliable transport; FCA and btl_openib are gone from Open MPI.
    """
    machines = tuple(machines)
    if hca and layers_of([hca], machines) & {SLINGSHOT, OMNI_PATH}:
        return {"OMPI_MCA_coll_hcoll_enable": "0"}
    transport = {"UCX_TLS": "rc_x"} if hca and hca.startswith("mlx5_") else {}
    named = {"UCX_NET_DEVICES": device(hca, machines), **transport} if hca else {}
    return {**named, "OMPI_MCA_coll_hcoll_enable": "0"}
