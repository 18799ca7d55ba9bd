"""What options for GPUs change in a step of srun: how many tasks there are, and whether gres.conf chooses their cores.

Seen of Slurm 22.05.8, in a job that has whole nodes (tests/launch/lint/seen_srun.txt): the GPUs that a step asks for change
nothing of its CPUs, but where it has a part of the node alone (--cpus-per-task, --exact) its cores are those beside its GPUs, as
Cores= or AutoDetect in gres.conf tells Slurm.
"""

import re
from collections.abc import Mapping

from advisor.launch.lint.openmpi import Refused, Unclear

_COUNTS = ("--gpus", "--gpus-per-node", "--gpus-per-task")


def number(said: Mapping[str, str], option: str) -> int | None:
    """Return the number of an option, None where it is not said."""
    text = said.get(option)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,8}", text, re.ASCII) or not int(text):
        raise Unclear(f"{option} {text[:40]} is no number")
    return int(text)


def asks(said: Mapping[str, str], release: tuple[int, ...] | None) -> bool:
    """Return whether a line asks for GPUs; raise Unclear where what that does to its CPUs was not seen."""
    if "--cpus-per-gpu" in said and (release is None or release[:2] != (22, 5)):
        raise Unclear("--cpus-per-gpu changes nothing in a step of Slurm 22.05; what other versions do was not seen")
    if "--ntasks-per-gpu" in said and "--gpus-per-task" in said:
        raise Refused("--gpus-per-task and --ntasks-per-gpu exclude each other")
    return any(_count(said, option) for option in _COUNTS) or bool(_gres(said))


def of_gpus(said: Mapping[str, str], nodes: int) -> int | None:
    """Return the tasks that a line without --ntasks starts for its GPUs; None where they are not what it counts by."""
    each = number(said, "--ntasks-per-gpu")
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
        raise Unclear("how many tasks --ntasks-per-gpu starts, is only told of --gpus, and of the GPUs of one node")
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
