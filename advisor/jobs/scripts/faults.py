"""What is wrong in a job script's header and variables, by its own words: no machine is needed to see it. Each has its cure."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import Literal

from advisor.jobs.scripts.directives import MARKS, OF_SBATCH, OF_SRUN, Directive
from advisor.jobs.scripts.expansion import Span, is_known, shown, whole, words
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


Rule = Callable[[Scripted], Iterator[Fault]]


# what edits are made of


def over(span: Span, new: str) -> Edit:
    """Return the edit that writes something else in a place."""
    return Edit(span.start, span.end, new)


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
            if data[start - 1 : start] == b"\n" and (rest := re.match(rb"[ \t]*\\\n", data[end:])):
                end += rest.end()  # a line of its own goes whole, with its indent and its backslash
            edits.append(Edit(start, end, ""))
    return tuple(edits)


def without_directive(script: Scripted, directive: Directive) -> tuple[Edit, ...]:
    """Return the edit that takes an option out of its directive: the line where nothing else is in it."""
    line = script.written(directive.span)
    mark = MARKS.get(script.job.scheduler, "#")
    others = [each for each in script.job.directives if each.span == directive.span and each is not directive]
    if others:
        new = re.sub(r"\s*" + r"[\s=]+".join(map(re.escape, re.split(r"[\s=]+", directive.written))), "", line, count=1)
        return (over(directive.span, new),) if new != line and new.strip() != mark else ()
    return (Edit(directive.span.start, min(directive.span.end + 1, len(script.text.encode(errors="replace"))), ""),)


def added_directive(script: Scripted, text: str) -> tuple[Edit, ...]:
    """Return the edit that adds a directive behind the last one, or behind the first line."""
    counting = [each.span.end for each in script.job.directives if each.counts]
    first = script.text.encode(errors="replace").find(b"\n") if script.is_slurm and script.text.startswith("#!") else -1
    end = max(counting, default=first)
    if end < 0:
        return ()
    mark = MARKS[script.job.scheduler]
    return (Edit(end, end, f"\n{mark} {text}"),)


def directive_as(script: Scripted, directive: Directive, text: str) -> tuple[Edit, ...]:
    """Return the edit that writes a directive's option in another way."""
    line = script.written(directive.span)
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


def setting_to(script: Scripted, span: Span, name: str, value: str) -> tuple[Edit, ...]:
    """Return the edit that gives a variable another value where it is set; none where its value has parts that may be others'."""
    written = script.written(span)
    if written.startswith(f"{name}="):  # the whole assignment
        return (over(span, f"{name}={value}"),)
    match = re.fullmatch(rf"(.*\b{name}[= ])([\w${{}}]+)", written)
    return (over(span, f"{match[1]}{value}"),) if match else ()


def in_text(script: Scripted, step: Step, pattern: re.Pattern[str], new: str) -> tuple[Edit, ...]:
    """Return the edit of a list where the script has it: in the line itself or in a variable."""
    match = next(iter(pattern.finditer(script.text)), None)
    if match is None or step.launch.nested:
        return ()
    start = len(script.text[: match.start()].encode(errors="replace"))
    return (Edit(start, start + len(match[0].encode(errors="replace")), new),)


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


# the header and the variables


def _numbers(script: Scripted) -> Iterator[Fault]:
    """Yield counts that are no numbers."""
    for directive, what in script.job.odd:
        letters = re.fullmatch(r"[A-Za-z][\w.-]*", directive.value)
        name = directive.name == "nodes" and letters and directive.written.startswith("-N") and not script.job.has("job-name")
        fix = (
            f"-J {directive.value}: in sbatch, -N is the number of nodes"
            if name
            else "write the number here, or pass it to sbatch"
        )
        yield Fault(
            "directive-number",
            directive.span.line,
            "high",
            f"{directive.written[:60]}: {what}",
            "The scheduler reads directives before any shell does, and refuses anything that is not a number.",
            fix,
            directive_as(script, directive, f"-J {directive.value}") if name else (),
        )


def _strays(script: Scripted) -> Iterator[Fault]:
    """Yield words in a directive that are no option's."""
    lines: set[int] = set()
    for word, span in script.job.strays if script.is_slurm else ():
        text = script.written(span)
        if span.line in lines or re.search(r"<[^>]*\s[^>]*>", text):
            continue
        lines.add(span.line)
        yield Fault(
            "directive-words",
            span.line,
            "high",
            f"{word[:40]} does not belong to any option of this directive",
            "sbatch fails with: Invalid directive found in batch script.",
            "fill in the template, or put a # before comments",
        )


_TWICE = sorted(
    words(
        "nodes ntasks ntasks-per-node cpus-per-task gpus gpus-per-node gpus-per-task gpu-bind gres time partition mem "
        "ntasks-per-socket constraint"
    )
)


def _twice(script: Scripted) -> Iterator[Fault]:
    """Yield the same option twice, with values that differ."""
    for name in _TWICE if script.is_slurm and "{%" not in script.text else ():
        same = [each for each in script.job.directives if each.name == name and each.counts]
        if len({each.value for each in same}) > 1:
            first, last = same[0], same[-1]
            if any(each is first for each, _ in script.job.odd):
                continue
            yield Fault(
                "directive-twice",
                first.span.line,
                "medium",
                f"{first.written} has no effect: line {last.span.line} sets {last.written}",
                "If an option is repeated, the last one applies.",
                f"keep one of them; removing line {first.span.line} does not change the job",
                without_directive(script, first),
            )


def _is_written(script: Scripted, line: int) -> bool:
    """Whether a line belongs to a here document: another script's."""
    return any(first <= line < first + text.count("\n") + 1 for text, first in script.script.files.values())


def _ignored(script: Scripted) -> Iterator[Fault]:
    """Yield directives that are not read: those of one cause together."""
    why = {
        True: "sbatch reads a directive only at the beginning of a line.",
        False: "sbatch stops reading directives at the first command.",
    }
    unread = [each for each in script.job.directives if not (each.counts or _is_written(script, each.span.line))]
    for indented in (True, False) if script.is_slurm else ():
        same = [each for each in unread if script.written(each.span)[:1].isspace() == indented]
        gone = [without_directive(script, each) for each in same]
        moved = added_directive(script, f"\n{MARKS['slurm']} ".join(each.written for each in same))
        if same:
            more, last = len(same) - 1, same[-1].span.line
            yield Fault(
                "directive-ignored",
                same[0].span.line,
                "medium",
                f"{same[0].written} is not read" + (f", nor {more} more up to line {last}" if more else ""),
                why[indented],
                f"put {'them' if more else 'it'} before the first command",
                (*(edit for edits in gone for edit in edits), *moved)
                if moved and all(each and each[0].new == "" for each in gone)
                else (),
            )


def _options_of_srun(script: Scripted) -> Iterator[Fault]:
    """Yield options of srun in the header."""
    for each in script.job.directives if script.is_slurm else ():
        if each.name not in OF_SRUN or not each.counts:
            continue
        steps = [step for step in script.starting if step.launcher == "srun"]
        words = f"--{each.name}={each.value}" if each.value else f"--{each.name}"
        edits = without_directive(script, each)
        for step in steps:
            edits += () if step.first.has(each.name) else inserted(step, words)
        yield Fault(
            "not-sbatch-option",
            each.span.line,
            "high",
            f"sbatch does not know --{each.name}: it refuses the script",
            "This is an option of srun, not of sbatch.",
            f"srun {words}",
            edits,
        )


def _unknown_options(script: Scripted) -> Iterator[Fault]:
    """Yield options of the header that are one letter or two from one of sbatch's; others may be a plugin's of the site."""
    for each in script.job.directives if script.is_slurm else ():
        if each.name in OF_SBATCH | OF_SRUN or not each.counts or not each.written.startswith("--"):
            continue
        meant = next(iter(get_close_matches(each.name, OF_SBATCH, n=1, cutoff=0.9)), None)
        if meant is None or len(each.name) < 5:
            continue
        right = each.written.replace(each.name, meant, 1)
        yield Fault(
            "option-unknown",
            each.span.line,
            "high",
            f"sbatch does not know --{each.name}: it refuses the script",
            "Only a site-specific plugin could add such an option.",
            f"#SBATCH {right}",
            directive_as(script, each, right),
        )


def _shortened(script: Scripted) -> Iterator[Fault]:
    """Yield --tasks, which sbatch takes for --tasks-per-node."""
    for each in script.job.directives if script.is_slurm else ():
        if re.match(r"--tasks?([\s=]|$)", each.written) and (script.job.nodes or 1) > 1:
            yield Fault(
                "option-shortened",
                each.span.line,
                "medium",
                f"{each.written} means --ntasks-per-node={each.value}: {each.value} tasks on each node",
                "sbatch accepts a prefix of a long option, and only --tasks-per-node starts with this one.",
                f"--ntasks={each.value}",
                directive_as(script, each, f"--ntasks={each.value}"),
            )


_HINTS = words("compute_bound memory_bound multithread nomultithread help")


def _hints(script: Scripted) -> Iterator[Fault]:
    """Yield --hint with a word that is none."""
    for each in script.job.directives if script.is_slurm else ():
        if (
            each.name == "hint"
            and each.counts
            and (odd := [word for word in each.value.split(",") if word not in _HINTS and "<" not in word])
        ):
            edits = without_directive(script, each)
            if odd == ["exclusive"] and not script.job.exclusive:
                edits = directive_as(script, each, "--exclusive")
            yield Fault(
                "hint-unknown",
                each.span.line,
                "high",
                f"--hint={odd[0][:30]} is refused",
                f"Values of --hint are {', '.join(sorted(_HINTS - {'help'}))}.",
                "--exclusive" if odd == ["exclusive"] else "leave it out",
                edits,
            )


def _shebang(script: Scripted) -> Iterator[Fault]:
    """Yield a script for sbatch without its first line."""
    if script.is_slurm and not script.text.lstrip().startswith(("#!", "{%")):
        yield Fault(
            "no-shebang",
            1,
            "high",
            "sbatch refuses a script that does not begin with #!",
            "sbatch prints: This does not look like a batch script.",
            "#!/bin/bash as the first line",
            (Edit(0, 0, "#!/bin/bash\n"),),
        )


def _gpu_bind(script: Scripted) -> Iterator[Fault]:
    """Yield --gpu-bind in the header of a script whose ranks srun does not start."""
    bind = script.job.find("gpu-bind") if script.is_slurm else None
    steps = script.starting
    if bind and steps and all(step.launcher in ("mpirun", "mpiexec", "ibrun", "mpiexec.hydra") for step in steps):
        edits = without_directive(script, bind)
        yield Fault(
            "gpu-bind-unread",
            bind.span.line,
            "medium",
            f"{bind.written[:60]} has no effect for {steps[0].launcher}",
            "The option is for srun: other launchers use srun only to start their daemons, and bind ranks themselves.",
            "leave it out, and set CUDA_VISIBLE_DEVICES from the local rank in a wrapper",
            edits,
        )


def _gpus_twice(script: Scripted) -> Iterator[Fault]:
    """Yield gPUs that are asked for in three ways."""
    if not script.is_slurm:
        return
    ways = [
        each for name in ("gpus-per-node", "gpus", "gres", "gpus-per-task", "gpus-per-socket") if (each := script.job.find(name))
    ]
    ways = [each for each in ways if each.name != "gres" or re.match(r"(gres[:/])?gpu\b", each.value)]
    if len(ways) >= 3:
        edits: tuple[Edit, ...] = ()
        for each in ways[1:]:
            edits += without_directive(script, each)
        yield Fault(
            "gpus-asked-twice",
            ways[1].span.line,
            "low",
            f"GPUs are requested in {len(ways)} ways: {', '.join(each.written for each in ways)}",
            "These requests must agree, and the step inherits all of them; --gpus-per-task also binds GPUs to ranks.",
            f"keep {ways[0].written}",
            edits,
        )


_FOR_RANKS = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|MPICH|I_MPI|OMPI|PRTE|PMIX|MV2|UCX|FI|NCCL|RCCL|CUDA|ROCR|HIP|ZE|HSA|SLURM_CPU_BIND|SRUN|PALS|GMX|CRAY|PSM2?|HCOLL|LD_LIBRARY_PATH$|LD_PRELOAD$)(_[A-Z0-9_]+|(?<=SLURM_CPU_BIND)|(?<=_PATH)|(?<=PRELOAD))$"
)
_OPENMP = sorted(
    words(
        "OMP_NUM_THREADS OMP_PLACES OMP_PROC_BIND OMP_SCHEDULE OMP_STACKSIZE OMP_DYNAMIC OMP_NESTED OMP_DISPLAY_ENV "
        "OMP_DISPLAY_AFFINITY OMP_AFFINITY_FORMAT OMP_MAX_ACTIVE_LEVELS OMP_THREAD_LIMIT OMP_WAIT_POLICY "
        "OMP_CANCELLATION OMP_DEFAULT_DEVICE OMP_MAX_TASK_PRIORITY OMP_TARGET_OFFLOAD OMP_TOOL OMP_TOOL_LIBRARIES "
        "OMP_ALLOCATOR OMP_NUM_TEAMS OMP_TEAMS_THREAD_LIMIT OMP_DEBUG OMP_TOOL_VERBOSE_INIT OMP_AVAILABLE_DEVICES "
        "OMP_THREADS_RESERVE"
    )
)


_PLACES = re.compile(r"_(HOME|ROOT|DIR|PATH|BIN|LIB|INC|PREFIX|VERSION|EXE|ARGS?|OPT(ION)?S?|FLAGS?|CMD|ARCH|MODULE|FILE)$")
"""Ends of names that a script keeps for itself."""


def _not_exported(script: Scripted) -> Iterator[Fault]:
    """Yield variables that ranks should get and that are not exported."""
    said: set[str] = set()
    for step in script.every_turn:
        for name, (text, span) in step.launch.plain.items():
            if (
                not _FOR_RANKS.fullmatch(name)
                or name in said
                or _PLACES.search(name)
                or span is None
                or name in ("LD_LIBRARY_PATH", "LD_PRELOAD")
                or not text
            ):
                continue
            if name in script.script.used and not name.startswith(("OMP_", "KMP_", "SLURM_", "SRUN_")):
                continue
            if any(option.name in ("-x", "--env", "-genv", "export") and name in option.value for option in step.first.options):
                continue
            if step.launch.nested or any(name == word.variable for word in step.launch.words):
                continue
            said.add(name)
            yield Fault(
                "not-exported",
                span.line,
                "high",
                f"{name}={shown(text)[:40]} is not exported: no rank gets it",
                "Without export it is a variable of this shell only.",
                f"export {name}={shown(text)[:60]}",
                (Edit(span.start, span.start, "export "),),
            )


def _blanks(script: Scripted) -> Iterator[Fault]:
    """Yield blanks around a sign of equality, and in the value of an export."""
    for command, span in script.script.commands:
        if len(command) > 1 and command[1].text == "=" and re.fullmatch(r"[A-Za-z_]\w*", command[0].text, re.ASCII):
            written = script.written(span)
            new = re.sub(r"^(\w+)\s*=\s*", r"\1=", written)
            yield Fault(
                "blank-around-equals",
                span.line,
                "high",
                f"{command[0].text} = ... is run as a command that does not exist",
                "The shell allows no spaces around =: it takes the variable's name as a command.",
                f"{new[:80]}",
                (over(span, new),),
            )
    for name, word, span in script.script.odd_exports:
        written = script.written(span)
        new = re.sub(r",[ \t]+(?=\w+=)", " ", written)
        new = re.sub(r",[ \t]+", ",", new)
        yield Fault(
            "blank-in-value",
            span.line,
            "high",
            f"{name} ends at the whitespace: export takes {word[:40]} as a separate argument",
            "An unquoted value ends at the first whitespace character.",
            new[:100],
            (over(span, new),),
        )


def _misspelt(script: Scripted) -> Iterator[Fault]:
    """Yield openMP's variables with a letter too few."""
    for name, values in script.script.assigned.items():
        if name.startswith("OMP_") and name not in _OPENMP and name not in script.script.used:
            near = [each for each in get_close_matches(name, _OPENMP, 1, 0.9) if not name.startswith(f"{each}_")]
            for _, span, _ in values if near else ():
                written = script.written(span)
                new = written.replace(name, near[0], 1)
                yield Fault(
                    "misspelt-variable",
                    span.line,
                    "high",
                    f"{name} has no effect: OpenMP reads {near[0]}",
                    "No run-time library recognises that name.",
                    new[:80],
                    (over(span, new),),
                )


def _stack(script: Scripted) -> Iterator[Fault]:
    """Yield oMP_STACKSIZE without a unit."""
    for name in ("OMP_STACKSIZE", "KMP_STACKSIZE"):
        for text, span, _ in script.script.assigned.get(name, ()):
            value = whole(text)
            if value is not None and value < (16384 if name[0] == "O" else 65536):
                written = script.written(span)
                new = re.sub(rf"({name}\s*[= ]\s*[\"']?{value})", r"\1M", written)
                yield Fault(
                    "stacksize-unit",
                    span.line,
                    "medium",
                    f"{name}={value} is {value} {'kB' if name[0] == 'O' else 'bytes'}",
                    "A number without a unit means kilobytes (OpenMP) or bytes (KMP).",
                    f"{name}={value}M",
                    (over(span, new),),
                )


_WHEN_ASKED = {
    "SLURM_CPUS_PER_TASK": ("cpus-per-task",), "SLURM_NTASKS_PER_NODE": ("ntasks-per-node",),
    "SLURM_NTASKS": ("ntasks", "ntasks-per-node"),
    "SLURM_GPUS_PER_NODE": ("gpus-per-node",), "SLURM_GPUS_PER_TASK": ("gpus-per-task",),
    "SLURM_NTASKS_PER_SOCKET": ("ntasks-per-socket",),
}  # fmt: skip


def _empty(script: Scripted) -> Iterator[Fault]:
    """Yield variables that sbatch sets only where the header asks for it."""
    if not script.is_slurm or not (script.job.has("nodes") or script.job.has("ntasks")):
        return
    for name, asked in _WHEN_ASKED.items():
        if script.job.has(*asked) or name in script.script.assigned:
            continue
        for at in script.script.bare.get(name, ()):
            if at.line == 0:
                continue
            yield Fault(
                "variable-empty",
                at.line,
                "high",
                f"${name} is empty: the header has no --{asked[0]}",
                "sbatch sets the variable only if the option is given.",
                f"#SBATCH --{asked[0]}=N; until then ${{{name}:-1}}",
                (over(at, f"${{{name}:-1}}"),),
            )


def _other_name(script: Scripted) -> Iterator[Fault]:
    """Yield a count by a name that nothing sets, beside one that is set and nearly the same."""
    for step in script.starting:
        for option in step.first.options:
            word = option.value_word
            if word is None or word.variable is None or is_known(word.text) or word.variable in script.script.assigned:
                continue
            if re.match(r"(SLURM|PBS|LSB|SGE)_|\d$|[@*#]$", word.variable) or script.script.sourced:  # or a file there sets it
                continue
            near = max(
                (name for name in script.script.assigned if name != word.variable),
                key=lambda name: SequenceMatcher(None, name, word.variable or "").ratio(),
                default="",
            )
            shared = set(near.split("_")) & set(word.variable.split("_"))
            if len(shared) > 1 and SequenceMatcher(None, near, word.variable).ratio() > 0.65:
                yield Fault(
                    "variable-unset",
                    word.span.line,
                    "high",
                    f"${word.variable} is not set but {near} is: {option.word.text} takes the next word as its value",
                    "An empty unquoted variable disappears from the line.",
                    f"{option.word.text} ${near}",
                    (over(word.span, f"${near}"),),
                )


_BINDS = re.compile(r"(--?(cpu|gpu)[-_]bind|--bind-to|--map-by|(mask|map)_(cpu|gpu)[:=])")


def _unused(script: Scripted) -> Iterator[Fault]:
    """Yield a variable that holds a binding and is handed to nobody."""
    for name, values in script.script.assigned.items():
        text, span, _ = values[-1]
        if name in script.script.used or not _BINDS.match(text) or name in ("SLURM_CPU_BIND", "SLURM_GPU_BIND"):
            continue
        steps = [step for step in script.starting if step.line >= span.line]
        if any(line > span.line for _, line in script.script.sourced):
            continue  # what is read or started there may use it
        edits: tuple[Edit, ...] = ()
        if steps and all((step.ranks or 2) == 1 for step in steps):
            edits = tuple(over(each, "") for _, each, _ in values)
            fix = f"remove {name}: there is only one rank"
        else:
            option = (
                f"${{{name}}}"
                if text.startswith("-")
                else f"--{'gpu' if 'gpu' in text.partition(':')[0] else 'cpu'}-bind=${{{name}}}"
            )
            fix = f"{steps[-1].launcher if steps else 'srun'} ... {option}"
            if steps:
                step = steps[-1]
                edits = removed(script, step, step.first.find("--cpu-bind", "cpu-bind"), step.first.find("--depth")) + inserted(
                    step, option
                )
        yield Fault(
            "binding-unused",
            span.line,
            "medium",
            f"{name} is set but never used: {text[:50]} has no effect",
            "The script's own variables have no effect until the launch line uses them.",
            fix,
            edits,
        )


OF_HEADER: tuple[Rule, ...] = (
    _numbers, _strays, _twice, _ignored, _options_of_srun, _unknown_options, _shortened, _hints, _shebang, _gpu_bind, _gpus_twice,
    _not_exported, _blanks, _misspelt, _stack, _empty, _other_name, _unused,
)  # fmt: skip
