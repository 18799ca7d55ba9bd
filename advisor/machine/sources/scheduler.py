"""MPI, schedulers and fabrics on PATH, the job this process runs in, how Slurm is set up and what it believes this node is."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Allocation, Gap, Limits, Machine, Slurm, SlurmNode, Tool
from advisor.machine.sources.reader import FULL_HELP, FactSource, Reader, set_in, unknown
from advisor.machine.sources.system import UNLIMITED
from advisor.machine.value import MIB, number

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

_FILES_PATIENCE = 3.0
"""Seconds: the files may lie on a shared file system."""


class _File:
    """What was printed of a file: its keys, whether it is there, whether it includes others."""

    def __init__(self, ran: Ran) -> None:
        lines = (line.partition("=") for line in (printed(ran) or "").splitlines())
        self.keys: dict[str, list[str]] = defaultdict(list)
        for key, sign, value in lines:
            if sign:
                self.keys[key.lower()].append(value.strip()[:200].lower())
        self.closed = b"ermission" in ran.err
        self.there = bool(self.keys)
        self.whole = self.there and not self.closed and "include" not in self.keys

    def value(self, key: str) -> str | None:
        """Return a key's first value in small letters: of several files slurmd takes the first."""
        return next(iter(self.keys.get(key.lower(), ())), None)

    def words(self, key: str) -> list[str] | None:
        """Return the words of a key; none where the whole file is without it."""
        value = self.value(key)
        return value.split(",") if value else [] if self.whole else None

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
    ran = [host.run(argv, _FILES_PATIENCE) for argv in (SLURM, CGROUP, GRES)]
    if any(each.why is not None for each in ran):
        reader.missed("slurm_conf", "slurm.conf", next(each.why for each in ran if each.why) or Why.FAILED)
        return Machine(gaps=reader.gaps)
    main, cgroup, gres = (_File(each) for each in ran)
    if not main.there:
        why = "slurm.conf: permission denied" if main.closed else "slurm.conf: not in any of the usual folders"
        return Machine(
            gaps=(Gap(fact="slurm_conf", why=why, help="run advisor on a node of the cluster, as root if the file is private"),)
        )
    reader.found("slurm_conf", "slurm.conf, cgroup.conf, gres.conf")
    # A cgroup.conf that is not there means its defaults; one that is closed means nothing.
    absent = not cgroup.there and not cgroup.closed
    constrain = {"constrain_cores": "Cores", "constrain_memory": "RAMSpace", "constrain_devices": "Devices"}
    plugins, parameters = main.words("TaskPlugin"), main.words("TaskPluginParam")
    # What finds the GPUs; off only where every line says so, for lines may be of other nodes.
    ways = gres.keys.get("autodetect", [])
    slurm = Slurm(
        # slurm.conf(5) of Slurm 22.05: the default value is task/none.
        task_plugins=None if plugins is None else tuple(n for word in plugins if (n := _bare(word)) and n != "none"),
        proctrack=_bare(main.value("ProctrackType")),
        select=_bare(main.value("SelectType")),
        off_spec=None if parameters is None else "slurmdoffspec" in parameters,
        autodetect=next((way for way in ways if way != "off"), "off" if ways or gres.whole else None),
        gres_cores=True if {"cores", "cpus"} & set(gres.keys) else (False if gres.whole else None),
        **{fact: False if absent else cgroup.switch(f"Constrain{key}") for fact, key in constrain.items()},
    )
    return Machine(slurm_conf=slurm, sources=reader.sources)


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

_KINDS = {
    "memlock": ("slurmd_memlock", "Max locked memory", "LimitMEMLOCK"),
    "stack": ("slurmd_stack", "Max stack size", "LimitSTACK"),
    "nofile": ("slurmd_files", "Max open files", "LimitNOFILE"),
}
"""Slurm's word for a limit -> the fact, the line of /proc/PID/limits, the property of the unit."""


def collect_slurmd(host: Host) -> Machine:
    """Return the limits of slurmd, from its process where it can be read, else from its unit."""
    reader = Reader(host)
    unit = dict(line.partition("=")[::2] for line in (host.run(_SHOW).text or "").splitlines())
    values: dict[str, Any] = {}
    pid = unit.get("MainPID", "")
    if unit.get("LoadState") == "loaded" and re.fullmatch(r"[1-9][0-9]{0,9}", pid):
        text = reader.text(f"/proc/{pid}/limits")
        values = {fact: limit for fact, line, _ in _KINDS.values() if (limit := hard_limit(text, line)) is not None}
    for fact in values:
        reader.found(f"limits.{fact}", "/proc/PID/limits of slurmd")
    wanted = () if values or unit.get("LoadState") != "loaded" else tuple(_KINDS.values())
    for fact, _, key in wanted:
        limit = UNLIMITED if unit.get(key) == "infinity" else number(unit.get(key))
        if limit is not None:
            reader.found(f"limits.{fact}", f"systemctl show slurmd.service, {key}")
            values[fact] = limit
    carried = carries(printed(host.run(SLURM)))
    if carried is not None:
        reader.found("limits.slurm_carries", "slurm.conf")
        values["slurm_carries"] = carried
    return reader.machine(limits=Limits(**values) if values else None)


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


@dataclass(frozen=True)
class VersionQuery:
    """How a program on the machine tells its version: it is a fact of the Machine, collected once."""

    tool: str
    """What Machine.tools calls it: openmpi."""
    commands: tuple[tuple[str, ...], ...]
    """Each is run, where it is on PATH: ``("mpirun", "--version")``."""
    says: str
    """The expression, of lines, that its output fits; its group, if it has one, is the version."""
    own: bool = True
    """Whether its number is the launcher's version: PRRTE's is not that of the Open MPI it belongs to."""
    parts: tuple[str, ...] = ()
    """Tools that are only parts of it where they lie in the same folder: MVAPICH's launcher is MPICH's Hydra."""


VERSIONS = (
    # mpirun (Open MPI) 5.0.11;   Open MPI v4.1.4   (ompi_info)
    VersionQuery(
        "openmpi",
        (("mpirun", "--version"), ("mpiexec", "--version"), ("ompi_info", "--version")),
        r"^(?:\S+ \(Open MPI\) |Open MPI v)([0-9][^\s]*)",
    ),
    # prterun (PRRTE) 3.0.14
    VersionQuery("prrte", (("prterun", "--version"), ("prte_info", "--version")), r"^\S+ \(PRRTE\) ([0-9][^\s]*)", own=False),
    # MVAPICH2 Version:       2.3.7   (mpichversion);   MVAPICH2 2.3.7 Wed March 02 ... ch3:mrail   (mpiname -a)
    VersionQuery(
        "mvapich",
        (("mpichversion",), ("mpiname", "-a")),
        r"^MVAPICH2?(?:[ \t]+Version:)?[ \t]+([0-9][^\s]*)",
        parts=("mpich",),
    ),
    # Its later launcher is MPICH's Hydra and prints the version of that; only its build options betray it.
    VersionQuery("mvapich", (), r"\A\s*HYDRA(?is:.*mvapich)", parts=("mpich",)),
    # HYDRA build details:\n    Version:                                 5.0.2;   MPICH Version:      5.0.2   (mpichversion)
    VersionQuery(
        "mpich",
        (("mpiexec", "--version"), ("mpiexec.hydra", "--version"), ("mpichversion",)),
        r"^(?:HYDRA build details:\s+Version|MPICH Version):[ \t]+([0-9][^\s]*)",
    ),
    # Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)
    VersionQuery(
        "intelmpi",
        (("mpiexec.hydra", "--version"),),
        r"^Intel\(R\) MPI Library[^\n]{0,80}?, Version ([0-9.]+(?: Update [0-9]+)?)",
    ),
    VersionQuery("slurm", (("srun", "--version"), ("slurmd", "-V")), r"^slurm(?:-wlm)? ([0-9][^\s]*)"),
    VersionQuery("flux", (("flux", "version"),), r"^libflux-core:[ \t]*([0-9][^\s]*)"),
    # pbs_version = 2022.1.1;   pbs_version = PBSPro_11.1.0.111761
    VersionQuery("pbs", (("qstat", "--version"),), r"^pbs_version = (?:PBSPro_)?([0-9][^\s]*)"),
    # # Library version: 1.17.0;   before 1.14: # Version 1.13.1
    VersionQuery("ucx", (("ucx_info", "-v"),), r"^# (?:Library version:|Version) ([0-9][^\s]*)"),
    # libfabric: 1.17.0
    VersionQuery("libfabric", (("fi_info", "--version"),), r"^libfabric: ([0-9][^\s]*)"),
    # lstopo-no-graphics 2.9.0
    VersionQuery(
        "hwloc", (("lstopo-no-graphics", "--version"), ("lstopo", "--version")), r"^lstopo(?:-no-graphics)? ([0-9][^\s]*)"
    ),
)
"""How versions are told, of launchers and of what starts no ranks."""
SOFTWARE_COMMANDS = tuple(dict.fromkeys(argv for query in VERSIONS for argv in query.commands))
_SAYS = tuple((query.tool, re.compile(query.says, re.MULTILINE)) for query in VERSIONS)
"""The first that matches names the tool."""
_LONGEST = 1 << 16
"""Characters of an output that are looked at."""


def collect_software(host: Host) -> Machine:
    """Return the tools found, each once; () where none of the programs is there."""
    reader = Reader(host)
    tools: dict[str, Tool] = {}
    reasons = set()
    for argv in SOFTWARE_COMMANDS:
        ran = host.run(argv)
        reasons.add(ran.why)
        if ran.why in (Why.TIMEOUT, Why.FAILED, Why.REFUSED):
            reader.lacks(f"tools.{argv[0]}", f"{' '.join(argv)}: {ran.why}", "run the command by hand")
        tool = classify((ran.out + b"\n" + ran.err).decode("utf-8", "replace")) if ran.why is None else None
        if tool:
            reader.found(f"tools.{tool.name}", " ".join(argv))
            first = tools.get(tool.name, tool.but(path=ran.path))
            tools[tool.name] = first.but(version=first.version or tool.version)
    if reasons == {Why.NOT_KEPT}:
        return unknown("tools")
    if Why.FULL in reasons:  # a program that could not be asked is not one that is not there
        return Machine(gaps=(Gap(fact="tools", why=str(Why.FULL), help=FULL_HELP),))
    # Those are left out that are only parts of another in the same folder: MVAPICH's launcher is MPICH's Hydra.
    parts = {(part, _folder(tools[query.tool])) for query in VERSIONS if query.tool in tools for part in query.parts}
    return reader.machine(tools=tuple(tool for tool in tools.values() if (tool.name, _folder(tool)) not in parts))


def classify(output: str) -> Tool | None:
    """Return the tool and version that printed this, or None.

    >>> classify("mpirun (Open MPI) 4.1.4").version
    '4.1.4'
    """
    text = output[:_LONGEST]
    for name, pattern in _SAYS:
        match = pattern.search(text)
        if match:
            return Tool(name=name, version=match[1] if pattern.groups else None)
    return None


def _folder(tool: Tool) -> str | None:
    return tool.path.rpartition("/")[0] if tool.path else None


_HOSTNAME = "/proc/sys/kernel/hostname"
_SLURMD = ("slurmd", "-C")
_SCONTROL = ("scontrol", "--oneliner", "show", "node")
SCHEDULER_PATHS = (_HOSTNAME,)
SCHEDULER_COMMANDS = (_SLURMD, _SCONTROL)

_PATIENCE = 3.0
"""Seconds: scontrol tries a silent controller for nine or more, and a node is no worse understood without it."""

# Where each scheduler says it, innermost first: Flux is often started inside another one's job.
_SCHEDULERS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("flux", "FLUX_JOB_ID", (), ("FLUX_JOB_SIZE",)),
    ("slurm", "SLURM_JOB_ID", ("SLURM_JOB_NODELIST", "SLURM_NODELIST"), ("SLURM_NTASKS", "SLURM_NPROCS")),
    ("slurm", "SLURM_JOBID", ("SLURM_JOB_NODELIST", "SLURM_NODELIST"), ("SLURM_NTASKS", "SLURM_NPROCS")),
    ("pbs", "PBS_JOBID", (), ("PBS_NP",)),
    ("lsf", "LSB_JOBID", ("LSB_MCPU_HOSTS", "LSB_HOSTS"), ("LSB_DJOB_NUMPROC",)),
)


def collect_scheduler(host: Host) -> Machine:
    """Return the allocation, if this runs in a job, and Slurm's descriptions of this node."""
    reader = Reader(host)
    job = allocation(host.environment())
    if job:
        reader.found("allocation", f"environment of the {job.scheduler} job")
    return reader.machine(allocation=job, slurm_nodes=_slurm_nodes(reader))


def allocation(variables: Mapping[str, str]) -> Allocation | None:
    """Return the job that the environment's variables describe, or None outside one."""
    for scheduler, job, hosts, tasks in _SCHEDULERS:
        if variables.get(job):
            return Allocation(
                scheduler=scheduler,
                job=variables[job],
                hosts=_first(variables, hosts),
                tasks=number(_first(variables, tasks)),
                cpus=set_in(variables.get("LSB_BIND_CPU_LIST") or None) if scheduler == "lsf" else None,
            )
    return None


def parse_node(line: str, source: str) -> SlurmNode | None:
    """Return what a line ``NodeName=n1 CPUs=64 ...`` of slurmd -C or scontrol says, or None if it is another line."""
    words = _words(line)
    if "NodeName" not in words:
        return None
    memory = number(words.get("RealMemory"))
    control = "State" in words  # of the controller: it names what is kept for the system where there is any
    return SlurmNode(
        source=source,
        cpus=number(words.get("CPUs", words.get("CPUTot"))),
        boards=number(words.get("Boards")),
        sockets=number(words.get("SocketsPerBoard", words.get("Sockets"))),
        cores_per_socket=number(words.get("CoresPerSocket")),
        threads_per_core=number(words.get("ThreadsPerCore")),
        memory=None if memory is None else memory * MIB,
        core_spec=number(words.get("CoreSpecCount", "0" if control else None)),
        cpu_spec=set_in(words["CPUSpecList"]) if words.get("CPUSpecList") else CpuSet() if control else None,
        gres=_gres(words.get("Gres")),
    )


def own_line(text: str, host: str) -> str | None:
    """Return the one line of ``scontrol --oneliner show node`` that is about this host, or None."""
    short = host.partition(".")[0]
    if not short:
        return None
    for line in text.splitlines():
        # A substring first: a cluster has thousands of lines.
        if short in line:
            words = _words(line)
            if short in {words.get(key, "").partition(".")[0] for key in ("NodeName", "NodeHostName")}:
                return line
    return None


def _slurm_nodes(reader: Reader) -> tuple[SlurmNode, ...] | None:
    daemon = reader.host.run(_SLURMD, _PATIENCE)
    control = reader.host.run(_SCONTROL, _PATIENCE)
    line = own_line(control.text or "", reader.text(_HOSTNAME) or "") or ""
    lines = (("slurmd -C", (daemon.text or "").partition("\n")[0]), ("scontrol show node", line))
    nodes = tuple(node for source, line in lines if (node := parse_node(line, source)))
    whys = {daemon.why, control.why}
    if nodes:
        reader.found("slurm_nodes", ", ".join(node.source for node in nodes))
        return nodes
    if whys == {Why.ABSENT}:
        return ()
    if whys == {Why.NOT_KEPT}:
        reader.missed("slurm_nodes", "", Why.NOT_KEPT)
        return None
    complaint = (control.err.decode("utf-8", "replace").strip().splitlines() or ["this node is not in its list"])[0]
    why = f"scontrol: {control.why or complaint.removeprefix('scontrol: ')}; slurmd -C: {daemon.why or f'status {daemon.status}'}"
    reader.lacks("slurm_nodes", why, "run advisor on a compute node, or where slurmctld answers")
    return None


def _words(line: str) -> dict[str, str]:
    return dict(re.findall(r"(?:^|\s)([A-Za-z]{1,32})=(\S*)", line))


def _first(variables: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((variables[name] for name in names if variables.get(name)), None)


def _gres(text: str | None) -> str | None:
    """Return ``gpu:4`` of ``gpu:a100:4(S:0-1)``: names of types and sockets are the site's; None where the line has no word."""
    if text is None:
        return None
    names = {word.partition(":")[0].lower() for word in re.sub(r"\([^)]*\)", "", text).split(",")}
    return ",".join(sorted(name for name in names if re.fullmatch(r"[a-z0-9_]{1,20}", name, re.ASCII) and name != "null"))


SOURCES = (
    FactSource(
        "slurm",
        "How Slurm divides a node and binds what it starts: a few keys of slurm.conf, cgroup.conf and gres.conf.",
        collect_slurm,
        commands=(SLURM, CGROUP, GRES),
    ),
    FactSource(
        "slurmd",
        "slurmd's limits on locked memory, stack and open files. Jobs cannot exceed them; limits.d (PAM) does not apply.",
        collect_slurmd,
        commands=(_SHOW, SLURM),
    ),
    FactSource(
        "software",
        "MPI, schedulers and fabrics on PATH, recognised by their output, because every MPI calls its launcher mpirun.",
        collect_software,
        commands=SOFTWARE_COMMANDS,
    ),
    FactSource(
        "scheduler",
        "The job this process runs in, and how Slurm describes this node.",
        collect_scheduler,
        SCHEDULER_PATHS,
        SCHEDULER_COMMANDS,
    ),
)
