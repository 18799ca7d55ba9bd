"""Say what an existing mpirun or srun command does, and what goes wrong.

Explains each option, predicts where the ranks run on this machine or another one (--from), names what goes wrong with
the option that is better, and writes the same command for other launchers. Files that the command names, such as a
rankfile, are read. Nothing is started. Exit status 1 where something goes wrong.

Group: Run a job
Example: advisor check -- mpirun -np 8 --map-by numa ./app
Example: advisor check --from node.tar.gz --launcher-version 4.1.5 -- mpirun -np 16 --bind-to core ./app
Example: advisor check --slurm-conf slurm.conf -- srun -n 8 -c 4 ./app
"""

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.cli import job_options as job
from advisor.cli.options import Json, NoColor, Output, Version, Width
from advisor.cli.output import Form, Terminal, show
from advisor.errors import BadValue

if TYPE_CHECKING:
    from advisor.jobs.started.hosts import HostOptions


def run(
    words: job.LintWords = None,
    *,
    sources: job.BindSources = None,
    assume: job.Assume = None,
    launcher_version: Version = None,
    slurm_conf: job.SlurmConf = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Explain a command."""
    from advisor.jobs.started.hosts import HostOptions

    there, form = HostOptions(tuple(sources or ()), assume=tuple(assume or ())), Form(output, json, width, not no_color)
    return lint(there, words or [], launcher_version, slurm_conf, form)


def lint(there: "HostOptions", words: list[str], version: str | None, slurm_conf: Path | None, form: Form) -> int:
    """Say what an existing line does; return 1 where something goes wrong."""
    from advisor.jobs.bind import lint_line
    from advisor.jobs.pages.ranks import lint_document, lint_page
    from advisor.jobs.started.hosts import one_machine

    if not words:
        raise BadValue("no command to explain", cure="put it last, after --: advisor check -- mpirun -np 8 ./app")
    terminal = Terminal()
    line, machine = words[1:] if words[:1] == ["--"] else words, one_machine(there, terminal)
    found = lint_line(line, machine, version=version, slurm_conf=slurm_conf, live=not there.sources, observer=terminal)
    show(form, lambda: lint_document(found), lambda: lint_page(found, form.width))
    return 1 if found.warnings else 0
