"""Places a job and gives the launcher's line: options become a JobShape, a Placement, a Launch; explains a line that is there."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.bind_page import BoundJob, bind_document
from advisor.jobs.launcher import Choice, Launch, LaunchRequest, choose
from advisor.jobs.launchers import wrapper
from advisor.jobs.memory_binding import binds_memory, with_numactl
from advisor.jobs.place import place, room_beside_gpus
from advisor.jobs.place_cores import WAYS, ranked_kinds, sentence
from advisor.jobs.placement import Placement, Slot, devices_differ, kinds
from advisor.jobs.racing.result import with_learned
from advisor.jobs.started.hosts import (
    HostOptions,
    JobHosts,
    JobOptions,
    LauncherOptions,
    host_notes,
    hosts_of_job,
    machines_of,
    shape,
)
from advisor.machine.cpuset import union
from advisor.machine.hardware import NAMES, OMNI_PATH, SLINGSHOT, Hca, fabric_of, is_active, is_on_fabric, ports_of, shown_ports
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import WITHHELD, screened_words
from advisor.measure.measurement import MeasuredForPlacement, measured_for_placement
from advisor.measure.task import measurements_from

_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


_CXI = re.compile(r"cxi(\d{1,4})", re.ASCII)


_HFI = re.compile(r"hfi1_(\d{1,4})", re.ASCII)
"""PSM2 opens /dev/hfi1_N for unit N (libpsm2, hfi_context_open)."""


_AMAZON = 0x1D0F


_CRAY_ONLY = "MPICH_OFI_NIC_POLICY works only with Cray MPICH: for another MPI over libfabric set FI_CXI_DEVICE_NAME per rank"


_BY_POLICY = "adapters are left to Cray MPICH's policy: this input does not show their cxi devices, or hosts differ"


@dataclass(frozen=True)
class Settings:
    """Variables for every rank, the plan as a launcher should carry it out, and what to know of them."""

    variables: Mapping[str, str]
    placement: Placement
    notes: tuple[str, ...] = field(default=())
    each: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variables that differ among the ranks of a host: the value of each local rank; none where the line cannot say them."""
    gpus: int = 0
    """How many GPUs a host has where ranks choose among them."""


def settings(placement: Placement, machines: Sequence[Machine]) -> Settings:
    """Return what a job needs on these machines: one for each host, or one for all."""
    plan, variables, notes = _fabric(placement, machines)
    variables = {**openmp(placement), **variables, **_nccl(placement, machines)}
    plan = with_ports(plan, machines)
    return Settings(variables, plan, notes, *each_rank.chosen(plan, machines))


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
        raise BadValue(f"{hca!a} is not an adapter name")
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
        return {}, (f"FI_CXI_DEVICE_NAME is not set: this input does not show which cxi device {hcas[0]} is",)
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
    return {}, ("MPICH_OFI_NIC_POLICY is not set: the NUMA policy does not allow a rank to span several NUMA nodes",)


def _omni_path(hcas: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what sets PSM2's adapter: the number of /dev/hfi1_0, the same for all ranks of a node."""
    match = _HFI.fullmatch(hcas[0])
    if len(hcas) == 1 and match:
        return {"HFI_UNIT": match[1]}, ("HFI_UNIT works only with PSM2: an MPI over OPX needs FI_OPX_HFI_SELECT",)
    return {}, ("HFI_UNIT is not set: it would have to differ among ranks, and PSM2 assigns the adapters itself",)


def _matters(placement: Placement) -> bool:
    """Whether ranks use an adapter: they are on several hosts, or somebody asked to be near one."""
    near = placement.job.near is not None and any(slot.hca == placement.job.near for slot in _slots(placement))
    return near or placement.job.strategy in ("hca-near", "per-hca") or sum(1 for host in placement.hosts if host.ranks) > 1


def unusable(hcas: Sequence[str], machines: Sequence[Machine]) -> str | None:
    """Return why UCX is not given an adapter."""
    if any(machine.tools is not None and all(tool.name != "ucx" for tool in machine.tools) for machine in machines):
        return "UCX is not installed on this machine"
    there = {hca.name: hca for machine in machines for hca in machine.hcas or ()}
    foreign = sorted(NAMES[layer] for layer in layers_of(hcas, machines) & {SLINGSHOT, OMNI_PATH} if layer)
    if foreign:
        return f"UCX does not use {foreign[0]}"
    if any(_is_efa(there[name], machines) for name in hcas if name in there):
        return "the adapter is an EFA, which MPI uses through libfabric"
    down = [name for name in hcas if name in there and not is_up(there[name])]
    if down:
        return f"no port of {', '.join(down)} is active"
    unlike = [
        name
        for name in hcas
        if len({device(name, [each]) for each in machines if (any(hca.name == name for hca in each.hcas or ()))}) > 1
    ]
    return f"{unlike[0]} uses a different port on some hosts" if unlike else None


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
    plans = tuple(plan.but(slots=tuple(slot.but(**change(slot)) for slot in plan.slots)) for plan in placement.plans)
    return placement.but(plans=plans)


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


_DASHES = re.compile("[\u2010-\u2015\u2212]")

HAD_CREDENTIAL = f"a credential on the line appears as {WITHHELD} here and in files: pass it in the job's environment"


@dataclass(frozen=True)
class Binding:
    """A job that is placed and launched."""

    command: tuple[str, ...]
    job_hosts: JobHosts
    placement: Placement
    settings: Settings
    choice: Choice
    launch: Launch
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bind --json``."""
        found: dict[str, Any] = json.loads("\n".join(bind_document(self.shown())))
        return found

    def shown(self) -> BoundJob:
        """Return what there is to show of it."""
        made = self.launch
        return BoundJob(
            placement=self.placement,
            machines=machines_of(self.placement, self.job_hosts),
            argv=made.argv,
            variables=made.environment,
            files=made.files,
            launcher=made.launcher,
            version=made.version,
            form=made.form,
            chosen=self.choice.why,
            strategies=strategies(),
            notes=self.notes,
            avoided=tuple((each.form, each.reason) for each in made.avoided),
        )


def bind(
    command: Sequence[str],
    job: JobOptions | None = None,
    hosts: HostOptions | None = None,
    launcher: LauncherOptions | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    observer: Observer = SILENT,
) -> Binding:
    """Return a job as it is placed and launched; each impossible wish is refused in one line.

    ``environment`` is that of the job, of which Slurm and PBS tell its hosts; None is this process's own.
    """
    if not command:
        raise BadValue("no command to start", cure="put it last, after --: advisor bind --ranks 4 -- ./app")
    if ":" in command:
        raise BadValue(
            "':' in the command starts another program", cure="place one program at a time, or start both from a script"
        )
    command, given = screened_words(command), tuple(command)
    host_options = hosts or HostOptions()
    job_hosts = hosts_of_job(host_options, command, environment, observer)
    notes: list[str] = [*host_notes(job_hosts.hosts)]
    if command != given:
        notes.append(HAD_CREDENTIAL)
    if host_options.learned is not None:
        job, command, said = with_learned(host_options.learned, command, job or JobOptions(), job_hosts.machines[0])
        notes.append(said)
    wanted, measured = shape(job or JobOptions(), job_hosts, notes), _measured(host_options, job_hosts, observer)
    placement = place(wanted, job_hosts.machines, measured, allowed=job_hosts.affinity)
    if any(slot.gpu for plan in placement.plans for slot in plan.slots):
        placement, filled_in = beside_gpus(placement, job or JobOptions(), job_hosts)
        notes += filled_in
    elif wanted.threads == 1 and (job is None or job.threads is None):
        notes += _whole_node(placement, job_hosts)
    return carried(job_hosts, placement, launcher or LauncherOptions(), tuple(command), notes)


def beside_gpus(placement: Placement, options: JobOptions, job_hosts: JobHosts) -> tuple[Placement, tuple[str, ...]]:
    """Return the plan of ranks with GPUs with what was left open: as many threads as have room beside each, and which of SMT.

    Where cores are kept for the system, so are second threads (Frontier, LUMI-G: --threads-per-core=1 unless asked at the
    allocation): a list that names them is refused there, one of first threads is right everywhere.
    """
    job, said = placement.job, list[str]()
    cores = [core.cpuset for plan in placement.plans for core in plan.topology.inside.cores]
    if options.smt is None and job.reserve and any(len(cpus) > 1 for cpus in cores):
        job = job.but(smt="first")
        said.append(
            "first hardware threads only, as in jobs on nodes that reserve cores for the system; --smt skip binds whole cores"
        )
    if options.threads is None and job.threads == 1:
        job = job.but(threads=room_beside_gpus(placement, job_hosts.machines, job_hosts.affinity))
    if job == placement.job:
        return placement, ()
    again = placement
    for threads in dict.fromkeys((job.threads, 1)):
        with suppress(BadValue):
            tried = place(job.but(threads=threads), job_hosts.machines, allowed=job_hosts.affinity)
            if _nodes(tried) <= _nodes(placement):
                again = tried
                break
    if again.job.threads > 1 and options.threads is None and placement.job.threads == 1:
        said.append(f"{again.job.threads} threads per rank: its share of the cores near its GPU; --threads T uses fewer")
    return again, tuple(said)


def _nodes(placement: Placement) -> int:
    """Return how many NUMA nodes the widest rank is on."""
    return max(len(slot.nodes) for plan in placement.plans for slot in plan.slots)


def _whole_node(placement: Placement, job_hosts: JobHosts) -> Iterator[str]:
    """Yield how many threads per rank use the whole node, where --threads was left out and cores stay idle."""
    plan, job = max(placement.plans, key=lambda each: len(each.slots)), placement.job
    taken, every = union(slot.cpus for slot in plan.slots), [core.cpuset for core in plan.topology.inside.cores if core.cpuset]
    kinds = union(kind.cpus for kind in ranked_kinds(machines_of(placement, job_hosts)[0]) if kind.cpus & taken)
    cores = sum(1 for core in every if not kinds or core & kinds) - job.reserve
    threads = cores // len(plan.slots)
    if job.slice or job.reserve_per or threads < 2:
        return
    with suppress(BadValue):
        wider = place(job.but(threads=threads), job_hosts.machines, allowed=job_hosts.affinity)
        used = sum(slot.cores for slot in max(wider.plans, key=lambda each: len(each.slots)).slots)
        own = "the whole node" if cores + job.reserve == len(every) else f"all {cores} cores of this kind"
        whole = f"use {own}" if used == cores else f"use {used} of its {cores} cores"
        yield f"one thread per rank, as --threads is missing: with --threads {threads} the ranks {whole}"


def _measured(host_options: HostOptions, job_hosts: JobHosts, observer: Observer) -> MeasuredForPlacement | None:
    """Return what was measured that bears on placement; None where no measurements are given."""
    machine = job_hosts.machines[0]
    found = measurements_from(host_options.measurements, machine, observer)
    return measured_for_placement(found, len(machine.topology.l3) if machine.topology else None) if found else None


def carried(
    job_hosts: JobHosts,
    placement: Placement,
    launcher_options: LauncherOptions,
    command: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Binding:
    """Return a placement as a launcher carries it out."""
    hosts = job_hosts.hosts
    needs = settings(placement, job_hosts.machines)
    choice = choose(job_hosts.machines[0].tools, launcher_options.launcher, launcher_options.version, hosts.scheduler)
    wish = LaunchRequest(
        command=command,
        version=choice.version,
        exact=launcher_options.exact,
        report=launcher_options.report,
        scheduler=hosts.scheduler_of(choice.launcher.name),
        unnamed=hosts.placeholder is not None,
        environment=needs.variables,
        wrap=launcher_options.wrap,
        each=needs.each,
        gpus=needs.gpus,
    )
    launch, failed = _with_memory(choice, needs.placement, wish)
    said = [*failed, *launch.notes, *_counted(launch, placement), *_of_command(command), *_not_carried_out(launch, job_hosts)]
    every = (*placement.notes, *notes, *needs.notes, *said)
    return Binding(command, job_hosts, placement, needs, choice, launch, tuple(dict.fromkeys(every)))


def _with_memory(choice: Choice, placement: Placement, wish: LaunchRequest) -> tuple[Launch, tuple[str, ...]]:
    """Return the launch, with numactl where ranks want other memory than that of their CPUs and the launcher binds none."""
    made, failed = launch_or_wrap(choice, placement, wish)
    if not binds_memory(placement) or made.memory or made.form == "wrapper":
        return made, failed
    told = choice.launcher.ranks
    local = each_rank.LOCAL.get(choice.launcher.name) or (next(iter(told.local), None) if told else None)
    bound = with_numactl(placement, wish.command, local)
    return launch_or_wrap(choice, placement, replace(wish, command=bound) if bound else replace(wish, wrap=True))


def launch_or_wrap(choice: Choice, placement: Placement, wish: LaunchRequest) -> tuple[Launch, tuple[str, ...]]:
    """Return the launch; where the launcher cannot bind as planned, with the wrapper, and a note that says so."""
    try:
        return choice.launcher.launch(placement, wish), ()
    except BadValue as error:
        if wish.wrap:
            raise
        try:
            made = choice.launcher.launch(placement, replace(wish, wrap=True))
        except BadValue:
            raise error from None
        return made, (f"{choice.launcher.name} cannot bind this itself, so {wrapper.FILE} does: {error}",)


def _not_carried_out(launch: Launch, job_hosts: JobHosts) -> Iterator[str]:
    """Yield a note where Slurm's set-up, as the hosts' files say, does not bind what the line asks it to."""
    plugins = job_hosts.machines[0].slurm_conf and job_hosts.machines[0].slurm_conf.task_plugins
    if plugins is not None and "affinity" not in plugins and any(word.startswith("--cpu-bind=") for word in launch.argv):
        named = ",".join(f"task/{each}" for each in plugins) or "task/none"
        yield f"bind-ignored: TaskPlugin is {named}, but only task/affinity binds ranks; --wrapper binds them without it"


def _counted(launch: Launch, placement: Placement) -> Iterator[str]:
    """Yield a note where the line's numbers are not the kernel's, as those of the drawing are."""
    plans = [plan.topology for plan in placement.plans]
    listed = launch.form == "pe-list" or (launch.form == "rankfile" and "rmaps_rank_file_physical" not in launch.argv)
    if listed and any(logical_numbering(topology).pus != tuple(topology.pus) for topology in plans):
        what = "pe-list" if launch.form == "pe-list" else "the rankfile"
        yield f"{what} counts cores in hwloc's order; the numbers below are the kernel's"


def _of_command(command: Sequence[str]) -> tuple[str, ...]:
    strange = next((each for each in command if _DASHES.match(each)), None)
    return (f"{strange} begins with a non-ASCII dash: no program reads it as an option",) if strange else ()


@cache
def strategies() -> Mapping[str, str]:
    """Return what each strategy does."""
    return {name: sentence(name) for name in WAYS}
