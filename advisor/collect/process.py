"""What this process may use: limits, affinity, cgroup."""

import re

from advisor.collect.reader import CAPTURE_HELP, NOT_IN_INPUT, Reader
from advisor.errors import BadInput
from advisor.host.base import Host
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.hardware.operating_system import Limits

_LIMITS = "/proc/self/limits"
_STATUS = "/proc/self/status"
_CGROUP = "/proc/self/cgroup"
PATHS = (_LIMITS, _STATUS, _CGROUP)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

UNLIMITED = -1


def collect(host: Host) -> Machine:
    """Return the limits under which this process runs."""
    reader = Reader(host)
    given = reader.text(_LIMITS, "limits.memlock")
    if given:
        reader.found("limits.stack", _LIMITS)
        reader.found("limits.files", _LIMITS)
    status = reader.text(_STATUS, "limits.affinity")
    limits = Limits(
        memlock=soft_limit(given, "Max locked memory"),
        stack=soft_limit(given, "Max stack size"),
        files=soft_limit(given, "Max open files"),
        affinity=_list(reader, status, "Cpus_allowed_list", "limits.affinity"),
        memory_nodes=_list(reader, status, "Mems_allowed_list", "limits.memory_nodes"),
        cgroup=cgroup_path(reader.text(_CGROUP, "limits.cgroup")),
    )
    if limits == Limits():
        return Machine(gaps=(Gap(fact="limits", why=NOT_IN_INPUT, help=CAPTURE_HELP),))
    return Machine(limits=limits, sources=reader.sources, gaps=reader.gaps)


def soft_limit(text: str | None, name: str) -> int | None:
    """Return the soft limit of a line of /proc/self/limits, -1 for unlimited, or None.

    >>> soft_limit("Max locked memory         8388608              unlimited            bytes", "Max locked memory")
    8388608
    """
    match = re.search(rf"^{re.escape(name)}\s+(unlimited|[0-9]{{1,20}})\b", text or "", re.MULTILINE)
    if not match:
        return None
    return UNLIMITED if match[1] == "unlimited" else int(match[1])


def cgroup_path(text: str | None) -> str | None:
    r"""Return the path of the cpuset hierarchy (v1) or else of the unified one (v2).

    >>> cgroup_path("4:cpuset:/slurm/job_7\n0::/\n")
    '/slurm/job_7'
    """
    unified = None
    for line in (text or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and "cpuset" in controllers.split(","):
            return path
        if colon and not controllers and unified is None:
            unified = path
    return unified


def _list(reader: Reader, status: str | None, name: str, fact: str) -> CpuSet | None:
    match = re.search(rf"^{name}:[ \t]*(\S*)", status or "", re.MULTILINE)
    if not match:
        return None
    reader.found(fact, _STATUS)
    try:
        return CpuSet.parse(match[1])
    except BadInput as error:
        reader.lacks(fact, f"{_STATUS}: {error.problem}", "report it with the output of advisor capture")
        return None
