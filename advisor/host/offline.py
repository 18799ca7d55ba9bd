"""Keeps the commands that tell of this machine from asking others: no name server, no controller that none knows, no display."""

import os
from collections.abc import Mapping

SLURM_CONF = (
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/run/slurm/conf/slurm.conf",
    "/usr/local/etc/slurm.conf",
    "/usr/local/etc/slurm/slurm.conf",
)
"""Where distributions, slurmd of a configless cluster and a plain build put it (https://slurm.schedmd.com/configless_slurm.html)."""


def asks_the_network(name: str, program: str) -> bool:
    """Tell whether a command would look for its site: without a slurm.conf scontrol, and srun --version too, ask the DNS."""
    if name not in ("scontrol", "srun"):
        return False
    named = os.environ.get("SLURM_CONF")
    if named:
        return not os.path.isfile(named)  # noqa: PTH113 - beside the texts below
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(program)))  # noqa: PTH120 - likewise
    places = (*SLURM_CONF, f"{prefix}/etc/slurm.conf", f"{prefix}/etc/slurm/slurm.conf")
    return not any(os.path.isfile(place) for place in places)  # noqa: PTH113


def quiet(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command that only tells of this machine: in English, and without a display to ask.

    hwloc's component gl looks for the displays of an X server to tell which GPU has one (hwloc, topology-gl.c).
    """
    kept = {name: value for name, value in variables.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")}
    components = ",".join(word for word in ("-gl", variables.get("HWLOC_COMPONENTS", "")) if word)
    return {**kept, "LC_ALL": "C", "LANGUAGE": "C", "HWLOC_COMPONENTS": components}
