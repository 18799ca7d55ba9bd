"""Checks how an HPC server is configured, and shows the evidence.

What the commands do can be called, too: ``from advisor import audit, bind`` (docs/api.md). Nothing is imported before it is
asked for, so that `advisor --help` answers at once.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.advice.audit import audit as audit
    from advisor.advice.audit import explain as explain
    from advisor.advice.checklist import Ordered as Ordered
    from advisor.advice.checklist import checklist as checklist
    from advisor.advice.judgement import rulebook as rulebook
    from advisor.advice.whatif import whatif as whatif
    from advisor.bios.door import Door as Door
    from advisor.bios.experiment import ExperimentOptions as ExperimentOptions
    from advisor.bios.experiment import experiment_status as experiment_status
    from advisor.bios.experiment import resume_experiment as resume_experiment
    from advisor.bios.experiment import run_experiment as run_experiment
    from advisor.bios.experiment_plan import experiment_plan as experiment_plan
    from advisor.bios.plan import plan_bios as plan_bios
    from advisor.bios.prove import prove_bios as prove_bios
    from advisor.bios.reading import bios_input as bios_input
    from advisor.bios.reading import read_bios as read_bios
    from advisor.bios.stage import bios_status as bios_status
    from advisor.bios.stage import restart_server as restart_server
    from advisor.bios.stage import stage_bios as stage_bios
    from advisor.bios.stage import undo_bios as undo_bios
    from advisor.errors import AdvisorError as AdvisorError
    from advisor.exports.compared import change_report as change_report
    from advisor.exports.compared import compare as compare
    from advisor.exports.export import document as document
    from advisor.exports.export import export as export
    from advisor.exports.single import MeasureNow as MeasureNow
    from advisor.exports.single import report as report
    from advisor.jobs.bind import bind as bind
    from advisor.jobs.check import check as check
    from advisor.jobs.lint import lint_line as lint_line
    from advisor.jobs.racing.lines import Asked as Asked
    from advisor.jobs.racing.race import Limits as Limits
    from advisor.jobs.racing.race import tune_line as tune_line
    from advisor.jobs.started.benchmark import NetworkOptions as NetworkOptions
    from advisor.jobs.started.benchmark import measure_network as measure_network
    from advisor.jobs.started.folder import write_job as write_job
    from advisor.jobs.started.hosts import HostOptions as HostOptions
    from advisor.jobs.started.hosts import JobOptions as JobOptions
    from advisor.jobs.started.hosts import LauncherOptions as LauncherOptions
    from advisor.jobs.started.hpl import HplOptions as HplOptions
    from advisor.jobs.started.hpl import measure_hpl as measure_hpl
    from advisor.jobs.verify import running as running
    from advisor.jobs.verify import verify as verify
    from advisor.machine.observer import Observer as Observer
    from advisor.machine.read import captured as captured
    from advisor.machine.read import read_machine as read_machine
    from advisor.measure.task import MeasureOptions as MeasureOptions
    from advisor.measure.task import measure_machine as measure_machine
    from advisor.measure.task import read_measurements as read_measurements
    from advisor.measure.task import wished as wished
    from advisor.show.terminal import topology as topology

__version__ = "0.2.0"

_HOMES = {
    "errors": ("AdvisorError",),
    "machine.observer": ("Observer",),
    "exports.export": ("document", "export"),
    "advice.audit": ("audit", "explain"),
    "exports.single": ("MeasureNow", "report"),
    "jobs.bind": ("bind",),
    "jobs.lint": ("lint_line",),
    "jobs.check": ("check",),
    "bios.door": ("Door",),
    "bios.plan": ("plan_bios",),
    "bios.prove": ("prove_bios",),
    "bios.reading": ("bios_input", "read_bios"),
    "bios.stage": ("bios_status", "restart_server", "stage_bios", "undo_bios"),
    "advice.checklist": ("Ordered", "checklist"),
    "bios.experiment_plan": ("experiment_plan",),
    "bios.experiment": ("ExperimentOptions", "experiment_status", "resume_experiment", "run_experiment"),
    "jobs.started.hpl": ("measure_hpl", "HplOptions"),
    "jobs.started.folder": ("write_job",),
    "jobs.started.hosts": ("HostOptions", "JobOptions", "LauncherOptions"),
    "machine.read": ("captured", "read_machine"),
    "show.terminal": ("topology",),
    "measure.task": ("MeasureOptions", "measure_machine", "read_measurements", "wished"),
    "jobs.started.benchmark": ("NetworkOptions", "measure_network"),
    "exports.compared": ("change_report", "compare"),
    "advice.judgement": ("rulebook",),
    "jobs.racing.race": ("Limits", "tune_line"),
    "jobs.racing.lines": ("Asked",),
    "jobs.verify": ("running", "verify"),
    "advice.whatif": ("whatif",),
}
"""Module -> what of it is public. No name may be that of a room, such as measure or plan: the room would take its place."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name, importing its module now (PEP 562)."""
        from importlib import import_module

        home = next((module for module, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{home}"), name)

    def __dir__() -> list[str]:
        """Return the public names too, for completion in a notebook."""
        return sorted({*globals(), *(name for names in _HOMES.values() for name in names)})
