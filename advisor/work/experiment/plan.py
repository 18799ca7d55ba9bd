"""Reads a plan of an experiment, or takes a ready one by its name; fills in the programs that have names of their own."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Final

from pydantic import RootModel, ValidationError

from advisor.errors import BadInput, BadValue, did_you_mean, in_words
from advisor.host.node_lists import checked_names
from advisor.know.settings import settings
from advisor.know.vendors import publications
from advisor.model.audit.setting import Neutral, Setting
from advisor.model.experiment import Column, ExperimentPlan, Program
from advisor.paths import rules
from advisor.sheets import Sheet, load_sheet, model_of, parse_sheet, read_sheet
from advisor.work.bios import text_of

_LARGEST: Final = 1 << 20
_PROGRAMS: Final = "programs"
_FOLDER: Final = "experiments"


class Programs(RootModel[dict[str, Program]]):
    """The programs that a plan may name."""


@cache
def ready_programs() -> Mapping[str, Program]:
    """Return the programs that a plan may name."""
    return load_sheet(rules() / _FOLDER / f"{_PROGRAMS}.yaml", Programs).root


def ready_plans() -> dict[str, Path]:
    """Return the ready plans by name."""
    return {path.stem: path for path in sorted((rules() / _FOLDER).glob("*.yaml")) if path.stem != _PROGRAMS}


def listed() -> dict[str, ExperimentPlan]:
    """Return the ready plans as they are."""
    return {name: _read(read_sheet(path)) for name, path in ready_plans().items()}


def list_document() -> dict[str, object]:
    """Return the document of ``advisor experiment --list --json``."""
    plans = {name: each.model_dump(mode="json", exclude_defaults=True) for name, each in listed().items()}
    programs = {name: each.run for name, each in ready_programs().items()}
    return {"schema": "advisor-experiment-list/1", "plans": plans, "programs": programs}


def experiment_plan(
    given: str,
    *,
    hold: Mapping[str, Neutral] | None = None,
    restarts: int | None = None,
    repeats: int | None = None,
    partner: str | None = None,
) -> ExperimentPlan:
    """Return the plan of a file, or a ready one by its name; a mistake is one line that names file and line.

    ``hold`` is what every state has besides, ``partner`` the other host of programs that send messages.
    """
    path = ready_plans().get(given)
    if path is not None:
        sheet = read_sheet(path)
    elif not given.endswith((".yaml", ".yml", ".json")) and not Path(given).exists():
        near = did_you_mean(given, ready_plans(), f"give a file, or one of {', '.join(ready_plans())}")
        raise BadValue(f"{given[:60]} is no ready plan, and no file", cure=near)
    else:
        sheet = parse_sheet(text_of(Path(given), _LARGEST, "a plan", absent="advisor experiment --list has ready ones"), given)
    plan = _read(sheet)
    changed: dict[str, object] = {"restarts": restarts or plan.restarts, "repeats": repeats or plan.repeats}
    for name, level in (hold or {}).items():
        if name not in settings() or not settings()[name].takes(level):
            raise BadValue(f"--hold {name[:60]}={level}: no setting with such a value", cure=did_you_mean(name, settings(), None))
    if hold and plan.factors:
        changed["factors"] = {**plan.factors, **{name: (level,) for name, level in hold.items()}}
    elif hold:
        changed["states"] = tuple(each.model_copy(update={"set": {**each.set, **hold}}) for each in plan.states)
    changed["measure"] = tuple(_with_partner(each, partner) for each in plan.measure if isinstance(each, Program))
    try:
        plan = ExperimentPlan.model_validate({**plan.model_dump(), **changed})
    except ValidationError as error:
        raise BadValue(in_words(error.errors(include_url=False)[0]["msg"]), cure="fewer restarts, or fewer states") from error
    _go_together(plan, sheet)
    return plan


def _with_partner(program: Program, partner: str | None) -> Program:
    if "{partner}" not in program.run:
        return program
    if partner is None:
        raise BadValue(f"{program.name} sends messages to another host, and none is named", cure="add --partner HOST")
    return program.model_copy(update={"run": program.run.replace("{partner}", quote(checked_names((partner,))[0]))})


def _go_together(plan: ExperimentPlan, sheet: Sheet) -> None:
    """Refuse a level that does harm without another setting."""
    for state in plan.every_state:
        for name, level in state.set.items():
            beside = settings()[name].only_with.get(str(level))
            if beside is not None and beside not in state.set:
                text = f"{name}={level} goes only with {beside}, and the plan does not set that"
                raise sheet.wrong(("factors", name), text, f"add it as a factor with one level, or --hold {beside}=VALUE")


def _read(sheet: Sheet) -> ExperimentPlan:
    if not isinstance(sheet.data, dict) or "format" not in sheet.data:
        raise BadInput(
            "no plan of an experiment", file=sheet.file, place="line 1", cure="it begins with format: advisor-experiment/1"
        )
    plan = model_of(sheet, ExperimentPlan)
    _settings_are_known(plan, sheet)
    for at, each in enumerate(plan.published):
        if each.source not in publications():
            cure = did_you_mean(each.source, publications(), "see rules/sources.yaml")
            raise sheet.wrong(("published", at, "source"), f"{each.source[:60]} is no publication", cure)
    filled = tuple(_program(each, sheet, at) for at, each in enumerate(plan.measure))
    _placements_are_used(plan, filled, sheet)
    return plan.model_copy(update={"measure": filled})


def _program(given: Program | str, sheet: Sheet, at: int) -> Program:
    if isinstance(given, Program):
        return given
    known = ready_programs()
    if given not in known:
        cure = did_you_mean(given, known, f"there are {', '.join(known)}; or write name: and run:")
        raise sheet.wrong(("measure", at), f"{given[:60]} is no ready program", cure)
    return known[given]


def _placements_are_used(plan: ExperimentPlan, programs: tuple[Program, ...], sheet: Sheet) -> None:
    used = [(at, each.name) for at, each in enumerate(programs) if "{place}" in each.run]
    if plan.placement and not used:
        raise sheet.wrong(
            ("placement",), "no program has {place} in its command", "write where the words go: run: numactl {place} ./app"
        )
    if used and not plan.placement:
        at, name = used[0]
        cure = 'add placement: {near: "WORDS"}'
        raise sheet.wrong(("measure", at), f"{name} has {{place}}, and the plan has no placement", cure)


def _settings_are_known(plan: ExperimentPlan, sheet: Sheet) -> None:
    """Refuse what is no setting, a level that it does not have, and what an experiment can neither set nor put back."""
    known = settings()
    for at, state in enumerate(plan.every_state):
        for name, level in state.set.items():
            place = ("states", at, "set", name) if plan.states else ("factors", name)
            if name not in known:
                raise sheet.wrong(place, f"{name} is not a setting", did_you_mean(name, known, "see docs/reference/settings.md"))
            if not known[name].takes(level):
                values = ", ".join(known[name].values) or f"a {known[name].type}"
                raise sheet.wrong(place, f"{name} has no level {str(level)[:40]}", f"there are {values}")
            if known[name].where != "bios" and kernel_file(known[name]) is None:
                text = f"{name} can neither be set nor put back while the system runs"
                raise sheet.wrong(place, text, "take a setting of the BIOS, or one that sysctl or a file of /sys takes at once")


def kernel_file(setting: Setting) -> str | None:
    """Return the file that takes a setting of the running kernel; None of any other setting."""
    means = setting.set
    if setting.where == "bios" or setting.reboot != "no" or means is None:
        return None
    return f"/proc/sys/{means.sysctl.replace('.', '/')}" if means.sysctl else means.sysfs


def columns_of(plan: ExperimentPlan) -> tuple[tuple[Column, Program, str], ...]:
    """Return what is compared: every program, once for each placement that it takes."""
    found = []
    for each in plan.measure:
        assert isinstance(each, Program)  # noqa: S101 - experiment_plan fills them in
        places = plan.places if "{place}" in each.run else {"": ""}
        for name, words in places.items():
            title = f"{each.name} {name}".strip()
            found.append((Column(name=title, unit=each.unit, better=each.better), each, words))
    return tuple(found)
