"""Makes a tuning checklist, of a machine or of hardware on order, the Plan behind it, and the format that is asked for."""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from advisor import __version__
from advisor.errors import BadValue, must_be_one_of
from advisor.paths import template_files, template_text
from advisor.work import SILENT, Observer
from advisor.work.bios import Made, listed

if TYPE_CHECKING:
    from advisor.model.audit.checklist import Checklist, Item
    from advisor.model.audit.plan import Include, Plan, WantedSetting
    from advisor.model.audit.platform import Scope
    from advisor.model.audit.vendor import Redfish, Vendor
    from advisor.work.bios import BiosInput


class Ordered(NamedTuple):
    """Hardware on order as it is named: by its platform, such as rome, or by its processor, such as EPYC 7702."""

    platform: str | None = None
    cpu: str | None = None


@dataclass(frozen=True)
class TuningChecklist:
    """A checklist, the plan behind it, and in whose words they are."""

    checklist: "Checklist"
    plan: "Plan"
    vendor: "Vendor"

    def todo(self) -> "TuningChecklist":
        """Return it without what is so already."""
        return replace(self, checklist=self.checklist.todo())

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist --as json``."""
        from advisor.render.checklist.page import checklist_document

        return checklist_document(self.checklist)

    def plan_document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist --as plan``."""
        return {"schema": "advisor-plan/1", **self.plan.model_dump(mode="json")}

    def text(self, form: str) -> str:
        """Return the file of a format that a template makes; refuse one that is for another maker's tools."""
        from advisor.render.checklist.exports import values
        from advisor.render.jinja import fill

        template = template_of(form)
        if template is None:
            raise BadValue(f"{form} is made by no template", cure="take document() or plan_document()")
        refused = complaint(form, template, self.vendor)
        if refused:
            raise refused
        return fill(template, values(self.checklist, self.plan, self.vendor, __version__), f"{form}.j2")


def checklist(
    source: "str | Ordered | None" = None,
    scope: "Scope" = "mpi",
    *,
    vendor: str | None = None,
    site: Sequence[Path] = (),
    bios: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    include: Sequence[str] = (),
    observer: Observer = SILENT,
) -> TuningChecklist:
    """Return the tuning checklist of a machine, None is this one, or of hardware on order, in its vendor's words or another's.

    ``include`` adds to the plan what files for tools leave out: unknown (present values), contested (by guides).
    """
    from advisor.know.vendors import vendor_by_id
    from advisor.plan.checklist import with_plan
    from advisor.work.bios import firmware_from, with_apply_time, with_bios

    given = firmware_from(bios)
    words = vendor_by_id(vendor) if vendor is not None else None
    if isinstance(source, Ordered):
        made = _of_order(source, words, scope, site=site, given=given, observer=observer)
    else:
        made = _of_machine(source, words, scope, site=site, given=given, observer=observer, files=measurements)
    asked, order = with_bios(given, made.bios), isinstance(source, Ordered)
    plan = planned(made.checklist, made.wishes, made.words, asked, _included(include), order=order)
    return TuningChecklist(with_plan(made.checklist, plan, made.words), plan, with_apply_time(made.words, given))


def _of_order(
    order: Ordered, words: "Vendor | None", scope: "Scope", *, site: Sequence[Path], given: "BiosInput", observer: Observer
) -> Made:
    from advisor.know.checklist import Sheets, checklist_with
    from advisor.know.platforms import platform_on_order
    from advisor.know.settings import settings
    from advisor.know.vendors import FALLBACK, publications, vendor_by_id
    from advisor.work.bios import must_fit
    from advisor.work.judgement import HardwareOnOrder, judged, maker_of

    platform, model = platform_on_order(order.platform, order.cpu)
    if line := must_fit(given, words, platform.id):
        observer.say(line)
    words = words or vendor_by_id(FALLBACK)
    result = judged(HardwareOnOrder(platform, words, model), scope, site, bios=given.bios)
    maker, published = maker_of(platform), publications()
    sheets = Sheets(settings(), words, published, given.bios, maker, result.hints, platform=platform, decided=result.decided)
    return Made(*checklist_with(result.audit, sheets), words, None)


def _of_machine(
    source: str | None,
    words: "Vendor | None",
    scope: "Scope",
    *,
    site: Sequence[Path],
    given: "BiosInput",
    observer: Observer,
    files: Sequence[Path],
) -> Made:
    from advisor.work.bios import must_fit
    from advisor.work.judgement import judged
    from advisor.work.machine import read_machine
    from advisor.work.measure import measurements_from

    machine = read_machine(source, observer)
    result = judged(machine, scope, site, bios=given.bios, measurements=measurements_from(files, machine))
    if line := must_fit(given, words or result.vendor, result.audit.platform_id, machine.firmware):
        observer.say(line)
    return listed(result, words or result.vendor, given)


def _included(words: Sequence[str]) -> "list[Include]":
    from advisor.model.audit.plan import INCLUDES

    asked = [must_be_one_of("such --include:", word, INCLUDES, f"there are {', '.join(INCLUDES)}") for word in words]
    return [word for word in INCLUDES if word in asked]


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
    from advisor.model.audit.plan import NotWritten
    from advisor.plan import make
    from advisor.plan.draft import FirmwareState

    ground = FirmwareState(
        vendor, checklist.platform_id, given.bios, given.registry, frozenset(include), order=order and given.bios is None
    )
    told = [f"{item.title}: {item.fix.text} ({item.id})" for item in _states(checklist, SYSTEM)]
    return make.plan_of(
        wishes,
        ground,
        states=[
            NotWritten(title=item.title, wanted=item.fix.text, reason="no setting does it", rules=item.rules)
            for item in _states(checklist, ("bios",))
        ],
        system=make.system_of(wishes, told, ground.include, order=ground.order),
        machine=checklist.machine,
        platform=checklist.platform,
        scope=checklist.scope,
    )


def _states(checklist: "Checklist", where: Iterable[str]) -> "list[Item]":
    """Return the lines that are no setting and are not so."""
    return [item for item in checklist.items if item.setting is None and item.done is False and item.fix.where in where]


FOLDER = "checklist"
BUILT_IN = {
    "txt": "the page as a terminal shows it",
    "json": "the list for programs (docs/json.md)",
    "plan": "what the files for tools are made of, as JSON",
}
"""Formats that no template makes."""


def formats() -> dict[str, Path]:
    """Return every template by the name of its format."""
    return template_files(FOLDER)


def formats_told() -> dict[str, str]:
    """Return what each format is, in a few words: of a template it is its first line."""
    from advisor.render.jinja import about

    told = dict(BUILT_IN)
    for name, path in formats().items():
        head = about(template_text(path))
        whose = f" (--vendor {', '.join(head.vendors)})" if head.vendors else ""
        told[name] = f"{head.summary or f'{path}: its first line does not say what it is'}{whose}"
    return told


def template_of(name: str) -> str | None:
    """Return the template of a format, None for one that is built in; refuse a name that is none."""
    known = formats()
    if name in known:
        return template_text(known[name])
    if name in BUILT_IN:
        return None
    names = (*BUILT_IN, *known)
    must_be_one_of("format", name, names, f"there are {', '.join(names)}")
    return None


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
