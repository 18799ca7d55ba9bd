"""Why a launcher started nothing: what it complained of, as a cause and what to do about it. Pure."""

import re
from typing import Final, NamedTuple

PLACEHOLDERS: Final = ("NODE", "HOST", "PLACE", "ADVISORNODE")
"""What the names of hosts begin with that only stand for names (advisor bind --nodes)."""


class Failure(NamedTuple):
    """A complaint of a launcher, and what it means; ``{0}`` is what the complaint names."""

    says: str
    cause: str
    cure: str


_STANDS = rf"(?:{'|'.join(PLACEHOLDERS)})[0-9]+"


FAILURES: Final = (
    Failure(
        r"(\w+) has detected an attempt to run as root",
        "{0} refuses to start as root",
        "run it as another user, or in a container set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    Failure(
        r"There are not enough slots available in the system to satisfy the (\d+)",
        "the launcher has fewer slots than the {0} requested",
        "run this inside the job, or give each host its slots: --host NAME:RANKS, or NAME slots=RANKS in the host file",
    ),
    Failure(
        rf"(?:resolve hostname |bstrap_proxy on |Invalid node name specified.*?)({_STANDS})\b",
        "{0} only stands for a host whose name was not known",
        "plan again with --hosts, or inside the job: advisor bind --hosts a,b -o DIR -- ./app",
    ),
    Failure(
        r"resolve hostname ([^\s:]+)",
        "no host {0} is known here",
        "check the names with getent hosts {0}, and plan again with --hosts",
    ),
    Failure(
        r"ssh: connect to host ([^\s:]+) port \d+: (.+)|([^\s:@]+@[^\s:]+): (Permission denied.*)|(Host key verification failed)",
        "ssh does not reach a host ({0})",
        "it must work without a password: ssh -o BatchMode=yes HOST true",
    ),
    Failure(
        r"Unable to run bstrap_proxy on ([^\s:]+)",
        "Intel MPI cannot start on {0}",
        "check that the host exists and needs no password: ssh -o BatchMode=yes {0} true",
    ),
    Failure(
        r"Could not establish a configuration source|Unable to contact slurm controller",
        "srun cannot reach a Slurm controller from here",
        "run this on a login node or in a job of the cluster, or plan for another --launcher",
    ),
    Failure(
        r"Requested node configuration is not available|More processors requested than permitted",
        "the Slurm job has fewer CPUs or nodes than the plan",
        "ask for whole nodes (salloc --exclusive -N ...), and run this inside that job",
    ),
    Failure(
        r"(?:error while loading shared libraries: )([^\s:]+)",
        "{0} is not found",
        "load the module of the MPI that the plan is for",
    ),
    Failure(
        r"(?:cannot open|Can't open|can't open) '?((?:[^\s:']*/)?(?:bind-wrapper\.sh|rankfile|hostfile))",
        "{0} is not where the line names it",
        "advisor bind -o DIR -- ./app writes it; the folder must be the same on every host",
    ),
    Failure(
        r"(?:Executable: |execvp error on file |execve\(\): )([^\s:]+)",
        "{0} cannot be started on a host",
        "give its path, the same on every host, or load its module there",
    ),
    Failure(
        r"requested more processes than the ppr",
        "this node has fewer of the parts that ranks are counted in than the plan's",
        "plan again on this node, or name the one that the plan is for",
    ),
    Failure(
        r"unable to reliably start one or more daemons|A daemon failed to report back",
        "Open MPI starts nothing on the other hosts",
        "check that ssh HOST works without a password and finds the same Open MPI there (mpirun --prefix)",
    ),
)


def why_failed(complaints: str, line: str = "") -> str | None:
    """Return the first cause that the complaints about a line show, with its cure; None where none is known.

    >>> why_failed("ssh: Could not resolve hostname node01: Name or service not known")
    'no host node01 is known here; check the names with getent hosts node01, and plan again with --hosts'
    """
    for name in set(re.findall(rf"\b{_STANDS}\b", line)):
        complaints = complaints.replace(name.lower(), name)  # ssh writes the names of hosts small
    for each in FAILURES:
        match = re.search(each.says, complaints)
        if match:
            named = ": ".join(word[:120] for word in match.groups() if word)
            return f"{each.cause}; {each.cure}".replace("{0}", named)
    return None
