"""Say what a job script or a launch line starts, and what is wrong in it.

Reads a whole job script (Slurm, PBS, LSF, Grid Engine, Flux): what each launch line starts, how many ranks, threads and GPUs,
what is wrong with the line's number, and the cure. --fix prints the corrected script as a patch, -o writes it to a new file.
With a node of the job (--from) it says where ranks go. After -- stands a line instead of a file: its options are explained,
and the same is written for other launchers. Nothing is run. Exit status 1 where a line goes wrong, or a script has a fault of
--fail-on.

Group: Run a job
Example: advisor check job.sbatch
Example: advisor check --from node.tar.gz --fix job.sbatch
Example: advisor check --fail-on high job.sbatch && sbatch job.sbatch
Example: advisor check -- mpirun -np 8 --map-by numa ./app
Example: advisor check --slurm-conf slurm.conf -- srun -n 8 -c 4 ./app
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from advisor.cli import job_options as job
from advisor.cli.options import Json, NoColor, Version, Width, at_most_one
from advisor.cli.output import Form, Terminal, emit_text, show
from advisor.errors import BadValue
from advisor.jobs.bind import lint_line
from advisor.jobs.check import check, document, script_text, surroundings
from advisor.jobs.line import started_by
from advisor.jobs.pages.check import check_page
from advisor.jobs.pages.ranks import lint_document, lint_page
from advisor.jobs.started.hosts import HostOptions, one_machine
from advisor.machine.hosts.files import write_file

Words = Annotated[
    list[str] | None, typer.Argument(metavar="FILE | -- LINE...", help="The script, or the line.", show_default=False)
]
Fix = Annotated[bool, typer.Option("--fix", help="Print the corrected script as a patch.")]
Corrected = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the corrected script, or a line's page, here.")
]
FailOn = Annotated[
    Literal["high", "medium", "low", "never"],
    typer.Option("--fail-on", help="Exit with status 1 where a script's fault is as severe as this, or worse."),
]
SlurmVersion = Annotated[str | None, typer.Option("--slurm-version", metavar="V", help="Slurm's version: 23.02, 24.05.")]


def run(
    words: Words = None,
    *,
    sources: job.BindSources = None,
    assume: job.Assume = None,
    launcher_version: Version = None,
    slurm_conf: job.SlurmConf = None,
    slurm_version: SlurmVersion = None,
    fix: Fix = False,
    fail_on: FailOn = "never",
    json: Json = False,
    output: Corrected = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Explain a script or a line."""
    at_most_one({"--fix": fix, "--json": json})
    there, form = HostOptions(tuple(sources or ()), assume=tuple(assume or ())), Form(output, json, width, not no_color)
    given = [word for word in words or [] if word != "--"] if (words or [])[:1] == ["--"] else words or []
    if not given:
        raise BadValue(
            "no script and no line", cure="advisor check job.sbatch, or a line after --: advisor check -- mpirun -np 8 ./app"
        )
    if len(given) > 1 or started_by(given[0].rpartition("/")[2]) or (" " in given[0] and not Path(given[0]).exists()):
        if Path(given[0]).is_file() and not started_by(given[0].rpartition("/")[2]):
            raise BadValue(f"{given[1]} is one word too many", cure="check one script at a time; a line stands after --")
        return _line(there, given, (launcher_version, slurm_conf, slurm_version), form)
    terminal = Terminal()
    machine = one_machine(there, terminal) if there.sources or there.assume else None
    found = check(
        given[0], machine, slurm_conf=slurm_conf, slurm_version=slurm_version, version=launcher_version, observer=terminal
    )
    if output is not None:
        write_file(
            output,
            (found.corrected if found.corrected is not None else script_text(Path(given[0]))).encode(errors="surrogateescape"),
        )
    if fix:
        emit_text(found.patch, None)
    else:
        show(replace(form, output=None), lambda: document(found), lambda: check_page(found, form.width))
    return int(fail_on != "never" and found.reaches(fail_on))


def _line(there: HostOptions, words: list[str], how: tuple[str | None, Path | None, str | None], form: Form) -> int:
    """Say what an existing line does; return 1 where something goes wrong."""
    version, slurm_conf, slurm_version = how
    terminal = Terminal()
    machine = one_machine(there, terminal)
    if (
        slurm_version
        and not version
        and "srun" in started_by(next((word for word in words if "=" not in word), "").rpartition("/")[2])
    ):
        version = f"srun {slurm_version}"
    inside = surroundings(words, os.environ) if not there.sources else words
    found = lint_line(inside, machine, version=version, slurm_conf=slurm_conf, live=not there.sources, observer=terminal)
    show(form, lambda: lint_document(found), lambda: lint_page(found, form.width))
    return 1 if found.warnings else 0
