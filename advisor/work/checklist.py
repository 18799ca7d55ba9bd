"""Makes the Plan behind a checklist and fills the format that was asked for."""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.paths import templates

if TYPE_CHECKING:
    from advisor.model.audit.checklist import Checklist, Item
    from advisor.model.audit.plan import Include, NotWritten, Plan, WantedSetting
    from advisor.model.audit.vendor import Redfish, Vendor
    from advisor.model.hardware.firmware import Bios, Firmware
    from advisor.model.hardware.machine import Machine
    from advisor.work.bios import BiosInput


SYSTEM = ("boot", "os", "fabric", "scheduler", "mpi", "job")


def planned(
    checklist: "Checklist",
    wishes: "Sequence[WantedSetting]",
    vendor: "Vendor",
    given: "BiosInput",
    include: "Sequence[Include]" = (),
    *,
    order: bool = False,
) -> "Plan":
    """Return the plan of a checklist's wishes."""
    from advisor.plan.draft import FirmwareState
    from advisor.plan.make import plan_of, system_of

    ground = FirmwareState(
        vendor, checklist.platform_id, given.bios, given.registry, frozenset(include), order=order and given.bios is None
    )
    told = [f"{item.title}: {item.fix.text} ({item.id})" for item in _states(checklist, SYSTEM)]
    return plan_of(
        wishes,
        ground,
        states=[_left(item) for item in _states(checklist, ("bios",))],
        system=system_of(wishes, told, ground.include, order=ground.order),
        machine=checklist.machine,
        platform=checklist.platform,
        scope=checklist.scope,
    )


def _states(checklist: "Checklist", where: Iterable[str]) -> "list[Item]":
    """Return the lines that are no setting and are not so."""
    return [item for item in checklist.items if item.setting is None and item.done is False and item.fix.where in where]


def _left(item: "Item") -> "NotWritten":
    from advisor.model.audit.plan import NotWritten

    return NotWritten(title=item.title, wanted=item.fix.text, reason="no setting does it", rules=item.rules)


def document(plan: "Plan") -> dict[str, Any]:
    """Return a plan as plain JSON values."""
    return {"schema": "advisor-plan/1", **plan.model_dump(mode="json")}


def must_fit(given: "BiosInput", vendor: "Vendor | None", platform: str | None, firmware: "Firmware | None" = None) -> str | None:
    """Refuse BIOS attributes that cannot be this machine's; return one line where they may not be."""
    from advisor.know.bios_mismatch import bios_mismatch

    found = bios_mismatch(given.bios, given.registry, vendor, platform, firmware)
    if found is None:
        return None
    if found.sure:
        raise BadInput(found.text, cure="give the --bios of this machine, or name its vendor with --vendor")
    return found.text


def bios_of(files: "Iterable[Path]", machine: "Machine") -> "Bios | None":
    """Return the BIOS that --bios gives for a machine; refuse one that cannot be this machine's, say what may not be."""
    import typer

    from advisor.know.platforms import match_platform
    from advisor.know.vendors import match_vendor
    from advisor.work.bios import firmware_from

    given = firmware_from(files)
    platform = match_platform(machine)
    line = must_fit(given, match_vendor(machine.firmware), platform.id if platform else None, machine.firmware)
    if line:
        typer.echo(f"advisor: {line}", err=True)
    return given.bios


def with_apply_time(vendor: "Vendor", given: "BiosInput") -> "Vendor":
    """Return the vendor's sheet without an apply time that this machine's BIOS does not offer: its controller would refuse it."""
    redfish, offered = vendor.redfish, given.apply_times
    asked = redfish.apply.get("@Redfish.SettingsApplyTime") if redfish else None
    if redfish is None or offered is None or not isinstance(asked, dict) or asked.get("ApplyTime") in offered:
        return vendor
    kept = {name: value for name, value in redfish.apply.items() if name != "@Redfish.SettingsApplyTime"}
    left = (
        f"ApplyTime {asked.get('ApplyTime')} is left out, for this BIOS does not offer it: make the job that applies it by hand"
    )
    return vendor.model_copy(update={"redfish": redfish.model_copy(update={"apply": kept, "notes": (left, *redfish.notes)})})


def with_bios(given: "BiosInput", own: "Bios | None") -> "BiosInput":
    """Return what is given, or else what the machine's own capture has."""
    return given if given.bios is not None or own is None else given._replace(bios=own)


FOLDER = "checklist"
SITE_FOLDERS = (Path("~/.config/advisor/templates"), Path("/etc/advisor/templates"))
"""Where a site keeps templates of its own; the nearer wins."""

BUILT_IN = ("txt", "json", "plan")
"""Formats that no template makes: what fits a terminal, and what programs read."""

_LARGEST = 1 << 20


def found_templates(kind: str) -> dict[str, Path]:
    """Return the templates of a folder by name; a site's own come before ours."""
    found: dict[str, Path] = {}
    for folder in (templates(), *(folder.expanduser() for folder in reversed(SITE_FOLDERS))):
        found |= {path.name.removesuffix(".j2"): path for path in sorted((folder / kind).glob("*.j2"))}
    return found


def formats() -> dict[str, Path]:
    """Return every template by the name of its format."""
    return found_templates(FOLDER)


def template_of(name: str) -> str | None:
    """Return the template of a format, None for one that is built in; refuse a name that is none."""
    known = formats()
    if name in known:
        return template_text(known[name])
    if name in BUILT_IN:
        return None
    from advisor.work.bios import must_be_one_of

    names = (*BUILT_IN, *known)
    must_be_one_of("format", name, names, f"there are {', '.join(names)}")
    return None


def template_text(path: Path) -> str:
    """Return a template's text; refuse what is none."""
    try:
        if path.stat().st_size > _LARGEST:
            raise BadValue(f"{path} is larger than any template")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotWork(f"{path}: cannot be read as a template; {error}") from error


def complaint(name: str, template: str, vendor: "Vendor") -> BadValue | None:
    """Return why a format does not serve a vendor, naming the one that does; None where it does."""
    from advisor.render.jinja import about

    for_whom = about(template).vendors
    if name == "redfish":
        return None if vendor.redfish else BadValue(f"no Redfish path is known for {vendor.name}", cure="take --as md")
    if not for_whom or vendor.id in for_whom:
        return None
    serving = [each for each, path in formats().items() if vendor.id in about(template_text(path)).vendors]
    better = serving[0] if serving else "redfish" if vendor.redfish else "md"
    cure = f"take --as {better}" if vendor.match else f"name the vendor with --vendor {for_whom[0]}"
    return BadValue(f"{name} is a tool for {', '.join(for_whom)}, and this is {vendor.name}", cure=cure)


def remarks(name: str, plan: "Plan", vendor: "Vendor", output: Path | None) -> Iterator[str]:
    """Yield what a format cannot say in the file itself: JSON has no comments."""
    if name != "redfish" or vendor.redfish is None:
        return
    redfish = vendor.redfish
    if plan.writes:
        yield from _staged(plan, redfish, output)
    else:
        yield "there is nothing to stage this way"
    from advisor.render.checklist.exports import untouched

    if plan.look_up_with:
        yield f"look up first, all at once: curl -n https://BMC{redfish.bios}"
    for heading, lines in untouched(plan):
        yield from (f"{heading}: {line}" for line in lines)


def _staged(plan: "Plan", redfish: "Redfish", output: Path | None) -> Iterator[str]:
    """Yield how a body is staged and taken back."""
    from advisor.render.commandline import word

    bmc = f"https://BMC{redfish.settings}"
    yield f"save the present values first: curl -f -k -n https://BMC{redfish.bios} -o bios-before.json"
    headers = {"Content-Type": "application/json", **redfish.headers}
    words = [f"-H {shlex.quote(f'{key}: {value}')}" for key, value in headers.items()]
    file = word(str(output or "FILE"))
    yield f"stage it: curl -k -n -X PATCH {' '.join(words)} -d @{file} {bmc}"
    yield from redfish.notes
    undo = {back.attribute: back.value for change in plan.writes for back in change.back if back.value is not None}
    if undo:
        yield f"undo, as a body: {json.dumps({'Attributes': undo, **redfish.apply}, ensure_ascii=True)}"
    data = f'{{"ResetType": "{redfish.reset_type}"}}'
    yield (
        "then, drained, restart: curl -k -n -X POST -H 'Content-Type: application/json' "
        f"-d {shlex.quote(data)} https://BMC{redfish.reset}"
    )
