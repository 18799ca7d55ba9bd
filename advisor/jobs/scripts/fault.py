"""What is wrong in a job script by its own words: no machine is needed to see it. Each fault has its cure."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from advisor.jobs.scripts.directives import MARKS, Directive
from advisor.jobs.scripts.expansion import is_known
from advisor.jobs.scripts.options import Option
from advisor.jobs.scripts.steps import Scripted, Step

Severity = Literal["high", "medium", "low"]


@dataclass(frozen=True)
class Edit:
    """Bytes of the script that are replaced."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Fault:
    """Something that will go wrong."""

    id: str
    line: int
    severity: Severity
    what: str
    why: str
    fix: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Known:
    """What is known beside the script."""

    slurm: tuple[int, int] | None = None
    """Slurm's version."""
    plugins: tuple[str, ...] | None = field(default=None)
    """What TaskPlugin names; None where no configuration was read."""


Rule = Callable[[Scripted, Known], Iterator[Fault]]


# what edits are made of


def inserted(step: Step, text: str) -> tuple[Edit, ...]:
    """Return the edit that gives a launcher one more option, behind its word."""
    word = step.launch.words[0]
    at = step.launch.words[1].span.end if step.launcher.startswith("flux") and len(step.launch.words) > 1 else word.span.end
    return () if step.launch.nested else (Edit(at, at, f" {text}"),)


def replaced(step: Step, option: Option, text: str) -> tuple[Edit, ...]:
    """Return the edit that writes an option in another way; none where a variable holds it."""
    last = option.value_word or option.word
    if step.launch.nested or not (option.word.literal or option.word.variable is None):
        return ()
    return (Edit(option.word.span.start, last.span.end, text),)


def removed(script: Scripted, step: Step, *options: Option | None) -> tuple[Edit, ...]:
    """Return the edits that take options out of a line."""
    edits = []
    for option in options:
        if option is not None and option.word.variable is None and not step.launch.nested:
            start, end = option.word.span.start, (option.value_word or option.word).span.end
            data = script.text.encode(errors="replace")
            while start > 0 and data[start - 1 : start] in (b" ", b"\t"):
                start -= 1
            edits.append(Edit(start, end, ""))
    return tuple(edits)


def without_directive(script: Scripted, directive: Directive) -> tuple[Edit, ...]:
    """Return the edit that takes an option out of its directive: the line where nothing else is in it."""
    line = script.text.encode(errors="replace")[directive.span.start : directive.span.end].decode(errors="replace")
    mark = MARKS.get(script.job.scheduler, "#")
    others = [each for each in script.job.directives if each.span == directive.span and each is not directive]
    if others:
        new = re.sub(r"\s*" + r"[\s=]+".join(map(re.escape, re.split(r"[\s=]+", directive.written))), "", line, count=1)
        return (Edit(directive.span.start, directive.span.end, new),) if new != line and new.strip() != mark else ()
    return (Edit(directive.span.start, min(directive.span.end + 1, len(script.text.encode(errors="replace"))), ""),)


def added_directive(script: Scripted, text: str) -> tuple[Edit, ...]:
    """Return the edit that adds a directive behind the last one."""
    counting = [each for each in script.job.directives if each.counts]
    if not counting:
        return ()
    end = max(each.span.end for each in counting)
    mark = MARKS[script.job.scheduler]
    return (Edit(end, end, f"\n{mark} {text}"),)


def directive_as(script: Scripted, directive: Directive, text: str) -> tuple[Edit, ...]:
    """Return the edit that writes a directive's option in another way."""
    line = script.text.encode(errors="replace")[directive.span.start : directive.span.end].decode(errors="replace")
    pattern = r"[\s=]*".join(re.escape(part) for part in re.split(r"[\s=]+", directive.written))
    match = re.search(pattern, line)
    if not match:
        return ()
    before, end = len(line[: match.start()].encode()), len(line[: match.end()].encode())
    return (Edit(directive.span.start + before, directive.span.start + end, text),)


def asking(script: Scripted, option: str, value: int | str) -> tuple[Edit, ...]:
    """Return the edit that gives one of sbatch's options a value, whether it is there or not."""
    there = script.job.find(option)
    return directive_as(script, there, f"--{option}={value}") if there else added_directive(script, f"--{option}={value}")


def is_slurm(script: Scripted) -> bool:
    """Whether sbatch reads the script."""
    return script.job.scheduler == "slurm"


def starting(script: Scripted) -> list[Step]:
    """Return the steps that start something."""
    return [step for step in script.steps if not step.nothing]


def turns(script: Scripted) -> Iterator[Step]:
    """Yield every step, each turn of a loop as one."""
    for step in starting(script):
        yield step
        yield from step.turns


def program_of(step: Step) -> str:
    """Return the name of the program that a step starts."""
    return step.program[0].text.rpartition("/")[2] if step.program else ""


def is_free(step: Step) -> bool:
    """Whether how ranks are bound is said by a list or by something that is not known."""
    bind = step.binding
    return bool(re.search(r"(map|mask)_(cpu|ldom)|list|rank_?file", bind)) or not is_known(bind) or "none" in bind


def cpus_listed(step: Step) -> list[str]:
    """Return the entries of a list of CPUs that a line binds by; [] where there is none."""
    match = re.search(r"map_cpu[:=]([\d,]+)", step.binding)
    if match:
        return match[1].split(",")
    match = re.search(r"(?:^|[:,])list:([\d:,-]+)", step.binding) if step.family == "pals" else None
    return re.split("[:,]", match[1]) if match else []
