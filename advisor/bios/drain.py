"""Takes a node out of its scheduler and gives it back: Slurm, PBS, LSF, or a site's own commands; no shell reads a word."""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from advisor.errors import BadValue, CannotWork, one_line
from advisor.machine.hosts.base import Host, Ran, asks_the_network
from advisor.machine.hosts.live import LiveHost, find

REASON = "advisor-bios-rollout"
"""By which a node that we drained is known from one that somebody else did."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_TURN = 60.0
_SITE = 3600.0
"""Seconds for a site's own command, which may wait for jobs."""
_BUSY = ("ALLOCATED", "MIXED", "COMPLETING", "RESERVED", "PLANNED")


@dataclass(frozen=True)
class Said:
    """What a scheduler says of a node."""

    free: bool
    """Whether it is drained and runs nothing."""
    words: str
    out: bool = False
    """Whether it takes no new jobs."""
    ours: bool = False
    """Whether it does so because of us, where the scheduler keeps reasons."""


class Scheduler(Protocol):
    """Who gives jobs to nodes."""

    @property
    def name(self) -> str:
        """Return what it is called."""

    def state(self, node: str) -> Said:
        """Return how a node is; raise where that cannot be known."""

    def drain(self, node: str) -> None:
        """Let a node take no new jobs; those that run go on."""

    def resume(self, node: str) -> None:
        """Give a node back."""


def checked_name(node: str) -> str:
    """Return a node's name that no command takes for an option or several nodes."""
    if not _NAME.fullmatch(node):
        raise CannotWork(f"{node[:60]} is not a node name; give --node NAME")
    return node


def _done(ran: Ran, words: str) -> None:
    if ran.why is not None or ran.status:
        said = one_line(str(ran.err or ran.text or ran.why or f"status {ran.status}"))
        raise CannotWork(f"{words}: {said[:200]}")


@dataclass(frozen=True)
class _Typed(ABC):
    """A scheduler that is asked by its own commands."""

    host: Host

    @abstractmethod
    def state(self, node: str) -> Said:
        """Return how a node is."""

    @abstractmethod
    def lines(self, node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the commands that take a node out and that give it back."""

    def drain(self, node: str) -> None:
        """Let a node take no new jobs, with our reason where it keeps one."""
        self._type(self.lines(checked_name(node))[0])

    def resume(self, node: str) -> None:
        """Give a node back; one that is back is left."""
        if self.state(node).out:
            self._type(self.lines(checked_name(node))[1])

    def _type(self, line: tuple[str, ...]) -> None:
        _done(self.host.run(line, timeout=_TURN), " ".join(line))


@dataclass(frozen=True)
class Slurm(_Typed):
    """Slurm: drained is DRAIN and nothing that runs."""

    name: str = "Slurm"

    def state(self, node: str) -> Said:
        """Return how a node is, by scontrol."""
        text = self.host.run(("scontrol", "show", "node", checked_name(node), "--oneliner")).text or ""
        state = re.search(r"(?:^|\s)State=([A-Z+_*~#!%$@^-]+)", text)
        if state is None:
            raise CannotWork(f"Slurm reports no state for {node}; give --node NAME, or --no-slurm if it is not in Slurm")
        words = set(re.findall(r"[A-Z_]+", state[1]))
        return Said("DRAIN" in words and not words.intersection(_BUSY), state[1], "DRAIN" in words, f"Reason={REASON}" in text)

    def lines(self, node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what scontrol is asked."""
        update = ("scontrol", "update", f"nodename={node}")
        return (*update, "state=drain", f"reason={REASON}"), (*update, "state=resume")


@dataclass(frozen=True)
class Pbs(_Typed):
    """PBS: offline, and no jobs on it (pbsnodes of OpenPBS and Torque)."""

    name: str = "PBS"

    def state(self, node: str) -> Said:
        """Return how a node is, by pbsnodes."""
        text = self.host.run(("pbsnodes", checked_name(node)), timeout=_TURN).text or ""
        states = re.findall(r"^\s*state = (\S.*?)\s*$", text, re.MULTILINE)
        if not states:
            raise CannotWork(f"PBS reports no state for {node}: run pbsnodes {node}")
        words = {word.strip() for state in states for word in state.split(",")}
        runs = bool(re.search(r"^\s*jobs = \S", text, re.MULTILINE)) or any(word.startswith(("job-", "busy")) for word in words)
        return Said("offline" in words and not runs, ",".join(sorted(words)), "offline" in words, REASON in text)

    def lines(self, node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what marks a node offline, and clears that."""
        return ("pbsnodes", "-o", node), ("pbsnodes", "-r", node)


@dataclass(frozen=True)
class Lsf(_Typed):
    """LSF: closed by an administrator, and no jobs on it."""

    name: str = "LSF"

    def state(self, node: str) -> Said:
        """Return how a host is, by bhosts -w: HOST_NAME STATUS JL/U MAX NJOBS ..."""
        rows = (self.host.run(("bhosts", "-w", checked_name(node)), timeout=_TURN).text or "").splitlines()
        row = next((words for line in rows[1:] if len(words := line.split()) >= 5), None)
        if row is None:
            raise CannotWork(f"LSF reports no state for {node}: run bhosts -w {node}")
        return Said(
            row[1].startswith("closed_Adm") and row[4] == "0", f"{row[1]}, {row[4]} slots in use", row[1].startswith("closed_Adm")
        )

    def lines(self, node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what closes a host and opens it."""
        return ("badmin", "hclose", "-C", REASON, node), ("badmin", "hopen", node)


@dataclass
class Own:
    """A site's own commands, the node their last word: the first returns 0 once the node is drained and runs nothing."""

    host: LiveHost
    drains: tuple[str, ...]
    resumes: tuple[str, ...]
    name: str = "the site's command"

    def state(self, node: str) -> Said:
        """Return whether the site's command says that a node is drained; it is asked again until it does."""
        ran = self._run((*self.drains, checked_name(node)))
        return Said(
            ran.status == 0 and ran.why is None, "drained" if ran.status == 0 else f"status {ran.status}", out=True, ours=True
        )

    def drain(self, node: str) -> None:
        """Do nothing: asking for the state drains it."""

    def resume(self, node: str) -> None:
        """Give a node back."""
        line = (*self.resumes, checked_name(node))
        _done(self._run(line), " ".join(line))

    def _run(self, line: tuple[str, ...]) -> Ran:
        return self.host.launch(line, lambda _: None, timeout=_SITE)


@dataclass(frozen=True)
class Nobody:
    """No scheduler: whoever says --drained knows that the nodes run nothing."""

    name: str = "no scheduler"

    def state(self, node: str) -> Said:
        """Return that it is drained, according to --drained."""
        return Said(free=bool(node), words="drained, according to --drained", out=True, ours=True)

    def drain(self, node: str) -> None:
        """Do nothing."""

    def resume(self, node: str) -> None:
        """Do nothing."""


_KNOWN: tuple[tuple[str, Callable[[Host], Scheduler]], ...] = (("scontrol", Slurm), ("pbsnodes", Pbs), ("badmin", Lsf))


def scheduler_here(drain: str | None, undrain: str | None, *, drained: bool, no_slurm: bool = False) -> Scheduler:
    """Return who gives jobs to the nodes: what the options say, or the scheduler whose commands are here."""
    if (drain is None) != (undrain is None):
        raise BadValue(
            "--drain and --undrain are only valid together", cure="give both commands; the node's name is added to each"
        )
    if drained and drain is not None:
        raise BadValue("--drained and --drain cannot be combined", cure="omit --drained if a command drains the nodes")
    if drain is not None and undrain is not None:
        return Own(LiveHost(), _words("--drain", drain), _words("--undrain", undrain))
    if drained:
        return Nobody()
    for program, kind in _KNOWN:
        found = None if no_slurm and program == "scontrol" else find(program)
        if found is not None and not asks_the_network(program, found):
            return kind(LiveHost())
    raise CannotWork(
        "no scheduler found here (Slurm, PBS, LSF); give --drain CMD and --undrain CMD, or --drained if the nodes run nothing"
    )


def _words(option: str, text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BadValue(
            f"{option} {text[:60]}: {error}", cure="write a command and its arguments; it runs without a shell"
        ) from error
    if not words or find(words[0]) is None:
        raise BadValue(f"{option} {text[:60]}: command not found on this host", cure="write its path")
    return words
