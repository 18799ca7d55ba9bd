"""How Slurm cuts a node and binds what it starts, and the limits of slurmd, which its jobs inherit."""

import re

from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Gap, Machine
from advisor.machine.operating_system import Limits, Slurm
from advisor.machine.sources.reader import FactSource, Reader
from advisor.machine.sources.system.process import UNLIMITED
from advisor.machine.value import number

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


def key_query(file: str) -> tuple[str, ...]:
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


SLURM, CGROUP, GRES = (key_query(file) for file in _KEYS)
SLURM_PATHS: tuple[str, ...] = ()
SLURM_COMMANDS = (SLURM, CGROUP, GRES)

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


def collect_slurm(host: Host) -> Machine:
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
    """Return the task plugins without their prefix; () for none, which is what a whole file without the key means.

    slurm.conf(5) of Slurm 22.05: the default value is task/none.
    """
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


_SHOW = (
    "systemctl",
    "show",
    "slurmd.service",
    "--property=LoadState,MainPID,LimitMEMLOCK,LimitSTACK,LimitNOFILE",
)
SLURMD_PATHS: tuple[str, ...] = ()
SLURMD_COMMANDS = (_SHOW, SLURM)

_KINDS = {
    "memlock": ("slurmd_memlock", "Max locked memory", "LimitMEMLOCK"),
    "stack": ("slurmd_stack", "Max stack size", "LimitSTACK"),
    "nofile": ("slurmd_files", "Max open files", "LimitNOFILE"),
}
"""Slurm's word for a limit -> the fact, the line of /proc/PID/limits, the property of the unit."""


def collect_slurmd(host: Host) -> Machine:
    """Return the limits of slurmd, from its process where it can be read, else from its unit."""
    reader = Reader(host)
    shown = host.run(_SHOW)
    told = dict(line.partition("=")[::2] for line in (shown.text or "").splitlines())
    values: dict[str, object] = {}
    if told.get("LoadState") == "loaded":
        values = _of_process(reader, told.get("MainPID", "")) or _of_unit(reader, told)
    carried = carries(printed(host.run(SLURM)))
    if carried is not None:
        reader.found("limits.slurm_carries", "slurm.conf")
        values["slurm_carries"] = carried
    return Machine(limits=Limits(**values) if values else None, sources=reader.sources, gaps=reader.gaps)


def _of_process(reader: Reader, pid: str) -> dict[str, object]:
    if not re.fullmatch(r"[1-9][0-9]{0,9}", pid):
        return {}
    path = f"/proc/{pid}/limits"
    text = reader.text(path)
    found = {fact: limit for fact, line, _ in _KINDS.values() if (limit := hard_limit(text, line)) is not None}
    for fact in found:
        reader.found(f"limits.{fact}", "/proc/PID/limits of slurmd")
    return dict(found)


def _of_unit(reader: Reader, told: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for fact, _, key in _KINDS.values():
        limit = UNLIMITED if told.get(key) == "infinity" else number(told.get(key))
        if limit is not None:
            reader.found(f"limits.{fact}", f"systemctl show slurmd.service, {key}")
            found[fact] = limit
    return found


def hard_limit(text: str | None, name: str) -> int | None:
    """Return the hard limit of a line of /proc/PID/limits, -1 for unlimited, or None.

    >>> hard_limit("Max open files            1024                 131072               files", "Max open files")
    131072
    """
    match = re.search(rf"^{re.escape(name)}\s+\S+\s+(unlimited|[0-9]{{1,20}})\b", text or "", re.MULTILINE)
    if not match:
        return None
    return UNLIMITED if match[1] == "unlimited" else int(match[1])


def carries(conf: str | None) -> tuple[str, ...] | None:
    r"""Return which limits of the submitting shell Slurm gives a job; all where slurm.conf does not say (slurm.conf(5)).

    >>> carries("PropagateResourceLimitsExcept=MEMLOCK\n"), carries("propagateresourcelimits=NONE")
    (('stack', 'nofile'), ())
    """
    if conf is None:
        return None
    lines = re.findall(r"^\s*PropagateResourceLimits(Except)?\s*=\s*([\w,]+)", conf, re.MULTILINE | re.IGNORECASE)
    for excluded, value in reversed(lines):
        words = {word.upper() for word in value.split(",")}
        every, none = "ALL" in words, "NONE" in words
        named = {kind for kind in _KINDS if kind.upper() in words}
        kept = set(_KINDS) if every else set() if none else named
        return tuple(kind for kind in _KINDS if (kind in kept) != bool(excluded))
    return tuple(_KINDS)


SOURCES = (
    FactSource(
        "slurm",
        20,
        "How Slurm cuts a node and binds what it starts: a few keys of slurm.conf, cgroup.conf and gres.conf.",
        SLURM_PATHS,
        SLURM_COMMANDS,
        collect_slurm,
    ),
    FactSource(
        "slurmd",
        20,
        ("What slurmd may lock, stack and open. Its jobs get no more, whatever limits.d says: PAM is not asked for them."),
        SLURMD_PATHS,
        SLURMD_COMMANDS,
        collect_slurmd,
    ),
)
