"""How a cluster's Slurm is set up, by its own words: slurm.conf, or what `scontrol show config` prints; else as most are."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from advisor.errors import BadInput
from advisor.jobs.placement import LintWarning
from advisor.jobs.scripts.values import words
from advisor.jobs.slurm import read
from advisor.machine.hosts.base import SLURM_CONFS, asks_the_network
from advisor.machine.hosts.files import open_here
from advisor.machine.hosts.live import LiveHost, find

USUAL: Final = "TaskPlugin=task/affinity,task/cgroup\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
"""What the tool kits that build clusters write, and the manuals of centres tell (SchedMD/slurm-gcp, NVIDIA/deepops, OpenHPC)."""

ASSUMED: Final = (
    "Slurm is taken to be set up as usual (task/affinity, cons_tres, CR_Core_Memory): with task/none no rank is bound, "
    "with CR_CPU threads are counted; --slurm-conf FILE takes slurm.conf or the output of scontrol show config"
)
_KEYS: Final = words(
    "clustername taskplugin taskpluginparam selecttype selecttypeparameters slurmctldhost controlmachine nodename "
    "partitionname authtype proctracktype schedulertype slurmdspooldir statesavelocation slurmctldport slurmuser "
    "include gresypes grestypes slurm_version"
)
_LARGEST: Final = 16 << 20
_PATIENCE: Final = 3.0


@dataclass(frozen=True)
class SlurmWords:
    """A set-up as text, in the form of slurm.conf."""

    text: str
    source: str
    """Where it was read; "" of one that is assumed."""
    version: str | None = None
    """Slurm's, where scontrol names it."""

    @property
    def plugins(self) -> tuple[str, ...]:
        """What TaskPlugin names: () where nothing binds; slurm.conf(5): none by default."""
        said, _ = read(self.text)
        named = (word.strip().lower().removeprefix("task/") for word in said.get("taskplugin", "none").split(","))
        return tuple(word for word in named if word and word != "none")


def parsed(text: str, source: str) -> SlurmWords:
    """Return the set-up that a text says; refuse one without any word of Slurm's."""
    rows: list[str] = []
    version: str | None = None
    shown = bool(re.search(r"^Configuration data as of ", text, re.MULTILINE)) or not re.search(r"^\s*\w+=\S", text, re.MULTILINE)
    for line in text.splitlines():
        match = re.match(r"([A-Za-z_]\w*)\s+=\s+(.*)$", line) if shown else None
        if match:
            value = "" if match[2].startswith("(null") else match[2].strip()
            if match[1].upper() == "SLURM_VERSION":
                version = value
            elif value and not re.search(r"\s", value):
                rows.append(f"{match[1]}={value}")
        elif not shown:
            rows.append(line)
    found = "\n".join(rows) + "\n"
    said, nodes = read(found)
    if not (nodes or version or _KEYS & set(said) or re.search(r"(?im)^\s*(include\s|partitionname=)", found)):
        raise BadInput(
            "no setting of Slurm is in it", file=source, cure="name slurm.conf, or a file with the output of scontrol show config"
        )
    return SlurmWords(found, source, version)


def of_file(file: Path) -> SlurmWords:
    """Return the set-up of a file."""
    try:
        with open_here(file) as opened:
            data = opened.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise BadInput(
            "the file does not exist or cannot be read", file=str(file), cure="name the cluster's slurm.conf"
        ) from error
    if len(data) > _LARGEST:
        raise BadInput(f"more than {_LARGEST >> 20} MiB", file=str(file), cure="refused as unsafe")
    return parsed(data.decode(errors="replace"), str(file))


def of_this_host() -> SlurmWords | None:
    """Return what scontrol says here, else slurm.conf where it lies; None where Slurm is not there."""
    program = find("scontrol")
    if program is not None and not asks_the_network("scontrol", program):
        printed = LiveHost().run(("scontrol", "show", "config"), _PATIENCE).text
        if printed and "SLURM_VERSION" in printed:
            return parsed(printed, "scontrol show config")
    own = next((Path(place) for place in SLURM_CONFS if Path(place).is_file()), None)
    return of_file(own) if own else None


def setup(file: Path | None, *, live: bool) -> SlurmWords:
    """Return the set-up that --slurm-conf names, else this host's where it counts, else the usual one."""
    if file is not None:
        return of_file(file)
    return (of_this_host() if live else None) or SlurmWords(USUAL, "")


def bind_ignored(wish: str, slurm: SlurmWords) -> LintWarning:
    """Return the warning that a wished binding is not carried out."""
    plugins = ",".join(f"task/{each}" for each in slurm.plugins) or "task/none"
    return LintWarning(
        id="bind-ignored",
        what=f"{wish[:60]} does nothing here: no rank is bound",
        why=f"TaskPlugin is {plugins}, and only task/affinity binds ranks.",
        evidence=slurm.source,
        better="TaskPlugin=task/affinity,task/cgroup in slurm.conf",
        misbinds=True,
    )
