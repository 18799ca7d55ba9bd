"""Warnings about the variables that choose GPUs and adapters, and what each of them means; wrong ones are wrong silently."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from advisor.launch.lint.predict import Prediction
from advisor.launch.lint.spelling import warning
from advisor.model.placement import LintWarning

MEANINGS: Final[Mapping[str, str]] = {
    "CUDA_VISIBLE_DEVICES": "shows CUDA the GPUs {0} alone, which are then 0, 1, ...",
    "CUDA_DEVICE_ORDER": "numbers NVIDIA's GPUs by {0}",
    "ROCR_VISIBLE_DEVICES": "shows ROCm the GPUs {0} alone, which are then 0, 1, ...",
    "HIP_VISIBLE_DEVICES": "of the GPUs that ROCm shows, gives HIP {0}",
    "ZE_AFFINITY_MASK": "shows Level Zero the GPUs or tiles {0} alone",
    "ZE_FLAT_DEVICE_HIERARCHY": "numbers Intel's GPUs as {0}: COMPOSITE by cards, FLAT by tiles",
    "UCX_NET_DEVICES": "sends messages by {0}",
    "UCX_TLS": "lets UCX use {0}",
    "NCCL_IB_HCA": "lets NCCL use the adapters {0}",
    "NCCL_SOCKET_IFNAME": "lets NCCL's sockets use the interfaces {0}",
    "MPICH_OFI_NIC_POLICY": "lets Cray MPICH assign adapters by {0}",
    "MPICH_OFI_NIC_MAPPING": "gives local ranks Slingshot adapters by {0}",
    "FI_CXI_DEVICE_NAME": "lets libfabric use the Slingshot adapters {0}",
    "FI_CXI_DEFAULT_CQ_SIZE": "makes completion queues of {0} entries",
    "FI_CXI_RX_MATCH_MODE": "matches receives by {0}",
    "FI_CXI_RDZV_THRESHOLD": "sends messages above {0} bytes by rendezvous",
    "FI_CXI_OFLOW_BUF_SIZE": "makes buffers for unexpected messages of {0} bytes",
}
"""CUDA C++ programming guide and NVIDIA's MIG user guide; ROCm's page on GPU isolation; Level Zero's programming guide; UCX's
frequently asked questions; NCCL's page on environment variables; intro_mpi(3) of Cray MPICH; fi_cxi(7)."""

_CXI: Final = (
    "ODP FORCE_ODP ATS ATS_MLOCK_MODE RDZV_THRESHOLD RDZV_GET_MIN RDZV_EAGER_SIZE RDZV_PROTO DISABLE_ALT_READ_CMDQ"
    " DISABLE_NON_INJECT_MSG_IDC DISABLE_HOST_REGISTER OFLOW_BUF_SIZE OFLOW_BUF_MIN_POSTED OFLOW_BUF_COUNT OFLOW_BUF_MAX_CACHED"
    " SAFE_DEVMEM_COPY_THRESHOLD OPTIMIZED_MRS MR_MATCH_EVENTS PROV_KEY_CACHE LLRING_MODE CQ_POLICY DEFAULT_VNI"
    " RNR_MAX_TIMEOUT_US EQ_ACK_BATCH_SIZE RX_MATCH_MODE HYBRID_PREEMPTIVE HYBRID_RECV_PREEMPTIVE HYBRID_POSTED_RECV_PREEMPTIVE"
    " HYBRID_UNEXPECTED_MSG_PREEMPTIVE REQ_BUF_SIZE REQ_BUF_MIN_POSTED REQ_BUF_MAX_CACHED REQ_BUF_MAX_COUNT MSG_LOSSLESS"
    " FC_RETRY_USEC_DELAY CTRL_RX_EQ_MAX_SIZE DEFAULT_CQ_SIZE DISABLE_EQ_HUGETLB DISABLE_CQ_HUGETLB DEFAULT_TX_SIZE"
    " DEFAULT_RX_SIZE SW_RX_TX_INIT_MAX DEVICE_NAME TELEMETRY TELEMETRY_RGID CQ_FILL_PERCENT COLL_FABRIC_MGR_URL"
    " COLL_TIMEOUT_USEC COLL_USE_DMA_PUT DISABLE_HMEM_DEV_REGISTER FORCE_ZE_HMEM_SUPPORT ENABLE_TRIG_OP_LIMIT"
)
"""What follows FI_CXI_ in fi_cxi(7) (ofiwg/libfabric, man/fi_cxi.7.md, caf5652); versions add some, an odd name is no fault."""
_KNOWN: Final = frozenset(f"FI_CXI_{word}" for word in _CXI.split())
_HIP: Final = ("HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_NUMBERS = re.compile(r"\d{1,3}(?:,\d{1,3})*", re.ASCII)
_MAPPED = re.compile(r"\s*(\d{1,2})\s*:\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)\s*", re.ASCII)


def devices(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about GPUs and adapters that variables of the line choose."""
    yield from _hidden_twice(case)
    yield from _instances(case)
    yield from _tiles(case)
    yield from _ports(case)
    yield from _prefixes(case)
    yield from _policy(case)
    yield from _mapping(case)
    yield from _misspelt(case)


def _hidden_twice(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where HIP is given numbers that ROCm's list leaves none for: it counts what is left from 0."""
    shown = case.want.exports.get("ROCR_VISIBLE_DEVICES", "")
    for name in _HIP:
        asked = case.want.exports.get(name, "")
        if not shown or not _NUMBERS.fullmatch(asked):
            continue
        count = len(shown.split(","))
        beyond = [number for number in asked.split(",") if int(number) >= count]
        if beyond:
            what = f"{name} asks for GPU {beyond[0]}, and ROCR_VISIBLE_DEVICES leaves {count}, numbered from 0"
            why = "ROCm hides GPUs first, and HIP counts those that are left: both lists together hide too much."
            yield warning("gpus-hidden-twice", what, why, f"{name}={asked[:40]}", f"leave {name} out", bad=True)


def _instances(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where a process is given several MIG instances: CUDA shows it the first alone."""
    shown = case.want.exports.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if len(shown) > 1 and all(each.strip().startswith("MIG-") for each in shown):
        why = "CUDA uses one MIG instance per process, whatever the list has behind it."
        evidence = f"{len(shown)} instances for every rank"
        better = "one instance for each rank: advisor bind --strategy gpu-near"
        yield warning("one-mig-instance", "every rank uses the first MIG instance alone", why, evidence, better, bad=True)


def _tiles(case: Prediction) -> Iterator[LintWarning]:
    mask = case.want.exports.get("ZE_AFFINITY_MASK", "")
    if case.want.exports.get("ZE_FLAT_DEVICE_HIERARCHY", "").upper() == "FLAT" and "." in mask:
        why = "With FLAT every tile is a device, and a number counts tiles; CARD.TILE is of COMPOSITE."
        better = "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE, or numbers of tiles"
        yield warning("tiles-of-flat", f"ZE_AFFINITY_MASK={mask[:40]} names no tile", why, "FLAT in the line", better, bad=True)


def _ports(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where UCX is given an adapter without its port, or one that the machine lacks."""
    adapters = {hca.name for hca in case.machine.hcas or ()}
    interfaces = {port.netdev for hca in case.machine.hcas or () for port in hca.ports or ()}
    interfaces |= {nic.name for nic in case.machine.nics or ()}
    listed = [word.strip() for word in case.want.exports.get("UCX_NET_DEVICES", "").lstrip("^").split(",")]
    for word in listed:
        name, colon, _ = word.partition(":")
        if name in adapters and not colon:
            why = "UCX knows an adapter by its name and port."
            yield warning("no-port", f"UCX finds no device {word}", why, f"UCX_NET_DEVICES={word}", f"UCX_NET_DEVICES={word}:1")
        elif adapters and name and name != "all" and name not in adapters | interfaces:
            why = "UCX uses the devices of its list alone."
            evidence = f"adapters here: {', '.join(sorted(adapters))[:80]}"
            yield warning("no-such-adapter", f"UCX finds no device {word[:40]}", why, evidence)


def _prefixes(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where NCCL takes more than is named: without = a name is the beginning of names."""
    names = {
        "NCCL_IB_HCA": {hca.name for hca in case.machine.hcas or ()},
        "NCCL_SOCKET_IFNAME": {nic.name for nic in case.machine.nics or ()},
    }
    for variable, there in names.items():
        text = case.want.exports.get(variable, "")
        listed = [word.partition(":")[0] for word in text.lstrip("^").split(",")]
        if not text or text.lstrip("^").startswith("="):
            continue
        more = sorted({name for name in there for word in listed if word in there and name.startswith(word)} - {*listed})
        if more:
            sign = text[: len(text) - len(text.lstrip("^"))]
            why = "NCCL takes a name for the beginning of names; a sign of equality before the list makes it exact."
            better = f"{variable}={sign}={text.lstrip('^')}"
            what = f"{variable} means {', '.join(more)[:60]} too"
            yield warning("nccl-prefix", what, why, f"{variable}={text[:60]}", better)


def _policy(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where Cray MPICH ends: its policy NUMA wants each rank inside one NUMA node."""
    if case.want.exports.get("MPICH_OFI_NIC_POLICY", "").upper() != "NUMA" or not case.ranks:
        return
    nodes = case.topology.inside.cpu_nodes
    for rank in case.ranks[:4096]:
        held = case.topology.inside.pus if rank.cpus is None else rank.cpus
        if sum(1 for node in nodes if node.cpuset & held) > 1:
            what = f"Cray MPICH ends: rank {rank.rank} is not inside one NUMA node"
            why = "With the policy NUMA each rank has the adapter of its node, and this one is on several (Frontier user guide)."
            better = "ranks inside NUMA nodes, or MPICH_OFI_NIC_POLICY=GPU"
            yield warning("nic-policy", what, why, f"its CPUs are {held}", better, bad=True)
            return


def _mapping(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where Cray MPICH's map is not used, or leaves local ranks out."""
    exports = case.want.exports
    text, policy = exports.get("MPICH_OFI_NIC_MAPPING", "").strip("'\""), exports.get("MPICH_OFI_NIC_POLICY", "")
    if not text:
        return
    if policy.upper() != "USER":
        why = "It counts with the policy USER alone (intro_mpi of Cray MPICH)."
        better = "MPICH_OFI_NIC_POLICY=USER beside it"
        yield warning("nic-mapping", "MPICH_OFI_NIC_MAPPING has no effect", why, f"policy: {policy[:20] or 'none'}", better)
        return
    parts = [_MAPPED.fullmatch(part) for part in text.split(";") if part.strip()]
    mapped = {int(rank) for part in parts if part for rank in part[2].split(",")}
    missing = [local for local in range(len(case.here)) if local not in mapped]
    if all(parts) and missing:
        what = f"local rank {missing[0]} has no adapter in MPICH_OFI_NIC_MAPPING"
        why = "The map names an adapter for each rank of a node."
        yield warning("nic-mapping", what, why, f"{len(case.here)} ranks on a node, the map is {text[:60]}", bad=True)


def _misspelt(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where a variable of libfabric is nearly one that there is."""
    for name in case.want.exports:
        if name.startswith("FI_CXI_") and name not in _KNOWN:
            near = get_close_matches(name, _KNOWN, n=1, cutoff=0.92)
            if near:
                why = "libfabric reads variables by their names and says nothing of others."
                yield warning("misspelt-variable", f"{name[:60]} has no effect", why, "it is not in fi_cxi(7)", near[0])
