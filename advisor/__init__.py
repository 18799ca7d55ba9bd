"""Audits HPC servers: what to set, why, and how that is known.

What the commands do can be called, too: ``from advisor import audit, bind`` (docs/api.md). Nothing is imported before it is
asked for, so that `advisor --help` answers at once.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
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
    from advisor.bios.restart import restart_server as restart_server
    from advisor.bios.stage import bios_status as bios_status
    from advisor.bios.stage import stage_bios as stage_bios
    from advisor.bios.stage import undo_bios as undo_bios
    from advisor.errors import AdvisorError as AdvisorError
    from advisor.exports.export import export as export
    from advisor.work.audit import audit as audit
    from advisor.work.bind import bind as bind
    from advisor.work.bind import lint_line as lint_line
    from advisor.work.checklist import Ordered as Ordered
    from advisor.work.checklist import checklist as checklist
    from advisor.work.documents import document as document
    from advisor.work.hpl import measure_hpl as measure_hpl
    from advisor.work.job.folder import write_job as write_job
    from advisor.work.job.hosts import HostOptions as HostOptions
    from advisor.work.job.hosts import JobOptions as JobOptions
    from advisor.work.job.hosts import LauncherOptions as LauncherOptions
    from advisor.work.job.hpl import HplOptions as HplOptions
    from advisor.work.job.network import NetworkOptions as NetworkOptions
    from advisor.work.job.network import measure_network as measure_network
    from advisor.work.machine import captured as captured
    from advisor.work.machine import read_machine as read_machine
    from advisor.work.measure import MeasureOptions as MeasureOptions
    from advisor.work.measure import measure_machine as measure_machine
    from advisor.work.measure import read_measurements as read_measurements
    from advisor.work.measure import wished as wished
    from advisor.work.measuring_now import MeasureNow as MeasureNow
    from advisor.work.observer import Observer as Observer
    from advisor.work.report.change import change_report as change_report
    from advisor.work.report.single import report as report
    from advisor.work.rules import explain as explain
    from advisor.work.rules import rulebook as rulebook
    from advisor.work.topology import topology as topology
    from advisor.work.tune.budget import Limits as Limits
    from advisor.work.tune.task import Asked as Asked
    from advisor.work.tune.task import tune_line as tune_line
    from advisor.work.verify import running as running
    from advisor.work.verify import verify as verify
    from advisor.work.whatif import before_after as before_after
    from advisor.work.whatif import diff as diff
    from advisor.work.whatif import whatif as whatif

__version__ = "0.2.0"

_HOMES: Final = {
    "errors": ("AdvisorError",),
    "work.observer": ("Observer",),
    "work.documents": ("document",),
    "work.audit": ("audit",),
    "work.measuring_now": ("MeasureNow",),
    "work.bind": ("bind", "lint_line"),
    "bios.door": ("Door",),
    "bios.plan": ("plan_bios",),
    "bios.prove": ("prove_bios",),
    "bios.reading": ("bios_input", "read_bios"),
    "bios.restart": ("restart_server",),
    "bios.stage": ("bios_status", "stage_bios", "undo_bios"),
    "work.checklist": ("Ordered", "checklist"),
    "bios.experiment_plan": ("experiment_plan",),
    "bios.experiment": ("ExperimentOptions", "experiment_status", "resume_experiment", "run_experiment"),
    "exports.export": ("export",),
    "work.hpl": ("measure_hpl",),
    "work.job.hpl": ("HplOptions",),
    "work.job.folder": ("write_job",),
    "work.job.hosts": ("HostOptions", "JobOptions", "LauncherOptions"),
    "work.machine": ("captured", "read_machine"),
    "work.topology": ("topology",),
    "work.measure": ("MeasureOptions", "measure_machine", "read_measurements", "wished"),
    "work.job.network": ("NetworkOptions", "measure_network"),
    "work.report.change": ("change_report",),
    "work.report.single": ("report",),
    "work.rules": ("explain", "rulebook"),
    "work.tune.budget": ("Limits",),
    "work.tune.task": ("Asked", "tune_line"),
    "work.verify": ("running", "verify"),
    "work.whatif": ("before_after", "diff", "whatif"),
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
