"""A BIOS rollout over the nodes themselves: which boot runs, captures and measurements before and after, by ssh."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from advisor.advice.bios_files import text_of
from advisor.bios.door import Door
from advisor.bios.drain import scheduler_here
from advisor.bios.experiment import logged_in
from advisor.bios.experiment_plan import Program, ready_programs
from advisor.bios.experiment_server import Node
from advisor.bios.plan import load_plan
from advisor.bios.rollout import Approve, Journal, Rollout, Runner, begun, must_have_nodes, policy_of, rehearse, resumed
from advisor.bios.rollout_course import Policy
from advisor.bios.rollout_steps import FIGURES, Ground, Seen, Steps
from advisor.errors import BadInput, CannotWork
from advisor.fleet.capture import CaptureOptions, capture_fleet
from advisor.fleet.fleet import CAPTURE_SUFFIX
from advisor.fleet.measure import measure_fleet
from advisor.machine.hosts.errands import Reply, Way
from advisor.machine.hosts.files import FILE, write_file
from advisor.machine.hosts.nodes import ask_nodes, brought, errand, new_mark
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import WITHHELD
from advisor.sheets import model_of, parse_sheet

_LOOK = '{ cat /proc/sys/kernel/random/boot_id; cat /sys/class/dmi/id/product_uuid 2>/dev/null || echo -; } >"$2"\n'
_MOMENT = 30.0
_CAPTURE = 600.0
_RUNS = 3
"""Runs of a program before and after: what one restart brought is described by their median, and proven by nothing."""
_LONGEST = 36


class FleetNodes:
    """Nodes over ssh."""

    def __init__(self, program: Program | None = None, observer: Observer = SILENT) -> None:
        self._program, self._observer = program, observer

    def seen(self, names: Sequence[str]) -> Mapping[str, Seen]:
        """Return which boot of each node runs, and its server's UUID where this user may read it."""
        mark, found = new_mark(), dict[str, Seen]()

        def take(reply: Reply) -> None:
            words = brought(reply, mark).file.decode("ascii", "replace").split()
            if len(words) == 2 and len(words[0]) == _LONGEST:
                found[reply.node] = Seen(words[0], words[1].lower() if len(words[1]) == _LONGEST else None)

        ask_nodes(names, errand(_LOOK, mark), Way(timeout=_MOMENT), take)
        return found

    def capture(self, names: Sequence[str], folder: Path) -> Mapping[str, Path]:
        """Capture nodes into a folder of a fleet; return the captures of those that answered."""
        if not names:
            return {}
        done = capture_fleet(names, folder, CaptureOptions(Way(timeout=_CAPTURE), timedelta(0)), self._observer)
        if done.interrupted:
            raise KeyboardInterrupt
        return {each.node: folder / f"{each.node}{CAPTURE_SUFFIX}" for each in done.answered}

    def measure(self, names: Sequence[str], folder: Path) -> Mapping[str, str]:
        """Measure the quick set, or run the program, on each; return why some have no figures."""
        if self._program is None:
            found = measure_fleet(names, folder, observer=self._observer)
            if found.interrupted:
                raise KeyboardInterrupt
            return found.why_not
        return {name: why for name in names if (why := self._run(self._program, name, folder)) is not None}

    def _run(self, program: Program, name: str, folder: Path) -> str | None:
        node, figures = Node(name), list[float]()
        for number in range(_RUNS):
            self._observer.step(name, f"{program.name}, run {number + 1} of {_RUNS}")
            ran = node.run(program, "")
            if ran.figure is None:
                return f"{program.name}: {ran.why}"
            figures.append(ran.figure)
        told: dict[str, Any] = {"name": program.name, "unit": program.unit, "better": program.better, "figures": figures}
        write_file(folder / f"{name}{FIGURES}", _json(told))
        return None


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


@dataclass(frozen=True)
class RolloutOptions:
    """How a rollout is run."""

    folder: Path
    policy: Policy = field(default_factory=Policy)
    drain: str | None = None
    undrain: str | None = None
    drained: bool = False
    no_slurm: bool = False
    program: Program | None = None
    """What is run before and after, in place of the quick measurements."""
    rehearse: bool = False

    @property
    def scheduler(self) -> dict[str, Any]:
        """Return who drains the nodes, for the journal."""
        return {"drain": self.drain, "undrain": self.undrain, "drained": self.drained, "no_slurm": self.no_slurm}


Confirm = Callable[[Rollout | None], bool]
"""Shows what the rehearsal brought, where there was one, and returns whether somebody said yes."""


def begin_rollout(
    plan: Path, doors: Sequence[Door], how: RolloutOptions, confirm: Confirm, approve: Approve, *, observer: Observer = SILENT
) -> Rollout:
    """Roll a plan out: rehearse it where that is wished, ask, then one node whole, five, and the rest."""
    must_have_nodes(doors)
    doors = logged_in(doors)
    scheduler_here(**how.scheduler)
    plans = {door.name: _read_plan(plan, door) for door in doors}
    if (how.folder / FILE).exists():
        raise CannotWork(f"{how.folder} contains a rollout; continue it with --resume {how.folder}, or name another --folder")
    found = rehearse_rollout(plan, doors, how, observer) if how.rehearse else None
    if found is not None and (wrong := [word for word, _ in found.folded if word.startswith("by hand")]):
        confirm(found)
        raise CannotWork(f"nothing was changed: the rehearsal failed: {wrong[0]}")
    if not confirm(found):
        raise CannotWork("nothing was changed: not confirmed")
    journal = begun(how.folder, doors, how.policy, {**how.scheduler, "program": how.program and how.program.model_dump()})
    try:
        for name, text in plans.items():
            place = how.folder / "plans" / f"{name}.yaml"
            place.parent.mkdir(exist_ok=True, mode=0o700)
            write_file(place, text, durable=True)
    finally:
        journal.close()
    return resume_rollout(how.folder, doors, approve, observer=observer)


def rehearse_rollout(plan: Path, doors: Sequence[Door], how: RolloutOptions, observer: Observer = SILENT) -> Rollout:
    """Return how a rollout ends on twins made from what the BMCs say now. Changes nothing."""
    must_have_nodes(doors)
    doors = logged_in(doors)
    for door in doors:
        _read_plan(plan, door)
    found = rehearse(doors, plan, how.policy, observer)
    observer.end()
    return found


def _read_plan(plan: Path, door: Door) -> bytes:
    place = door.of(plan)
    if not load_plan(place).changes:
        raise BadInput("it contains no changes", file=str(place), cure="leave this node out")
    return place.read_bytes()


def resume_rollout(
    folder: Path, doors: Sequence[Door], approve: Approve, *, abort: bool = False, observer: Observer = SILENT
) -> Rollout:
    """Go on with a rollout from where its journal ends; with ``abort`` begin no more, and take back what is not restarted."""
    journal = resumed(folder)
    try:
        program, known = _kept(journal)
        there = {door.name: door for door in logged_in(doors)}
        nodes, plan = FleetNodes(program, observer), folder / "plans" / "%h.yaml"
        ground = Ground(folder, there, plan, policy_of(journal), scheduler_here(**known), nodes, observer)
        return Runner(journal, Steps(ground), approve, observer).run(abort=abort)
    finally:
        journal.close()


def _kept(journal: Journal) -> tuple[Program | None, dict[str, Any]]:
    """Return what is run before and after, and who drains the nodes, as a journal's head has them."""
    if WITHHELD in str(journal.head.get("scheduler")):
        cure = "pass it in a file or the environment, and start with another --folder"
        raise BadInput(
            "a command line contains a credential, which is never stored in the journal",
            file=str(journal.folder / FILE),
            cure=cure,
        )
    try:
        known = dict(journal.head["scheduler"])
        program = known.pop("program", None)
        kinds = {"drain": str, "undrain": str, "drained": bool, "no_slurm": bool}
        if not all(known[name] is None or isinstance(known[name], kind) for name, kind in kinds.items()) or known.keys() - kinds:
            raise KeyError  # noqa: TRY301 - as a field that is missing
        return Program.model_validate(program) if program else None, known
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput("the first record is damaged", file=str(journal.folder / FILE), place="line 1") from error


def program_named(text: str) -> Program:
    """Return a program of the experiments by its name, or the one that a file describes."""
    known = ready_programs()
    if text in known:
        return known[text]
    place = Path(text)
    if not place.suffix:
        raise BadInput(
            f"{text[:60]} is not a built-in program", cure=f"available: {', '.join(known)}; or write a file with name: and run:"
        )
    return model_of(parse_sheet(text_of(place, 1 << 16, "a program"), str(place)), Program)
