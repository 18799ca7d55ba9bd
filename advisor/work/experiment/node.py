"""What an experiment does on a node, over ssh: which boot runs, a capture, settings of the running kernel, programs."""

import re
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from shlex import quote
from typing import Final

from pydantic import ValidationError

from advisor.errors import CannotWork
from advisor.host.errands import Reply, Way
from advisor.host.files import write_file
from advisor.host.nodes import ask_nodes
from advisor.measure.idle_check import LEAST, MOST, SHARE
from advisor.model.experiment import Program, Reads
from advisor.model.fleet import Outcome
from advisor.model.measurement import Measurements, reported_text
from advisor.work.fleet.on_node import Brought, brought, errand, new_mark
from advisor.work.machine import capture_script
from advisor.work.tune.runs import read_figure

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
