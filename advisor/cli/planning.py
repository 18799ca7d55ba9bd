"""Makes the Plan behind a checklist: what its pages say to type, and every file that tools read."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from advisor.cli.inputs import Given
    from advisor.model.audit.checklist import Checklist, Item
    from advisor.model.audit.plan import Include, NotWritten, Plan, WantedSetting
    from advisor.model.audit.vendor import Vendor
    from advisor.model.hardware.firmware import Bios, Firmware
    from advisor.model.hardware.machine import Machine

SYSTEM = ("boot", "os", "fabric", "scheduler", "mpi", "job")


def planned(
    checklist: "Checklist",
    wishes: "Sequence[WantedSetting]",
    vendor: "Vendor",
    given: "Given",
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


def must_fit(given: "Given", vendor: "Vendor | None", platform: str | None, firmware: "Firmware | None" = None) -> str | None:
    """Refuse BIOS attributes that cannot be this machine's; return one line where they may not be."""
    from advisor.know.bios_mismatch import bios_mismatch

    found = bios_mismatch(given.bios, given.registry, vendor, platform, firmware)
    if found is None:
        return None
    if found.sure:
        raise BadInput(found.text, cure="give the --bios of this machine, or name its maker with --vendor")
    return found.text


def bios_of(files: "Iterable[Path]", machine: "Machine") -> "Bios | None":
    """Return the BIOS that --bios gives for a machine; refuse one that cannot be this machine's, say what may not be."""
    import typer

    from advisor.cli.inputs import firmware_from
    from advisor.know.platforms import match_platform
    from advisor.know.vendors import match_vendor

    given = firmware_from(files)
    platform = match_platform(machine)
    line = must_fit(given, match_vendor(machine.firmware), platform.id if platform else None, machine.firmware)
    if line:
        typer.echo(f"advisor: {line}", err=True)
    return given.bios


def with_apply_time(vendor: "Vendor", given: "Given") -> "Vendor":
    """Return the maker's sheet without an apply time that this machine's BIOS does not offer: its controller would refuse it."""
    redfish, offered = vendor.redfish, given.apply_times
    asked = redfish.apply.get("@Redfish.SettingsApplyTime") if redfish else None
    if redfish is None or offered is None or not isinstance(asked, dict) or asked.get("ApplyTime") in offered:
        return vendor
    kept = {name: value for name, value in redfish.apply.items() if name != "@Redfish.SettingsApplyTime"}
    left = (
        f"ApplyTime {asked.get('ApplyTime')} is left out, for this BIOS does not offer it: make the job that applies it by hand"
    )
    return vendor.model_copy(update={"redfish": redfish.model_copy(update={"apply": kept, "notes": (left, *redfish.notes)})})


def with_bios(given: "Given", own: "Bios | None") -> "Given":
    """Return what is given, or else what the machine's own capture has."""
    return given if given.bios is not None or own is None else given._replace(bios=own)
