"""MPI, schedulers and fabrics on PATH, told apart by what they print: every MPI calls its launcher mpirun."""

import re

from advisor.collect.reader import CAPTURE_HELP, NOT_IN_INPUT, Reader
from advisor.host.base import Host, Why
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.hardware.operating_system import Tool

PATHS: tuple[str, ...] = ()
COMMANDS = (
    ("mpirun", "--version"),
    ("mpiexec", "--version"),
    ("mpiexec.hydra", "--version"),
    ("mpichversion",),
    ("mpiname", "-a"),
    ("ompi_info", "--version"),
    ("prterun", "--version"),
    ("prte_info", "--version"),
    ("srun", "--version"),
    ("slurmd", "-V"),
    ("flux", "version"),
    ("qstat", "--version"),
    ("ucx_info", "-v"),
    ("fi_info", "--version"),
    ("lstopo-no-graphics", "--version"),
    ("lstopo", "--version"),
)
RANK = 20

# Each with the output it was written from; the first that matches names the tool.
_SAYS = (
    # Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)
    ("intelmpi", re.compile(r"^Intel\(R\) MPI Library[^\n]{0,80}?, Version ([0-9.]+(?: Update [0-9]+)?)", re.MULTILINE)),
    # MVAPICH2 Version:       2.3.7   (mpichversion);   MVAPICH2 2.3.7 Wed March 02 ... ch3:mrail   (mpiname -a)
    ("mvapich", re.compile(r"^MVAPICH2?(?:[ \t]+Version:)?[ \t]+([0-9][^\s]*)", re.MULTILINE)),
    # mpirun (Open MPI) 5.0.11;   Open MPI v4.1.4   (ompi_info)
    ("openmpi", re.compile(r"^(?:\S+ \(Open MPI\) |Open MPI v)([0-9][^\s]*)", re.MULTILINE)),
    # prterun (PRRTE) 3.0.14
    ("prrte", re.compile(r"^\S+ \(PRRTE\) ([0-9][^\s]*)", re.MULTILINE)),
    # HYDRA build details:\n    Version:                                 5.0.2;   MPICH Version:      5.0.2   (mpichversion)
    ("mpich", re.compile(r"^(?:HYDRA build details:\s+Version|MPICH Version):[ \t]+([0-9][^\s]*)", re.MULTILINE)),
    # slurm 23.11.4;   Debian's package: slurm-wlm 22.05.8
    ("slurm", re.compile(r"^slurm(?:-wlm)? ([0-9][^\s]*)", re.MULTILINE)),
    # libflux-core:\t\t0.50.0
    ("flux", re.compile(r"^libflux-core:[ \t]*([0-9][^\s]*)", re.MULTILINE)),
    # pbs_version = 2022.1.1;   pbs_version = PBSPro_11.1.0.111761
    ("pbs", re.compile(r"^pbs_version = (?:PBSPro_)?([0-9][^\s]*)", re.MULTILINE)),
    # # Library version: 1.17.0;   before 1.14: # Version 1.13.1
    ("ucx", re.compile(r"^# (?:Library version:|Version) ([0-9][^\s]*)", re.MULTILINE)),
    # libfabric: 1.17.0
    ("libfabric", re.compile(r"^libfabric: ([0-9][^\s]*)", re.MULTILINE)),
    # lstopo-no-graphics 2.9.0
    ("hwloc", re.compile(r"^lstopo(?:-no-graphics)? ([0-9][^\s]*)", re.MULTILINE)),
)
_LONGEST = 1 << 16
"""Characters of an output that are looked at."""


def collect(host: Host) -> Machine:
    """Return the tools found, each once; () where none of the programs is there."""
    reader = Reader(host)
    tools: dict[str, Tool] = {}
    reasons = set()
    for argv in COMMANDS:
        ran = host.run(argv)
        reasons.add(ran.why)
        if ran.why in (Why.TIMEOUT, Why.FAILED, Why.REFUSED):
            reader.lacks(f"tools.{argv[0]}", f"{' '.join(argv)}: {ran.why}", "run it by hand")
        tool = classify((ran.out + b"\n" + ran.err).decode("utf-8", "replace")) if ran.why is None else None
        if tool:
            reader.found(f"tools.{tool.name}", " ".join(argv))
            tools[tool.name] = _same(tools.get(tool.name), tool.model_copy(update={"path": ran.path}))
    if reasons == {Why.NOT_KEPT}:
        return Machine(gaps=(Gap(fact="tools", why=NOT_IN_INPUT, help=CAPTURE_HELP),))
    return Machine(tools=_honest(tools), sources=reader.sources, gaps=reader.gaps)


def classify(output: str) -> Tool | None:
    """Return the tool and version that printed this, or None.

    >>> classify("mpirun (Open MPI) 4.1.4").version
    '4.1.4'
    """
    text = output[:_LONGEST]
    for name, pattern in _SAYS:
        match = pattern.search(text)
        if match and name == "mpich" and text.lstrip().startswith("HYDRA") and "mvapich" in text.lower():
            # MVAPICH's launcher is MPICH's Hydra and prints the version of that; only its build options betray it.
            return Tool(name="mvapich")
        if match:
            return Tool(name=name, version=match[1])
    return None


def _same(first: Tool | None, again: Tool) -> Tool:
    return again if first is None else first.model_copy(update={"version": first.version or again.version})


def _honest(tools: dict[str, Tool]) -> tuple[Tool, ...]:
    """Return the tools without the MPICH that is only MVAPICH's Hydra: a launcher in the same folder."""
    mpich, mvapich = tools.get("mpich"), tools.get("mvapich")
    hydra = mpich is not None and mvapich is not None and _folder(mpich) == _folder(mvapich)
    return tuple(tool for tool in tools.values() if not (hydra and tool is mpich))


def _folder(tool: Tool) -> str | None:
    return tool.path.rpartition("/")[0] if tool.path else None
