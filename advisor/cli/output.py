"""What the command line writes: pages, JSON documents and files, and on standard error what is under way."""

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from advisor.errors import BadValue
from advisor.machine.hosts.files import write_file
from advisor.machine.observer import Observer, Progress
from advisor.machine.secrecy import screened, without_secrets

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.jobs.bind_page import BoundJob
    from advisor.jobs.started.benchmark import Lines
    from advisor.measure.measurement import BeforeAfter
    from advisor.measure.task import Measured

_MOMENT = 1.0
_PIECE = 4096
_UNPRINTABLE = re.compile("[^\n -~]")


@dataclass(frozen=True)
class Form:
    """Where an answer goes and what it looks like."""

    output: Path | None = None
    json: bool = False
    width: int | None = None
    color: bool = True


PLAIN = Form()


def show(form: Form, document: "Callable[[], object]", page: "Callable[[], RenderableType | list[RenderableType]]") -> None:
    """Print an answer as its JSON document or as its page, or write it to a file."""
    if form.json:
        emit_json(document(), form.output)
        return
    drawn = page()
    emit(drawn if isinstance(drawn, list) else [drawn], form.output, color=form.color, width=form.width)


class Drawing(NamedTuple):
    """What is to be drawn of the answer, and where to."""

    svg: Path | None
    png: Path | None
    chart: str | None
    intensity: float | None
    what: str | None = None
    """What was measured, which may have a chart of its own."""


NO_DRAWING = Drawing(None, None, None, None)
Shown = tuple[Path | None, Form, Drawing]
"""Where measurements are kept, what the answer looks like, and what is drawn."""


def show_lines(lines: "Lines", form: Form) -> int:
    """Print lines to paste, or write them with their files into the folder that is named; return the exit status."""
    from advisor.jobs.started.folder import write_benchmark
    from advisor.show.commandline import benchmark_page

    if form.output is not None:
        lines = write_benchmark(form.output, lines)
    show(replace(form, output=None), lines.document, lambda: benchmark_page(lines.steps, lines.notes, form.width))
    return 0


def show_measured(
    done: "Measured",
    notes: Sequence[str],
    save: Path | None,
    form: Form,
    *,
    compared: "BeforeAfter | None" = None,
    drawing: Drawing | None = None,
) -> int:
    """Print what was measured, and what that is beside an earlier run; keep and draw it as wished; return the exit status."""
    from advisor.advice.compare import before_after_document, before_after_page
    from advisor.advice.whatif import measured_on
    from advisor.measure.page import measured_page

    if save is not None:
        emit_json(done.document(), save)

    def document() -> object:
        told = done.document()
        return {**before_after_document(compared), "measurements": told} if compared else told

    def page() -> "list[RenderableType]":
        known, wished = done.machine, drawing.intensity if drawing else None
        facts = measured_on(known, done.measurements) if known else None
        measured = measured_page(done.measurements, form.width, machine=known, facts=facts, intensity=wished)
        beside = [before_after_page(compared, form.width)] if compared else []
        return [measured, *beside, *(f"Note: {note}" for note in notes)]

    show(form, document, page)
    if drawing is not None:
        _draw(done, drawing)
    return 130 if done.interrupted else 0


def show_saved(words: list[str], files: list[Path], source: str | None, shown: Shown) -> int:
    """Print what was measured before."""
    from advisor.measure.task import saved_measurements
    from advisor.show.commandline import word

    save, form, drawing = shown
    if words == ["show"] and not files:
        raise BadValue("measure show needs a file", cure="give a file that measure --save wrote: advisor measure show FILE")
    if words and (words[0] != "show" or len(words) < 2 or files):
        raise BadValue("give saved results either as show FILE or as --measurements FILE", cure="use one of the two")
    named = files or [Path(each) for each in words[1:]]
    done = saved_measurements(named, source, must_fit=bool(files) or source is not None, observer=Terminal())
    other = (f"compare it with another run: advisor compare {word(str(named[0]))} OTHER",) if len(named) == 1 else ()
    return show_measured(done, other, save, form, drawing=drawing)


def _draw(done: "Measured", drawing: Drawing) -> None:
    files = [(file, kind) for file, kind in ((drawing.svg, "svg"), (drawing.png, "png")) if file is not None]
    if not files:
        return
    from advisor.measure.charts import chart, chart_named
    from advisor.measure.plan import CHARTS, SETS

    wished = drawing.chart or ("" if drawing.what in SETS else drawing.what or "")
    name = chart_named(done.measurements, CHARTS.get(wished, (drawing.chart,))[0])
    for file, kind in files:
        write_file(file, chart(done.measurements, name, kind, drawing.intensity, machine=done.machine))


def show_job(job: "BoundJob", form: Form, svg: Path | None, what: str = "page") -> None:
    """Print the page of a job, or its line alone, and draw it; as JSON line by line, for there may be half a million ranks."""
    from advisor.jobs.bind_page import bind_document, bind_page, bind_svg, command_line, missing_files

    missing = missing_files(job) if what == "line" else ()
    if missing:
        cure = f"add -o DIR to write {'it' if len(missing) == 1 else 'them'} and to print the line with the path"
        raise BadValue(f"this line needs {' and '.join(missing)}", cure=cure)
    if svg is not None:
        write_file(svg, bind_svg(job).encode())
    if form.json:
        for line in bind_document(job):
            say(line + "\n")
    elif what == "line":
        say(command_line(job) + "\n")
    else:
        rows = shutil.get_terminal_size().lines if sys.stdout.isatty() else None
        page = bind_page(job, form.width, explain=what == "explain", quiet=what == "quiet", rows=rows)
        emit([page], None, color=form.color, width=form.width)


def show_kernels(form: Form) -> int:
    """Print what each kernel measures; the status is 2 where a header comment leaves something out."""
    from advisor.measure.contract import read_kernels
    from advisor.measure.page import kernels_document, kernels_page

    found = read_kernels()
    sheets, wrong = found.sheets.values(), [str(error) for error in found.wrong.values()]
    show(form, lambda: kernels_document(sheets, wrong), lambda: kernels_page(sheets, wrong, form.width))
    return 2 if wrong else 0


def say(text: str, *, own: bool = False) -> None:
    """Print a text of any length, without credentials unless it is a script of our ``own``.

    A console may take less than one long write offers it, and Python unbuffered drops the rest.
    """
    text = text if own else without_secrets(text)
    for start in range(0, len(text), _PIECE):
        sys.stdout.write(text[start : start + _PIECE])
    sys.stdout.flush()


def emit_text(text: str, output: Path | None, *, private: bool = False) -> int:
    """Print a text as it is, or write it to a file, a private one for its owner alone; return the exit status."""
    if output is None:
        say(text)
    else:
        write_file(output, text.encode(), private=private)
    return 0


def emit_json(document: object, output: Path | None, *, private: bool = False, indent: int | None = 1) -> None:
    """Print a document as JSON, or write it to a file."""
    text = _UNPRINTABLE.sub(_escaped, json.dumps(screened(document), indent=indent, ensure_ascii=False)) + "\n"
    emit_text(text, output, private=private)


def _escaped(match: re.Match[str]) -> str:
    """Return a letter as it is if it can be printed, else as JSON escapes it: no name may steer the terminal."""
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]


def emit(renderables: "list[RenderableType]", output: Path | None, *, color: bool, width: int | None = None) -> None:
    """Print what rich can draw, to the terminal or without colours to a file."""
    from io import StringIO, TextIOWrapper

    file = None if output is None else StringIO()
    if file is None and _plain_locale() and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="ascii", errors="replace")
    width = width if file is None else width or 120
    console = ScreenedConsole(file=file, no_color=not (color and file is None) or None, highlight=False, width=width)
    with console.capture() as page:
        for renderable in renderables:
            console.print(renderable, crop=False)  # a command to be copied is longer than a narrow terminal
    emit_text(page.get(), output)


def _plain_locale() -> bool:
    """Return whether the locale was set to C, which Python itself takes for UTF-8: a console that may draw no frames."""
    whole, letters = os.environ.get("LC_ALL"), os.environ.get("LC_CTYPE", "")
    coerced = letters in ("", "C", "POSIX", "C.UTF-8", "C.utf8", "UTF-8")  # what PEP 538 writes there, among them
    return (whole or (os.environ.get("LANG", "") if coerced else "")) in ("C", "POSIX")


class Terminal(Observer):
    """The observer of the command line: writes on standard error what is under way.

    On a terminal that is one line which changes; ``verbose`` is a line of its own for each task, ``details`` for each run.
    """

    def __init__(self, *, verbose: bool = False, details: bool | None = None) -> None:
        self._verbose = verbose
        self._details = verbose if details is None else details
        self._changing = sys.stderr.isatty()
        self._begun: float | None = None
        self._shown = False
        self._ticker: Ticker | None = None

    def say(self, text: str) -> None:
        """Say on standard error what its user should read."""
        self._clear()
        sys.stderr.write(f"advisor: {without_secrets(text)}\n")
        sys.stderr.flush()

    def detail(self, text: str) -> None:
        """Say what is run, where that is wished."""
        if self._details:
            self.say(text)

    def step(self, what: str, name: str) -> None:
        """Show what is being done once it takes longer than a moment."""
        self._begun = self._begun if self._begun is not None else time.monotonic()
        if self._changing and time.monotonic() - self._begun > _MOMENT:
            self._show(f"{what}: {name[:60]}")

    def task(self, now: Progress) -> None:
        """Show what is being measured and how long the rest takes; on a terminal the time moves every second."""
        from advisor.measure.page import in_words, time_left

        text, ends = f"{in_words(now.task)} ({now.number} of {now.of})", time.monotonic() + now.left
        self._stop()
        if self._verbose:
            self.say(f"{now.task.name}: {text}, {time_left(now.left)}")
        elif self._changing:
            self._ticker = Ticker(lambda: self._show(f"{text}, {time_left(ends - time.monotonic())}"))

    def end(self) -> None:
        """Take away the line that changes."""
        self._clear()
        self._begun = None

    def _stop(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _clear(self) -> None:
        self._stop()
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = False

    def _show(self, text: str) -> None:
        room = shutil.get_terminal_size().columns - len("advisor: ") - 1  # a line that wraps would not be taken away whole
        sys.stderr.write(f"\r\x1b[Kadvisor: {without_secrets(text)[:room]}")
        sys.stderr.flush()
        self._shown = True


class ScreenedConsole(Console):
    """A console whose texts, those in the cells of tables too, are screened as they stand, in one piece."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Any:
        """Return the segments of what is drawn."""
        if isinstance(renderable, str):
            renderable = without_secrets(renderable)
        elif isinstance(renderable, Text) and (clean := without_secrets(renderable.plain)) != renderable.plain:
            renderable = Text(clean, renderable.style, justify=renderable.justify, overflow=renderable.overflow)
        return super().render(renderable, options)


class Ticker:
    """Shows a line now and every second, until it is stopped; it sleeps in between, and leaves the cores to the kernels."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, args=(show,), daemon=True)
        show()
        self._thread.start()

    def _tick(self, show: Callable[[], None]) -> None:
        while not self._over.wait(1.0):
            show()

    def stop(self) -> None:
        """Show nothing more."""
        self._over.set()
        self._thread.join()
