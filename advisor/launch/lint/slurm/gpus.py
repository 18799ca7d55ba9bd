"""What a line of srun asks of GPUs: how many tasks it starts for them, how many a node needs, and what Slurm refuses."""

import re
from collections.abc import Mapping

from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.slurm.bind_options import number_of

_COUNTS = ("--gpus", "--gpus-per-node", "--gpus-per-task")


def asks(said: Mapping[str, str], release: tuple[int, ...] | None) -> bool:
    """Return whether a line asks for GPUs; raise Unclear where what that does to its CPUs was not seen."""
    if "--cpus-per-gpu" in said and (release is None or release[:2] != (22, 5)):
        raise Unclear("--cpus-per-gpu changes nothing in a step of Slurm 22.05; what other versions do was not seen")
    if "--ntasks-per-gpu" in said and "--gpus-per-task" in said:
        raise Refused("--gpus-per-task and --ntasks-per-gpu exclude each other")
    if "--ntasks-per-gpu" in said and "--ntasks" in said:
        raise Unclear("how many GPUs --ntasks-per-gpu asks for beside --ntasks, and whether nodes have them, is not known")
    return any(_count(said, option) for option in _COUNTS) or bool(_gres(said))


def of_gpus(said: Mapping[str, str], nodes: int) -> int | None:
    """Return the tasks that a line without --ntasks starts for its GPUs; None where they are not what it counts by."""
    each = number_of(said, "--ntasks-per-gpu")
    if each is None:
        if "--gpus" in said and "--gpus-per-task" in said:
            raise Unclear("how many tasks --gpus and --gpus-per-task start, depends on whether a job runs already")
        return None
    if "--ntasks-per-node" in said:
        raise Unclear("--ntasks-per-node beside --ntasks-per-gpu is not worked out here")
    total = _count(said, "--gpus")
    if total is None and nodes == 1:
        total = _count(said, "--gpus-per-node") or _gres(said)
    if not total:
        raise Unclear("how many tasks --ntasks-per-gpu starts, is only predicted with --gpus, and of the GPUs of one node")
    return total * each


def _count(said: Mapping[str, str], option: str) -> int | None:
    """Return a number of GPUs; raise Unclear where their kind is named, for whether nodes have it is not known."""
    text = said.get(option)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII):
        raise Unclear(f"whether nodes have the GPUs of {option} {text[:40]}, is not known here")
    return int(text)


def _gres(said: Mapping[str, str]) -> int | None:
    """Return the GPUs of each node that --gres asks for."""
    text = said.get("--gres")
    if text is None or text == "none":
        return None
    match = re.fullmatch(r"gpu(?::(\d{1,5}))?", text, re.ASCII)
    if not match:
        raise Unclear(f"what CPUs --gres={text[:40]} gives, is not worked out here")
    return int(match[1] or 1)


def gpus_of_a_node(said: Mapping[str, str], nodes: int, tasks: int) -> int:
    """Return the GPUs that a line asks of a node with so many tasks; raise Refused where there are more nodes than GPUs."""
    total = _count(said, "--gpus") or 0
    if 0 < total < nodes and said.get("--gres") == "none":
        raise Unclear("--gres=none beside fewer --gpus than nodes is not worked out here")
    if 0 < total < nodes:
        raise Refused(f"--gpus={total} for {nodes} nodes: each takes one; nothing starts")
    whole, each = -(-total // nodes), (_count(said, "--gpus-per-task") or 0) * tasks
    return max(whole, each, _count(said, "--gpus-per-node") or 0, _gres(said) or 0)
