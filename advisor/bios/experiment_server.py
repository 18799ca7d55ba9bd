"""A real server of an experiment: its BMC by the laws of docs/bios.md, its system over ssh."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from shlex import quote
from typing import Any, Final

from pydantic import ValidationError

from advisor.advice.model.bios_change import BiosPlan
from advisor.bios.door import Door
from advisor.bios.experiment_plan import Program, Reads
from advisor.bios.plan import ground_of, load_plan
from advisor.bios.prove import prove_bios
from advisor.bios.reading import BiosReading, open_jobs, reading_of
from advisor.bios.stage import load_record, record_of, restart_server, save_record, stage_bios, undo_bios
from advisor.errors import BadInput, CannotWork
from advisor.jobs.on_node import Brought, brought, errand, new_mark
from advisor.jobs.racing.runs import read_figure
from advisor.machine.hosts.errands import Outcome, Reply, Way
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.nodes import ask_nodes
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import capture_script
from advisor.measure.measurement import Measurements, reported_text
from advisor.measure.run import LEAST, MOST, SHARE

_MOMENT: Final = 60.0
_CAPTURE: Final = 600.0
_BESIDE: Final = 120.0
"""Seconds beside a program's own: to connect, to bring what it printed."""
_MOST: Final = 16 << 20
_LOOKS: Final = 180
"""At the CPUs, a second each: what a boot leaves behind, such as a file system that is checked, has ended by then."""
_BOOT: Final = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True)
class RunOutcome:
    """How a program ended: its figure, or why it has none."""

    figure: float | None
    why: str | None = None


class Node:
    """A node that is asked over ssh; nothing is installed there, and nothing left."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _bring(self, script: str, seconds: float) -> Brought:
        mark, answers = new_mark(), list[Reply]()
        ask_nodes((self.name,), errand(script, mark), Way(timeout=seconds), answers.append)
        return brought(answers[0], mark) if answers else Brought(Outcome.FAILED, "no answer")

    def ask(self, script: str, seconds: float = _MOMENT) -> bytes:
        """Return the file that a script writes; refuse where it did not."""
        found = self._bring(script, seconds)
        if found.outcome is not Outcome.ANSWERED:
            raise CannotWork(f"{self.name}: {found.outcome}: {found.why or 'it does not answer'}"[:300])
        return found.file

    def boot(self) -> str | None:
        """Return which boot runs; None where the node does not answer."""
        found = self._bring('cat /proc/sys/kernel/random/boot_id >"$2"\n', _MOMENT)
        text = found.file.decode("ascii", "replace").strip()
        return text if _BOOT.fullmatch(text) else None

    def uuid(self) -> str | None:
        """Return the server's UUID as its firmware has it; None where this user may not read it."""
        text = (
            self.ask('cat /sys/class/dmi/id/product_uuid >"$2" 2>/dev/null || echo - >"$2"\n').decode("ascii", "replace").strip()
        )
        return text.lower() if _BOOT.fullmatch(text.lower()) else None

    def capture(self, place: Path) -> Path:
        """Capture the node into a file."""
        write_file(place, self.ask(capture_script(), _CAPTURE), private=True, durable=True)
        return place

    def read(self, path: str) -> str:
        """Return what stands in a setting's file, or in all files of a pattern; of a choice the one in brackets."""
        script = f'for each in {_pattern(path)}; do cat "$each" || exit 1; echo; done | grep -v "^$" | sort -u >"$2"\n'
        lines = self.ask(script).decode("utf-8", "replace").splitlines()
        if len(lines) != 1:
            raise CannotWork(f"{self.name}: {path} is not the same everywhere, and could not be put back")
        chosen = re.search(r"\[([^\]]+)\]", lines[0])
        return (chosen[1] if chosen else lines[0]).strip()

    def write(self, path: str, text: str) -> None:
        """Write a setting's file, or all files of a pattern, and see that it stands there."""
        self.ask(f'for each in {_pattern(path)}; do printf %s {quote(text)} >"$each" || exit 1; done; echo done >"$2"\n')
        if (found := self.read(path)) != text:
            raise CannotWork(f"{self.name}: {path} is {found} after {text} was written")

    def busy(self) -> str | None:
        """Wait until nobody else works on the node, some minutes at most; return what still does, None of an idle one."""
        said = self.ask(_until_idle(_LOOKS), _LOOKS * 2 + _MOMENT).decode("ascii", "replace")
        busy = re.fullmatch(r"busy ([0-9]+) ([0-9]+)\n", said)
        return f"{int(busy[1]) / 100:.3g} of {busy[2]} CPUs were busy before it was measured" if busy else None

    def run(self, program: Program, place: str) -> RunOutcome:
        """Run a program once; what it gave, or why it gave nothing."""
        words = program.run.replace("{place}", place).replace("{node}", quote(self.name))
        found = self._bring(_script(words, program.folder), program.minutes * 60 + _BESIDE)
        if found.outcome is not Outcome.ANSWERED:
            return RunOutcome(None, f"{found.outcome}: {found.why or ''}"[:300])
        head, _, rest = found.file.partition(b"\n")
        complaint, _, output = rest.partition(b"\n")
        status, begun, ended = head.split()
        if int(status):
            said = complaint.decode("utf-8", "replace")[:200]
            return RunOutcome(None, f"ended with status {int(status)}" + (f": {said}" if said.strip() else ""))
        return _figure(program, output.decode("utf-8", "replace"), float(ended) - float(begun))


def _until_idle(looks: int) -> str:
    """Return what waits until little else runs, by the limits of our own measurements, and writes how busy it was in the end."""
    share, most, least = (round(100 * each) for each in (SHARE, MOST, LEAST))
    return (
        "used() { read -r _ user nice system _ _ irq soft steal _ </proc/stat; "
        "echo $((user + nice + system + irq + soft + steal)); }\n"
        "cpus=$(grep -c '^cpu[0-9]' /proc/stat)\n"
        f'most=$(({share} * cpus)); [ "$most" -lt {most} ] || most={most}; [ "$most" -gt {least} ] || most={least}\n'
        f"left={looks} state=busy\n"
        'while [ "$left" -gt 0 ] && [ "$state" = busy ]; do\n'
        "before=$(used); sleep 1; busy=$(($(used) - before)); left=$((left - 1))\n"
        '[ "$busy" -gt "$most" ] || state=idle\n'
        "done\n"
        'echo "$state" "$busy" "$cpus" >"$2"\n'
    )


def _pattern(path: str) -> str:
    """Return a path for the shell, of which the stars alone mean something."""
    return "*".join(quote(part) for part in path.split("*"))


def _script(words: str, folder: str | None) -> str:
    """Return what runs a command, and writes how it ended, its last complaint, and the end of what it printed."""
    goes = f"cd {quote(folder)} && " if folder else ""
    return (
        "read -r begun rest </proc/uptime\n"
        f'( {goes}exec /bin/sh -c {quote(words)} ) >"$TMPDIR/said" 2>"$TMPDIR/complained" </dev/null\n'
        "status=$?\n"
        "read -r ended rest </proc/uptime\n"
        '{ echo "$status" "$begun" "$ended"; echo "$(tail -n 1 "$TMPDIR/complained")"; '
        f'tail -c {_MOST} "$TMPDIR/said"; }} >"$2"\n'
    )


def _figure(program: Program, text: str, seconds: float) -> RunOutcome:
    if program.reads is not None:
        return _of_results(program.reads, text)
    if program.metric is None:
        return RunOutcome(seconds) if seconds > 0 else RunOutcome(None, "it took no time that could be measured")
    found = read_figure(re.compile(program.metric), text)
    if found is None:
        return RunOutcome(None, "its figure is not in what it printed")
    return RunOutcome(found) if found > 0 else RunOutcome(None, f"its figure is {found:g}: only positive ones can be compared")


def _of_results(reads: Reads, text: str) -> RunOutcome:
    """Return the best of the results that are meant, of what advisor measure --json printed."""
    try:
        document, _ = JSONDecoder().raw_decode(text[text.index("{") :])
        results = Measurements.model_validate(document.get("measurements", document))
    except (ValueError, JSONDecodeError, ValidationError, RecursionError, AttributeError):
        return RunOutcome(None, "printed no results of advisor measure --json")
    wanted = (None,) if reads.variant is None else (reads.variant, f"{reads.variant}-nt")
    near = {"near": ("local", "same-socket"), "far": ("other-socket",), None: None}[reads.adapter]
    values = [
        each.median
        for each in results.of(reads.purpose, part=reads.part)
        if (wanted == (None,) or each.variant in wanted) and (near is None or reported_text(each, "hca_distance") in near)
    ]
    good = [each for each in values if each > 0]
    return RunOutcome(max(good)) if good else RunOutcome(None, "the result that is meant is not among those that it printed")


_WAIT = 900.0
"""Seconds for the BMC's job to end once the system answers."""


class RealServer:
    """One server."""

    def __init__(
        self,
        node: Node,
        door: Door,
        folder: Path,
        programs: Mapping[str, tuple[Program, str]],
        files: Mapping[str, str],
        *,
        no_slurm: bool = False,
        observer: Observer = SILENT,
    ) -> None:
        self.name, self.node, self._door, self._folder = node.name, node, door, folder
        self._programs, self._files, self._no_slurm, self._observer = programs, files, no_slurm, observer

    @property
    def home_record(self) -> Path:
        """Where the record lies with which advisor bios undo goes back, should all else be lost."""
        return home_of(self._folder, self.name)

    def plan_of(self, state: int) -> Path:
        """Where the plan of a state lies."""
        return self._folder / f"plan-{self.name}-{state}.yaml"

    def boot(self) -> str | None:
        """Return which boot runs."""
        return self.node.boot()

    def stage(self, state: int, unit: int) -> None:
        """Stage a state; what brings back the beginning says first what may wait from now on."""
        del unit
        plan = _plan(self.plan_of(state))
        record = load_record(self.home_record)
        kinds = {name: value for name, value in plan.values.items() if isinstance(value, bool | int | float | str)}
        save_record(self.home_record, record.model_copy(update={"asked": {**record.asked, **kinds}, "outcome": "staged"}))
        stage_bios(self.plan_of(state), self._door, self._free("stage"), lambda _: True)

    def _free(self, doing: str) -> Path:
        """Return the name of a record that is not there yet: none is ever written over."""
        numbers = range(1, 100_000)
        return next(path for each in numbers if not (path := self._folder / f"{doing}-{self.name}-{each}.json").exists())

    def restart(self) -> None:
        """Ask for a restart, once: of a drained node, where Slurm is."""
        record = self.home_record if self.home_record.exists() else None
        ways: dict[str, Any] = {
            "record": record,
            "exactly": False,
            "node": self.name,
            "no_slurm": self._no_slurm,
            "drained": True,
        }
        restart_server(self._door, lambda _: True, **ways)

    def back(self) -> None:
        """Stage what was there in the beginning."""
        undo_bios(self.home_record, self._door, self._free("undo"), lambda _: True)

    def away(self) -> list[str]:
        """Return what is not as in the beginning, or waits."""
        with self._door.open() as session:
            reading, jobs = reading_of(session), open_jobs(session)
        record = load_record(self.home_record)
        names = dict.fromkeys((*record.asked, *record.moves))
        differ = [name for name in names if not same(reading, name, reading.raw.applied.get(name), record.applied.get(name))]
        applied = [f"{name} is {reading.raw.applied.get(name)}, and was {record.applied.get(name)}" for name in differ]
        waits = [f"{name}={value} waits for a restart" for name, value in reading.waiting.items()]
        return [*applied, *waits, *(f"a job of the BMC waits or is not over: {job.state}" for job in jobs)]

    def proven(self, state: int, unit: int) -> dict[str, Any]:
        """Prove a state by the BMC and by a capture; return what else is not as in the beginning."""
        capture = self.node.capture(self._folder / f"capture-{self.name}-{unit}.tar.gz")
        proof = prove_bios(self.plan_of(state), self._door, str(capture), wait=_WAIT, observer=self._observer)
        if not proof.good:
            against = [line for each in proof.witnesses if each.says == "does not hold" for line in each.lines]
            raise CannotWork(f"{self.name}: not in the state that was staged: {'; '.join(against[:3])}")
        with self._door.open() as session:
            reading = reading_of(session)
        record, planned = load_record(self.home_record), _plan(self.plan_of(state)).values
        beside = {
            name: value
            for name, value in reading.bios.attributes.items()
            if name not in planned and name in record.applied and not same(reading, name, value, record.applied[name])
        }
        goes_back = {name: value for name, value in beside.items() if _may_be_written(reading, name)}
        save_record(self.home_record, record.model_copy(update={"moves": {**record.moves, **goes_back}}))
        return beside

    def read(self, setting: str) -> str:
        """Return what stands in a setting of the running kernel."""
        return self.node.read(self._files[setting])

    def write(self, setting: str, text: str) -> None:
        """Write a setting of the running kernel."""
        self.node.write(self._files[setting], text)

    def busy(self) -> str | None:
        """Wait until nobody else works there; return who still does."""
        return self.node.busy()

    def run(self, column: str) -> RunOutcome:
        """Run a program once."""
        return self.node.run(*self._programs[column])

    def now(self) -> float:
        """Return the seconds of a clock that only goes forward."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def home_of(folder: Path, name: str) -> Path:
    """Return where the record of a server's beginning lies."""
    return folder / f"home-{name}.json"


def _may_be_written(reading: BiosReading, name: str) -> bool:
    """Return whether the registry lets an attribute be written: what moved though no registry said so goes back as well."""
    known = reading.registry.attributes.get(name) if reading.registry else None
    return known is not None and not {"ReadOnly", "Immutable"} & set(known.flags)


def same(reading: BiosReading, name: str, one: Any, other: Any) -> bool:
    """Return whether two values of an attribute mean the same to this BIOS."""
    known = reading.registry.attributes.get(name) if reading.registry else None
    return bool(one == other or (known is not None and known.named(one) == known.named(other)))


def write_plan(place: Path, plan: BiosPlan) -> None:
    """Write a state's plan, so that it can be read, and staged by hand."""
    write_file(place, (json.dumps(plan.model_dump(mode="json"), indent=1) + "\n").encode(), private=True, durable=True)


def _plan(place: Path) -> BiosPlan:

    return load_plan(place)


def begin_home(place: Path, reading: BiosReading, plans: Sequence[BiosPlan], moves: Mapping[str, Any]) -> None:
    """Keep all that a BIOS is, and what may be changed of it: written once, before anything is staged."""
    asked = {name: value for plan in plans for name, value in plan.values.items()}
    record = record_of(reading, ground_of(plans[0], reading), asked, moves)
    if place.exists():
        raise BadInput("is there already", file=str(place), cure="name another --folder")
    save_record(place, record, new=True)
