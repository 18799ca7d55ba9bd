"""Writes docs/reference/ from the code: facts, sources, commands, schemas; docs/commands.md; manual pages; drawings.

Run by `make docs`. docs/reference is not kept in git; `python -m docs reference` writes it alone, as packages do.
A test says when one of the others is stale.
"""

import json
import re
import sys
import tempfile
import types
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from rich.text import Text

from advisor import __version__
from advisor.advice.audit import audit
from advisor.advice.audit_page.card import Asker, Shown
from advisor.advice.audit_page.screen import audit_page
from advisor.advice.checklist import checklist
from advisor.bios.experiment_plan import ExperimentResult
from advisor.cli import main as program
from advisor.jobs.check import Check, check, check_page
from advisor.jobs.launcher import launchers
from advisor.jobs.racing.result import RaceResult
from advisor.jobs.started.hosts import FoldedPlan
from advisor.machine.fact import declarations
from advisor.machine.hosts.base import PathPatterns, example_path
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import read_machine
from advisor.machine.sources.reader import FactSource
from advisor.machine.sources.registry import sources
from advisor.machine.sources.scheduler import VERSIONS
from advisor.machine.value import Value, meaning
from advisor.measure.measurement import Measurements
from advisor.show.picture import picture
from advisor.show.svg import draw_svg
from docs import house, knowledge_pages, manpage, terminal_picture
from docs.declared import undeclared_facts
from docs.schemas import audit_schema, fleet_schema

REFERENCE = Path(__file__).parent / "reference"
README = Path(__file__).parents[1] / "README.md"
CHANGELOG = README.parent / "CHANGELOG.md"
MANUALS = Path(__file__).parent / "man"
COMMANDS = Path(__file__).parent / "commands.md"
PICTURES = Path(__file__).parent / "pictures"
SHOWN = "a-r7425-2x7601-dell"
"""The test machine of the picture."""
AUDITED = "b-c6525-2x7702-nps1"
"""The test machine whose audit the README shows."""
NOTE = "<!-- Written by `make docs`; do not edit. -->\n\n"


def pages() -> dict[str, str]:
    """Return every generated page by file name."""
    return {
        "facts.md": facts(),
        "sources.md": source_pages(),
        "commands.md": commands(),
        "launchers.md": launcher_page(),
        "machine.schema.json": schema(),
        "measurements.schema.json": json.dumps(Measurements.model_json_schema(mode="serialization"), indent=1) + "\n",
        "experiment.schema.json": json.dumps(ExperimentResult.model_json_schema(mode="serialization", by_alias=True), indent=1)
        + "\n",
        "tune.schema.json": json.dumps(RaceResult.model_json_schema(mode="serialization", by_alias=True), indent=1) + "\n",
        "plan.schema.json": json.dumps(FoldedPlan.model_json_schema(mode="serialization", by_alias=True), indent=1) + "\n",
        "audit.schema.json": json.dumps(audit_schema(), indent=1) + "\n",
        "check.schema.json": json.dumps(Check.model_json_schema(mode="serialization"), indent=1) + "\n",
        "fleet-audit.schema.json": json.dumps(fleet_schema(), indent=1) + "\n",
        **knowledge_pages.pages(),
    }


def audited() -> str:
    """Return the first screen of an audit as a picture: of a server that was left as it came."""
    from tests.machines.catalogue import write_archive

    with tempfile.TemporaryDirectory() as place:
        write_archive(AUDITED, Path(place) / "node.tar.gz")
        found = audit(str(Path(place) / "node.tar.gz"))
    judged, asked = found.judgement, Asker(("--from", "node.tar.gz"))
    shown = Shown(found.audit, found.machine, judged.layout, judged.case.measured, asked, found.plan, numbers=found.numbers)
    return terminal_picture.draw(audit_page(shown), "advisor audit --from node.tar.gz")


_SCRIPT: Final = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=4
export OMP_NUM_THREADS=16
srun -n 8 ./app input.dat &
"""
"""A job script with faults, for the picture of `advisor check`."""


def filmed() -> str:
    """Return the three commands of the README, one after the other, with what they print, as a picture that moves."""
    from tests.machines.catalogue import write_archive

    with tempfile.TemporaryDirectory() as place:
        node, script = Path(place) / "node.tar.gz", Path(place) / "job.sbatch"
        write_archive(AUDITED, node)
        script.write_text(_SCRIPT, encoding="utf-8")
        found = audit(str(node))
        steps = checklist(str(node), only=("1",)).text("racadm")
        checked = check(str(script), environment={}).model_copy(update={"file": "job.sbatch"})
    judged = found.judgement
    shown = Shown(found.audit, found.machine, judged.layout, judged.case.measured, Asker(), found.plan, numbers=found.numbers)
    scenes = (
        ("sudo advisor audit", audit_page(shown)),
        ("advisor checklist --only 1 --as racadm", Text(steps.replace(str(node), "node.tar.gz"))),
        ("advisor check job.sbatch", check_page(checked)),
    )
    return terminal_picture.film(scenes)


def machine() -> Machine:
    """Return the machine that the README shows."""
    from tests.machines.catalogue import write_archive

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "node.tar.gz"
        write_archive(SHOWN, file)
        return read_machine(str(file))


def pictures() -> dict[str, str]:
    """Return every drawing by file name."""
    shown = machine()
    return {
        "r7425.svg": draw_svg(picture(shown, infer_layout(shown))),
        "rooms.svg": house.drawing(),
        "audit.svg": audited(),
        "commands.svg": filmed(),
    }


def manuals() -> dict[str, str]:
    """Return every manual page by file name: of the program, and of each command from what its help is made of."""
    known = program.commands()
    released = re.search(r"^## [\d.]+ - (\S+)$", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    of = manpage.Edition(__version__, released[1] if released else "")
    made = {manpage.file_name(""): manpage.program_page(known, program.GROUPS, of)}
    for name, about in known.items():
        near = [other for other in known if known[other].group == about.group]
        made[manpage.file_name(name)] = manpage.command_page(name, about.summary, program.told(name), of, near)
    return made


def command_list() -> str:
    """Return docs/commands.md: every command by group, its summary and its examples."""
    known, parts = program.commands(), [f"{NOTE}# Every command\n\n{_EVERY}\n"]
    for group, names in program.grouped(known, program.GROUPS).items():
        parts.append(f"\n## {group}\n")
        for name in names:
            examples = "".join(f"    {example}\n" for example in known[name].examples)
            parts.append(f"\n`advisor {name}`: {known[name].summary}.\n\n{examples}")
    return "".join(parts)


_EVERY = """`advisor COMMAND --help` shows the ten most important options; `--help-all` and `man advisor-COMMAND` show all.
`advisor --install-completion` installs completion for commands, options and values in bash, zsh and fish.

`--from` reads another machine instead of this one: a capture, an hwloc XML (2.x and 3.x; 1.x if lstopo is installed), a Machine
JSON, or a folder or archive with the machine's `/sys` and `/proc`. A folder of captures is a fleet, which `checklist`, `report`,
`bios plan` and `compare` accept. Exit status: 0 done, 1 findings, 2 the command failed (one line to standard error gives the
reason and what to do)."""


def schema() -> str:
    """Return the JSON schema of a Machine."""
    return json.dumps(Machine.model_json_schema(mode="serialization"), indent=1) + "\n"


def facts() -> str:
    """Return the page of all facts a Machine may hold, by dotted name, as they are declared."""
    rows = "".join(f"| `{name}` | {kind} | {unit} | {role} | {text} |\n" for name, kind, unit, role, text in _fields(Machine, ""))
    head = "# Facts\n\nThis page lists every fact of a Machine. A fact that is not known is null.\n\n"
    head += "A key identifies an element of a list. A volatile fact changes on its own. An identity identifies one machine, and\n"
    head += "is removed from anonymised captures. Volatile facts and identities are never compared. A section applies to all\n"
    head += "fields below it.\n\n"
    head += "| fact | type | unit | section, role | meaning |\n| --- | --- | --- | --- | --- |\n"
    return f"{NOTE}{head}{rows}"


def source_pages() -> str:
    """Return the page of the sources: what each reads and runs."""
    parts = [f"{NOTE}# Sources\n\nEach source returns part of the Machine; the source with the lower rank has priority.\n"]
    for source in sources():
        reads = "".join(f"    {path}\n" for path in source.paths)
        runs = "".join(f"    $ {' '.join(command)}\n" for command in source.commands)
        kept = "".join(f"- `{of if isinstance(of, str) else ' '.join(of)}`: lines `{lines}`\n" for of, lines in source.public)
        public = f"\nOf these, an anonymised capture keeps:\n\n{kept}" if kept else ""
        parts.append(f"\n## {source.name} (rank {source.rank})\n\n{source.about}\n\n{reads}{runs}{public}")
    return "".join(parts)


def commands() -> str:
    """Return the page of the commands, from their own help."""
    parts = [f"{NOTE}# Commands\n"]
    for name, about in program.commands().items():
        examples = "".join(f"    $ {example}\n" for example in about.examples)
        parts.append(f"\n## advisor {name}\n\n{about.text}\n\n{_options(name)}\n{examples}")
    return "".join(parts)


def launcher_page() -> str:
    """Return the page of the launchers: names, what their lines start with, how versions are read, what lint tells of them."""
    parts = [f"{NOTE}# Launchers\n\nWhat `advisor bind --launcher` can write and `advisor check` can read.\n"]
    for each in launchers().values():
        lines, only = each.dialect, each.job.schedulers
        rows = {
            "names": ", ".join((each.name, *each.aliases)),
            "lines start with": ", ".join(lines.programs) if lines else "",
            "number of options read": str(len(lines.options)) if lines else "",
            "where ranks go": ("predicted" if lines.ranks else "not predicted") if lines else "",
            "turns binding off with": " ".join(each.without_binding),
            "version from": ", ".join(" ".join(argv) for row in VERSIONS if row.tool in each.tools for argv in row.commands),
            "identifies ranks by": ", ".join((*each.ranks.rank, *each.ranks.local)) if each.ranks else "",
            "works only in jobs under": ", ".join(only) if only else "",
        }
        about = (sys.modules[each.launch.__module__].__doc__ or "").partition("\n")[0]
        parts.append(f"\n## {each.title}\n\n{about}\n\n" + "".join(f"- {key}: {text}\n" for key, text in rows.items() if text))
    return "".join(parts)


def _options(name: str) -> str:
    """Return the options of a command as a table, from the annotations of its function."""
    module, function = program.place_of(name)
    run = getattr(import_module(f"advisor.cli.commands.{module}"), function)
    found = [hint.__metadata__[0] for hint in get_type_hints(run, include_extras=True).values() if hasattr(hint, "__metadata__")]
    rows = ((f"`{', '.join(_names(each))}{f' {each.metavar}' if each.metavar else ''}`", each.help) for each in found)
    return "| option | meaning |\n| --- | --- |\n" + "".join(f"| {names} | {text} |\n" for names, text in rows)


def _names(option: Any) -> tuple[str, ...]:
    """Return the names of an option; typer keeps the first of an annotation where a default would be."""
    first = (option.default,) if isinstance(option.default, str) else ()
    return (*first, *(option.param_decls or ()))


def _fields(model: type[Value], prefix: str) -> Iterator[tuple[str, str, str, str, str]]:
    for name, field in model.model_fields.items():
        inner, many = _inner(field.annotation)
        dotted, declared = f"{prefix}{name}{'[]' if many else ''}", declarations(model)[name]
        unit, role = declared.unit.name if declared.unit else "", ", ".join(declared.words)
        if isinstance(inner, type) and issubclass(inner, Value):
            doc = (inner.__doc__ or "").strip().splitlines()[0]
            yield dotted, inner.__name__, unit, role, meaning(model, name) or doc
            yield from _fields(inner, f"{dotted}.")
        else:
            yield dotted, _name(inner), unit, role, meaning(model, name)


def _inner(annotation: Any) -> tuple[Any, bool]:
    """Return what stands in ``X | None`` or ``tuple[X, ...]``, and whether there may be several."""
    many = False
    while True:
        origin, args = get_origin(annotation), get_args(annotation)
        if origin in (Union, types.UnionType):
            annotation = next(arg for arg in args if arg is not type(None))
        elif origin is tuple and len(args) == 2 and args[1] is Ellipsis:
            annotation, many = args[0], True
        elif origin is Annotated:
            annotation = args[0]
        else:
            return annotation, many


def _name(annotation: Any) -> str:
    return (
        annotation.__name__
        if isinstance(annotation, type) and not get_args(annotation)
        else str(annotation).replace("typing.", "")
    )


def wrong_sources(asked: Sequence[FactSource]) -> Iterator[str]:
    """Yield what is wrong with the sources of facts, a line each: file and line, the source, and what to write."""
    for place, source in enumerate(asked):
        problems = list(_wrong_public(source))
        if same := [each for each in asked[:place] if each.name == source.name]:
            problems.append(f"{_declared_at(same[0])} has the same name; rename one of them")
        if not source.about.strip().endswith("."):
            problems.append("about is empty; write one sentence on what it reports")
        if not source.paths and not source.commands:
            problems.append("no paths or commands; list what it reads, because captures keep only that")
        problems += [
            f"paths: {path} is not an absolute path; start it with /" for path in source.paths if not path.startswith("/")
        ]
        yield from (f"{_declared_at(source)}: {source.name}: {problem}" for problem in problems)


def _wrong_public(source: FactSource) -> Iterator[str]:
    for of, lines in source.public:
        patterns = PathPatterns((of,)) if isinstance(of, str) else None
        if of not in source.commands and not (patterns and any(patterns.covers(example_path(path)) for path in source.paths)):
            shown = of if isinstance(of, str) else " ".join(of)
            yield f"public: {shown} is not among its paths or commands; correct it, or declare it there"
        try:
            lets_all = re.fullmatch(lines, "rack17 of zamonia, Prof. M.") is not None
        except re.error as error:
            yield f"public: not a regular expression: {lines} ({error}); correct it"
        else:
            if lets_all:
                yield f"public: {lines} matches any site's text; match only what no site can have written"


def _declared_at(source: FactSource) -> str:
    """Return the file that a source's function is in, and the line where the source's name stands."""
    module = source.collect.__module__
    lines = Path(import_module(module).__file__ or "").read_text(encoding="utf-8").splitlines()
    number = next((at for at, line in enumerate(lines, 1) if f'"{source.name}",' in line), 1)
    return f"{module.replace('.', '/')}.py: line {number}"


def main() -> int:
    """Write the pages and return 0; a fact or a source that is not wholly declared stops it."""
    lacking = (*undeclared_facts(), *wrong_sources(sources()))
    if lacking:
        sys.stderr.write("".join(f"{line}\n" for line in lacking))
        return 2
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    if sys.argv[1:] == ["reference"]:
        return 0
    MANUALS.mkdir(exist_ok=True)
    for old in set(MANUALS.glob("*.1")) - {MANUALS / name for name in manuals()}:
        old.unlink()
    for name, text in manuals().items():
        (MANUALS / name).write_text(text, encoding="utf-8")
    COMMANDS.write_text(command_list(), encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
