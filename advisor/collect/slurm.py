"""How Slurm cuts a node and binds what it starts: a few keys of slurm.conf, cgroup.conf and gres.conf.

The files hold names of people, hosts and databases. So they are not kept: sed prints the few keys alone, here and in captures.
No controller is asked.
"""

import re

from advisor.collect.reader import Reader
from advisor.host.base import Host, Ran, Why
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.hardware.operating_system import Slurm

_FOLDERS = (
    "/etc/slurm",
    "/run/slurm/conf",
    "/var/spool/slurmd/conf-cache",
    "/etc/slurm-llnl",
    "/usr/local/etc",
    "/usr/local/slurm/etc",
    "/opt/slurm/etc",
    "/cm/shared/apps/slurm/var/etc/slurm",
)
"""slurmd's own places (the second and third are the caches of a node without files), then those of packages and managers."""

_FOUND = "file=read"
_KEYS = {
    "slurm.conf": "TaskPlugin|TaskPluginParam|ProctrackType|SelectType",
    "cgroup.conf": "ConstrainCores|ConstrainRAMSpace|ConstrainDevices",
    "gres.conf": "AutoDetect|Cores|CPUs",
}


def question(file: str) -> tuple[str, ...]:
    """Return the command that prints some keys of a file of Slurm's, a first line that it is there, and that it includes others.

    Keys of gres.conf stand anywhere in a line, those of the others begin one; neither case nor what follows a # counts.
    """
    anywhere = "([^#]*[[:space:]])?" if file == "gres.conf" else "([[:space:]]*)"
    return (
        "sed",
        "-n",
        "-E",
        "-e",
        f"1{{h;s/.*/{_FOUND}/p;g;}}",
        "-e",
        "s/^[[:space:]]*Include[[:space:]].*/include=yes/Ip",
        *(
            word
            for key in _KEYS[file].split("|")
            for word in ("-e", f"h;s/^{anywhere}{key}[[:space:]]*=[[:space:]]*([^[:space:]#]+).*/{key}=\\2/Ip;g")
        ),
        *(f"{folder}/{file}" for folder in _FOLDERS),
    )


SLURM, CGROUP, GRES = (question(file) for file in _KEYS)
PATHS: tuple[str, ...] = ()
COMMANDS = (SLURM, CGROUP, GRES)
RANK = 20

_PATIENCE = 3.0
"""Seconds: the files may lie on a shared file system."""


class _File:
    """What was printed of a file: its keys, whether it is there, whether it includes others."""

    def __init__(self, ran: Ran) -> None:
        said, missed = printed(ran) or "", ran.err.decode("utf-8", "replace")
        self.keys: dict[str, list[str]] = {}
        for line in said.splitlines():
            key, sign, value = line.partition("=")
            if sign:
                self.keys.setdefault(key.lower(), []).append(value.strip()[:200].lower())
        self.closed = "ermission" in missed
        self.there = bool(said)
        self.whole = self.there and not self.closed and "include" not in self.keys

    def value(self, key: str) -> str | None:
        """Return a key's first value in small letters: of several files slurmd takes the first."""
        return next(iter(self.keys.get(key.lower(), ())), None)

    def switch(self, key: str) -> bool | None:
        """Return a key of yes and no; no where the whole file is without it."""
        value = self.value(key)
        if value is None:
            return False if self.whole else None
        return {"yes": True, "no": False, "true": True, "false": False}.get(value)


def printed(ran: Ran) -> str | None:
    """Return the keys that were printed of a file; None where it is not there, or nobody asked."""
    text = ran.out.decode("utf-8", "replace")
    return text if ran.why is None and _FOUND in text.splitlines() else None


def collect(host: Host) -> Machine:
    """Return what the files say; nothing where they are in none of the folders, or nobody looked."""
    reader = Reader(host)
    ran = [host.run(argv, _PATIENCE) for argv in (SLURM, CGROUP, GRES)]
    if any(each.why is not None for each in ran):
        reader.missed("slurm_conf", "slurm.conf", next(each.why for each in ran if each.why) or Why.FAILED)
        return Machine(gaps=reader.gaps)
    main, cgroup, gres = (_File(each) for each in ran)
    if not main.there:
        why = "slurm.conf: permission denied" if main.closed else "slurm.conf: in none of the usual folders"
        return Machine(
            gaps=(Gap(fact="slurm_conf", why=why, help="run it on a node of the cluster; as root where it is closed"),)
        )
    reader.found("slurm_conf", "slurm.conf, cgroup.conf, gres.conf")
    return Machine(slurm_conf=_slurm(main, cgroup, gres), sources=reader.sources)


def _slurm(main: _File, cgroup: _File, gres: _File) -> Slurm:
    # A cgroup.conf that is not there means its defaults; one that is closed means nothing.
    absent = not cgroup.there and not cgroup.closed
    constrain = {
        fact: False if absent else cgroup.switch(key)
        for fact, key in (
            ("constrain_cores", "ConstrainCores"),
            ("constrain_memory", "ConstrainRAMSpace"),
            ("constrain_devices", "ConstrainDevices"),
        )
    }
    return Slurm(
        task_plugins=_plugins(main),
        proctrack=_bare(main.value("ProctrackType")),
        select=_bare(main.value("SelectType")),
        off_spec=None if _param(main) is None else "slurmdoffspec" in (_param(main) or ()),
        autodetect=_autodetect(gres),
        gres_cores=True if {"cores", "cpus"} & set(gres.keys) else (False if gres.whole else None),
        **constrain,
    )


def _autodetect(gres: _File) -> str | None:
    """Return what finds the GPUs; off only where every line says so, for lines may be of other nodes."""
    values = gres.keys.get("autodetect", [])
    return next((value for value in values if value != "off"), "off" if values or gres.whole else None)


def _plugins(main: _File) -> tuple[str, ...] | None:
    """Return the task plugins without their prefix; () for none, which is what a whole file without the key means."""
    value = main.value("TaskPlugin")
    if value is None:
        return () if main.whole else None
    names = tuple(name for word in value.split(",") if (name := _bare(word)))
    return tuple(name for name in names if name != "none")


def _param(main: _File) -> tuple[str, ...] | None:
    value = main.value("TaskPluginParam")
    return tuple(value.split(",")) if value else (() if main.whole else None)


def _bare(word: str | None) -> str | None:
    """Return ``cgroup`` of ``proctrack/cgroup``; None of what is no plugin's name."""
    name = (word or "").strip().rpartition("/")[2]
    return name if re.fullmatch(r"[a-z0-9_]{1,40}", name, re.ASCII) else None
