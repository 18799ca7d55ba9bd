"""A site for rollouts: imitated BMCs, nodes that start again when their BMC restarts them, a scheduler with jobs that end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from advisor.bios.connection import Secret
from advisor.bios.door import Door
from advisor.bios.drain import REASON, Said
from advisor.bios.rollout import Journal, Quick, Rollout, Runner, begun, policy_of, resumed
from advisor.bios.rollout_course import Policy
from advisor.bios.rollout_steps import FIGURES, Ground, Seen, Steps
from advisor.errors import CannotWork
from tests.bios.admin import WISH
from tests.bios.imitation import PASSWORD, USER, Bmc
from tests.bios.makers import MAKERS
from tests.bios.server import Plug
from tests.bios.wire import Rack

DOWN = 2
"""Looks at which a node that restarts does not answer."""


class Nodes:
    """The nodes of imitated BMCs; what is measured is how their wish is set."""

    def __init__(self, site: "Site") -> None:
        self._site = site

    def seen(self, names: Sequence[str]) -> Mapping[str, Seen]:
        """Return which start runs, once a node is up."""
        return {name: self._seen(self._site.bmcs[name]) for name in names}

    def _seen(self, bmc: Bmc) -> Seen:
        bmc.starting = max(0, bmc.starting - 1)
        off = bmc.power == "Off" or bmc.starting
        return Seen() if off else Seen(f"boot {bmc.boots}", bmc.identity.lower())

    def capture(self, names: Sequence[str], folder: Path) -> Mapping[str, Path]:
        """Return nothing: proof is the BMC's alone here."""
        del names, folder
        return {}

    def measure(self, names: Sequence[str], folder: Path) -> Mapping[str, str]:
        """Measure: a node with the wish gives 20, any other 10."""
        folder.mkdir(exist_ok=True)
        for name in names:
            figure = 20.0 if self._site.wished(self._site.bmcs[name].applied) else 10.0
            text = f'{{"name": "rate", "unit": "1/s", "better": "high", "figures": [{figure}]}}'
            (folder / f"{name}{FIGURES}").write_text(text)
        return {}


@dataclass
class Queue:
    """A scheduler: a node that is drained runs its job for some looks more."""

    jobs: dict[str, int] = field(default_factory=dict)
    """Looks for which a node's job still runs."""
    out: dict[str, str] = field(default_factory=dict)
    """Drained nodes and the reason."""
    broken: set[str] = field(default_factory=set)
    name: str = "Queue"
    words: list[tuple[str, str]] = field(default_factory=list)

    def state(self, node: str) -> Said:
        """Return how a node is."""
        if node in self.broken:
            raise CannotWork(f"{node} is not known")
        left = self.jobs.get(node, 0)
        if node in self.out and left:
            self.jobs[node] = left - 1
        out = node in self.out
        return Said(out and not left, f"{left} jobs", out, self.out.get(node) == REASON)

    def drain(self, node: str) -> None:
        """Drain a node."""
        self.words.append(("drain", node))
        self.out[node] = REASON

    def resume(self, node: str) -> None:
        """Give a node back."""
        if node in self.out:
            self.words.append(("resume", node))
            del self.out[node]


@dataclass
class Site:
    """Servers by their nodes' names, with what each had before."""

    folder: Path
    rack: Rack
    bmcs: dict[str, Bmc] = field(default_factory=dict)
    queue: Queue = field(default_factory=Queue)
    maker: str = "lenovo"
    wrong: list[str] = field(default_factory=list)
    """Restarts that should not have been asked for."""
    plug: Plug = field(default_factory=Plug)

    def add(self, name: str, **habits: Any) -> Bmc:
        """Put up a server."""
        bmc = self.rack.add(MAKERS[self.maker](**habits))
        bmc.polls = 1 if self.maker == "dell" else DOWN
        self.bmcs[name] = bmc
        reset = bmc.reset

        def watched(body: Any) -> Any:
            ours = dict([WISH[self.maker]])
            waits = {key: value for key, value in bmc.pending.items() if bmc.stored(key, ours.get(key)) != value}
            moved = bmc.oracle.moved(bmc.applied, ours)
            if foreign := waits.keys() - moved.keys() - ours.keys():
                self.wrong.append(f"{name} was restarted with {sorted(foreign)}")
            if self.queue.out.get(name) is None or self.queue.jobs.get(name):
                self.wrong.append(f"{name} was restarted and not drained")
            return reset(body)

        bmc.reset = watched  # type: ignore[method-assign]
        return bmc

    def wished(self, applied: Mapping[str, Any]) -> bool:
        """Return whether the wish is set."""
        name, value = WISH[self.maker]
        bmc = next(iter(self.bmcs.values()))
        return bool(applied[name] == bmc.stored(name, value))

    @property
    def doors(self) -> list[Door]:
        """Return a door to each."""
        return [Door(bmc.url, insecure=True, node=name, given=(USER, Secret(PASSWORD))) for name, bmc in self.bmcs.items()]

    def plan(self) -> Path:
        """Write the plan of the wish, for every server."""
        name, value = WISH[self.maker]
        place = self.folder / "plan.yaml"
        place.write_text(f'format: advisor-bios-plan/1\nchanges:\n  - {{attribute: "{name}", value: "{value}"}}\n')
        return place

    def begin(self, folder: str = "rollout", **more: Any) -> Path:
        """Begin a rollout's journal."""
        begun(self.folder / folder, self.doors, Policy(**more), {}).close()
        return self.folder / folder

    def go(self, folder: Path, *, abort: bool = False, approves: bool = True) -> Rollout:
        """Go on with a rollout, to its end or until the plug is pulled."""
        journal = resumed(folder)
        try:
            return Runner(self.watched(journal), self.steps(journal), lambda _: approves).run(abort=abort)
        finally:
            journal.close()

    def steps(self, journal: Journal) -> Steps:
        """Return the steps with the doors of this site."""
        doors = {door.name: door for door in self.doors}
        ground = Ground(
            journal.folder, doors, self.plan(), policy_of(journal), self.queue, Nodes(self), clock=Quick(), captures=False
        )
        return Steps(ground)

    def watched(self, journal: Journal) -> Journal:
        """Return a journal each line of which may be the last, before it is written or after."""
        real, lock = journal.file, Lock()
        assert real is not None
        write = real.write

        def line(told: dict[str, Any]) -> None:
            with lock:
                self.plug.around(str(told.get("event")), lambda: write(told))

        real.write = line  # type: ignore[method-assign, assignment]
        return journal


def ends(done: Rollout) -> dict[str, str]:
    """Return how each node ended."""
    return {node.name: node.ended for node in done.now.nodes}


def untrue(site: Site, done: Rollout, before: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what of the summary is not so, and what was done that may not be."""
    wrong = list(site.wrong)
    for node in done.now.nodes:
        bmc, was = site.bmcs[node.name], before[node.name]
        name, value = WISH[site.maker]
        ours_waits = bmc.pending.get(name) == bmc.stored(name, value)
        if node.ended in ("done", "proven") and not site.wished(bmc.applied):
            wrong.append(f"{node.name} is {node.ended}, and its value is not set")
        if node.ended == "as before" and (bmc.applied != was or ours_waits):
            wrong.append(f"{node.name} is as before, and {name} is {bmc.applied[name]}, waiting {bmc.pending}")
        if node.ended in ("done", "as before") and site.queue.out.get(node.name) == REASON:
            wrong.append(f"{node.name} is {node.ended}, and still drained")
        if node.ended == "under way":
            wrong.append(f"{node.name} is left {node.word}")
        if len(bmc.resets) > (2 if node.back else 1):
            wrong.append(f"{node.name} was restarted {len(bmc.resets)} times")
        if bmc.opened != bmc.closed and not bmc.faults and not site.plug.at:
            wrong.append(f"{node.name} has open sessions")
    return wrong


def applied(site: Site) -> dict[str, dict[str, Any]]:
    """Return what each server has now."""
    return {name: dict(bmc.applied) for name, bmc in site.bmcs.items()}
