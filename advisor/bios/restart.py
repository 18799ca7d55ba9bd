"""Restarts a server through its BMC: asked for by its own command, of a drained node, gracefully, once."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from advisor.bios.changes import restart
from advisor.bios.door import Door
from advisor.bios.reading import BiosReading, reading_of
from advisor.errors import CannotWork
from advisor.machine.hosts.base import Host, asks_the_network
from advisor.machine.hosts.live import LiveHost, find

if TYPE_CHECKING:
    pass


_BUSY: Final = ("ALLOCATED", "MIXED", "COMPLETING", "RESERVED", "PLANNED")


@dataclass(frozen=True)
class Restart:
    """A restart that is about to be asked for, or was."""

    reading: BiosReading
    slurm: str
    """What the scheduler says of the node, in words."""
    state: Literal["preview", "asked"] = "preview"

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        return "restart asked for, once" if self.state == "asked" else "to be restarted"

    good = True

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios restart --json``."""
        owner = self.reading.owner.model_dump(mode="json")
        told = {"state": self.state, "kind": "GracefulRestart", "waiting": self.reading.waiting, "scheduler": self.slurm}
        return {"schema": "advisor-bios-restart/1", "bmc": self.reading.bmc, "owner": owner, **told}


def restart_server(
    door: Door,
    confirm: Callable[[Restart], bool | None],
    *,
    node: str | None = None,
    no_slurm: bool = False,
    asked: dict[str, str] | None = None,
) -> Restart:
    """Ask a BMC once for a graceful restart of a node that runs nothing.

    ``asked`` remembers, over several calls, which servers were asked for one: two names may be those of one BMC.
    """
    host = LiveHost()
    with door.open() as session:
        reading = reading_of(session, with_registry=False)
        power = reading.raw.system.get("PowerState")
        if power not in ("On", None):
            session.fail(f"the server is not on ({session.clean(str(power))}): what waits takes effect when it is started")
        name = node or door.node or (reading.owner.host_name or "").partition(".")[0] or None
        about = Restart(reading, _drained(host, name, reading.bmc, no_slurm=no_slurm))
        if (said := confirm(about)) is None:
            return about
        if not said:
            raise CannotWork(f"{reading.bmc}: nothing was restarted, for nobody said yes")
        _drained(host, name, reading.bmc, no_slurm=no_slurm)  # a job may have begun while somebody thought about it
        first = (asked if asked is not None else {}).setdefault((reading.owner.uuid or door.bmc).lower(), door.bmc)
        if first != door.bmc:
            raise CannotWork(f"{reading.bmc}: it is the same server as {first}, which is asked once")
        restart(session, reading.raw.system)
        return Restart(reading, about.slurm, "asked")


def _drained(host: Host, name: str | None, bmc: str, *, no_slurm: bool) -> str:
    """Return what Slurm says of a node that may be restarted; refuse any other."""
    if no_slurm:
        return "in no Slurm cluster, as --no-slurm says"
    program = find("scontrol")
    if program is None or asks_the_network("scontrol", program):  # the command and its configuration are not both there
        return "no Slurm on this host to ask"
    if name is None:
        raise CannotWork(f"{bmc}: which node of Slurm it is is not known; give --node NAME, or --no-slurm where it is in none")
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}", name):
        raise CannotWork(f"{bmc}: {name[:60]} is no name of a node; give --node NAME")
    text = host.run(("scontrol", "show", "node", name, "--oneliner")).text
    state = re.search(r"(?:^|\s)State=([A-Z+_*~#!%$@^-]+)", text or "")
    if state is None:
        raise CannotWork(f"{bmc}: Slurm does not say how {name} is; give --node NAME, or --no-slurm where it is in none")
    words = set(re.findall(r"[A-Z_]+", state[1]))
    if "DRAIN" not in words or words.intersection(_BUSY):
        cure = f"scontrol update nodename={name} state=drain reason=bios, and wait until it is IDLE+DRAIN"
        raise CannotWork(f"{bmc}: {name} is not drained, Slurm says {state[1]}; {cure}")
    return f"{name} is drained, Slurm says {state[1]}"
