"""PyTorch's torchrun: a worker for each GPU of a host, each behind numactl. Worker i uses GPU i."""

from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.jobs.each_rank import listed
from advisor.jobs.launcher import Launch, Launcher, LaunchRequest
from advisor.jobs.placement import LONGEST, Placement, filled, names, only_slots, runs

NAME = "torchrun"


_SPREAD = (
    "torchrun starts the workers of one host: without Slurm, run the part after srun on each host, with the name of the first "
    "host in --rdzv-endpoint"
)


_PORT = 29500
"""The port of the rendezvous where nobody names one (torch/distributed/run.py)."""


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: each worker behind numactl."""
    list(runs(placement))
    slots, each, hosts = only_slots(placement), filled(placement), names(placement)
    if slots is None or not each or placement.size != each * max(1, len(hosts)):
        raise BadValue("torchrun starts the same number of workers in the same places on every host", cure="give identical hosts")
    visible = next((values for name, values in wish.each.items() if name.endswith(("_DEVICES", "_MASK"))), None)
    if visible and "UCX_NET_DEVICES" not in wish.each and list(visible) != [str(rank) for rank in range(each)]:
        raise BadValue("worker i of torchrun uses GPU i: one rank per GPU", cure="--ranks-per gpu")
    cpus = [str(slot.cpus) for slot in slots]
    options = ("--standalone",) if not hosts or len(hosts) == 1 else (
        f"--nnodes={len(hosts)}", "--rdzv-backend=c10d", f"--rdzv-endpoint={hosts[0]}:{_PORT}",
    )  # fmt: skip
    many = str(len(hosts))
    agents = (
        ("srun", "--nodes", many, "--ntasks", many, "--ntasks-per-node", "1", "--cpu-bind=none", *_gpus(wish))
        if len(hosts) > 1
        else ()
    )
    gaps = any((plan.topology.pus.last or 0) >= len(plan.topology.pus) for plan in placement.plans)
    bound = listed(_program(wish.command), cpus, "LOCAL_RANK", taskset=gaps)
    argv = (*agents, NAME, *options, f"--nproc-per-node={each}", "--no-python", *bound)
    if max(map(len, argv)) > LONGEST:
        raise BadValue(
            "the list of the workers' CPUs is too long for one command-line argument", cure="request fewer ranks per host"
        )
    notes = (_SPREAD,) if len(hosts) > 1 else ()
    return Launch(NAME, wish.version, "numactl", argv, dict(wish.environment), {}, (), notes)


def _gpus(wish: LaunchRequest) -> tuple[str, ...]:
    return (f"--gpus-per-node={wish.gpus}",) if wish.gpus else ()


def _program(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command as it is started itself: a script of Python's with its interpreter."""
    return ("python", *command) if command[0].endswith(".py") else tuple(command)


LAUNCHER = Launcher(
    name=NAME,
    title="torchrun",
    order=85,
    launch=launch,
    aliases=("torch", "pytorch"),
)
