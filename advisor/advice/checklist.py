"""Makes a tuning checklist, of a machine or of hardware on order, the Plan behind it, and the format that is asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from advisor import __version__
from advisor.advice.audit_page.outcome import Head, head_of
from advisor.advice.bios_files import BiosInput, firmware_from, must_fit, with_apply_time
from advisor.advice.checklist_page.exports import values
from advisor.advice.checklist_page.page import checklist_document
from advisor.advice.checklist_page.sheet import Sheet
from advisor.advice.judgement import HardwareOnOrder, Judgement, judged, maker_of, named, rule_named
from advisor.advice.know.benchmarks import Known
from advisor.advice.know.checklist import Sheets, checklist_with
from advisor.advice.know.settings import settings
from advisor.advice.know.vendors import FALLBACK, not_vendors, publications, vendor_by_id
from advisor.advice.model.checklist import Checklist, Item
from advisor.advice.model.plan import INCLUDES, Include, NotWritten, Plan, WantedSetting
from advisor.advice.model.vendor import Vendor
from advisor.advice.plan import make
from advisor.advice.plan.draft import FirmwareState
from advisor.advice.plan.make import with_plan
from advisor.errors import BadInput, BadValue, must_be_one_of
from advisor.machine.jinja import about, fill, template_files, template_text
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure.platform import Scope
from advisor.measure.platforms import platform_on_order
from advisor.measure.task import measurements_from


class Made(NamedTuple):
    """A checklist, the wishes of its lines, in whose words it is, and the BIOS, given or of the machine's own capture."""

    checklist: Checklist
    wishes: tuple[WantedSetting, ...]
    words: Vendor
    given: BiosInput
    head: Head
    """What the audit comes to."""


class Ordered(NamedTuple):
    """Hardware on order as it is named: by its platform, such as rome, or by its processor, such as EPYC 7702."""

    platform: str | None = None
    cpu: str | None = None


@dataclass(frozen=True)
class TuningChecklist:
    """A checklist, the plan behind it, and in whose words they are."""

    checklist: Checklist
    plan: Plan
    vendor: Vendor
    whole: Checklist
    """The list of which ``checklist`` may be a part."""
    head: Head
    again: tuple[str, ...] = ()
    """The words that ask for the same list once more: --from node.tar.gz."""

    def todo(self) -> "TuningChecklist":
        """Return it with what is known to be wrong alone."""
        return replace(self, checklist=self.checklist.todo())

    @property
    def sheet(self) -> Sheet:
        """Return it as pages show it."""
        return Sheet(self.checklist, self.plan, self.whole, self.vendor, self.head, self.again)

    @property
    def scripts(self) -> tuple[str, ...]:
        """Return the formats that this vendor's and every system's own tools take."""
        serving = {name: about(template_text(path)).vendors for name, path in formats().items()}
        own = [name for name, vendors in serving.items() if self.vendor.id in vendors]
        bmc = ["redfish"] if self.vendor.redfish else []
        return (*own, *bmc, *(name for name in SYSTEM_FILES if name in serving))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist --as json``."""
        return checklist_document(self.checklist)

    def plan_document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist --as plan``."""
        return {"schema": "advisor-plan/1", **self.plan.model_dump(mode="json")}

    def text(self, form: str) -> str:
        """Return the file of a format that a template makes; refuse one that is for another maker's tools."""
        template = template_of(form)
        if template is None:
            raise BadValue(f"{form} is made by no template", cure="take document() or plan_document()")
        refused = complaint(form, template, self.vendor)
        if refused:
            raise refused
        return fill(template, values(self.sheet, __version__), str(formats()[form]))


def checklist(
    source: str | Machine | Ordered | None = None,
    scope: Scope = "mpi",
    *,
    vendor: str | None = None,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    include: Sequence[str] = (),
    only: Sequence[str] = (),
    observer: Observer = SILENT,
) -> TuningChecklist:
    """Return the tuning checklist of a machine, None is this one, or of hardware on order, in its vendor's words or another's.

    A Machine itself is taken as it is: nothing asks whether the BIOS can be its own.

    ``include`` adds to the plan what files for tools leave out: unknown (present values), contested (by guides). ``only`` keeps
    the lines of some rules, each by its id or by the number that the audit gives its finding, of settings or of attributes.
    """
    given = firmware_from(bios)
    words = vendor_by_id(vendor) if vendor is not None else None
    order = isinstance(source, Ordered)
    if isinstance(source, Ordered):
        platform, model = platform_on_order(source.platform, source.cpu)
        line = must_fit(given, words, platform.id)
        result = judged(HardwareOnOrder(platform, words or vendor_by_id(FALLBACK), model), scope, site, bios=given.bios)
    else:
        machine = source if isinstance(source, Machine) else read_machine(source, observer)
        result = judged(machine, scope, site, bios=given.bios, measurements=measurements_from(measurements, machine))
        own = isinstance(source, Machine)
        line = None if own else must_fit(given, words or result.vendor, result.audit.platform_id, machine.firmware)
    if line:
        observer.say(line)
    whole = listed(result, words or result.vendor, given, order=order)
    return _planned(_chosen(whole, result, only), _included(include), order=order)


def checklist_of(result: Judgement, given: BiosInput, only: Sequence[str] = ()) -> TuningChecklist:
    """Return the tuning checklist of a machine that is judged already, in its own vendor's words; of some findings alone."""
    return _planned(_chosen(listed(result, result.vendor, given), result, only))


def listed(result: Judgement, words: Vendor, given: BiosInput, *, order: bool = False) -> Made:
    """Return the checklist of a judged machine in a vendor's words, or of hardware on order, of which nothing is known."""
    machine, platform = result.machine, result.platform
    given = given if given.bios is not None or machine.bios is None else given._replace(bios=machine.bios)
    sheets = Sheets(settings(), words, publications(), given.bios, maker_of(platform), platform=platform)
    if order:
        sheets = replace(sheets, hints=result.hints, decided=result.decided)
    else:
        cpu, shape, environment = machine.cpu, result.case.shape, result.case.environment
        virtual = environment is not None and environment.virtual not in (None, "none")
        known = Known(cpu.model_name if cpu else None, shape.sockets if shape else None, virtual)
        sheets = replace(sheets, known=known, found=result.places)
    found = checklist_with(result.audit, sheets, None if order else named(machine))
    return Made(*found, words, given, head_of(result.audit))


def plan_of(result: Judgement, given: BiosInput) -> Plan:
    """Return the plan of a judged machine in its own vendor's words: that of ``advisor checklist`` for the same inputs."""
    made = listed(result, result.vendor, given)
    return planned(made.checklist, made.wishes, made.words, made.given)


def _planned(made: Made, include: Sequence[Include] = (), *, order: bool = False) -> TuningChecklist:
    plan = planned(made.checklist, made.wishes, made.words, made.given, include, order=order)
    found = with_plan(made.checklist, plan, made.words)
    return TuningChecklist(found, plan, with_apply_time(made.words, made.given), found, made.head)


def _chosen(made: Made, result: Judgement, only: Sequence[str]) -> Made:
    """Return the lines of what is named, and their wishes; all where nothing is.

    A name is a rule's id or the audit's number of its finding, a setting, or an attribute of this firmware.
    """
    places = {name: each.setting for each in made.wishes for name in (each.setting, each.place and each.place.attribute) if name}
    known = {*places, *(each.id for each in result.book.rules)}
    for name in (name for name in only if not name.isdecimal()):
        must_be_one_of("rule, setting or attribute", name, known, "see advisor rules list")
    rules = {rule_named(result, name).id for name in only if name not in places}
    for name in rules:
        if not any(name in item.rules for item in made.checklist.items):
            raise BadValue(f"{name} has no line on this list", cure=f"see why: advisor explain {name}")
    chosen = {places[name] for name in only if name in places}
    kept = made.checklist.only(lambda item: not only or item.setting in chosen or not rules.isdisjoint(item.rules))
    settings = {item.setting for item in kept.items} | chosen
    if only:
        asked = {rule for item in kept.items for rule in item.rules}
        update = {
            name: tuple(each for each in getattr(result.audit, name) if each.id in asked) for name in ("findings", "doubts")
        }
        made = made._replace(head=head_of(result.audit.model_copy(update=update)))
    return made._replace(checklist=kept, wishes=tuple(each for each in made.wishes if each.done or each.setting in settings))


def _included(words: Sequence[str]) -> list[Include]:
    asked = [must_be_one_of("such --include:", word, INCLUDES, f"there are {', '.join(INCLUDES)}") for word in words]
    return [word for word in INCLUDES if word in asked]


SYSTEM = ("boot", "os", "fabric", "scheduler", "mpi", "job")


def planned(
    checklist: Checklist,
    wishes: Sequence[WantedSetting],
    vendor: Vendor,
    given: BiosInput,
    include: Sequence[Include] = (),
    *,
    order: bool = False,
) -> Plan:
    """Return the plan of a checklist's wishes."""
    ground = FirmwareState(
        vendor, checklist.platform_id, given.bios, given.registry, frozenset(include), order=order and given.bios is None
    )
    told = [f"{item.title}: {item.fix.text} ({item.id})" for item in _states(checklist, SYSTEM)]
    return make.plan_of(
        wishes,
        ground,
        states=[
            NotWritten(title=item.title, wanted=item.fix.text, reason="no setting does it", rules=item.rules, says=item.claim)
            for item in _states(checklist, ("bios",))
        ],
        system=make.system_of(wishes, told, ground.include, order=ground.order),
        machine=checklist.machine,
        platform=checklist.platform,
        scope=checklist.scope,
    )


def _states(checklist: Checklist, where: Iterable[str]) -> list[Item]:
    """Return the lines that are no setting and are not so."""
    return [item for item in checklist.items if item.setting is None and item.done is False and item.fix.where in where]


FOLDER = "checklist"
SYSTEM_FILES = ("sysctl", "kernel-cmdline", "tuned", "ansible")
"""Formats for the operating system, whatever the vendor."""
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
    told = dict(BUILT_IN)
    for name, path in formats().items():
        head = about(template_text(path))
        whose = f" (--vendor {', '.join(head.vendors)})" if head.vendors else ""
        wrong = head.wrong or not_vendors(head.vendors) or (None if head.summary else "its first line does not describe it")
        told[name] = f"{path}: {wrong}" if wrong else f"{head.summary}{whose}"
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


def complaint(name: str, template: str, vendor: Vendor) -> BadInput | BadValue | None:
    """Return why a format does not serve a vendor, naming the one that does, or what is wrong with it; None where it serves."""
    head = about(template)
    for_whom = head.vendors
    if wrong := head.wrong or not_vendors(for_whom):
        return BadInput(wrong, file=str(formats()[name]), place="line 1", cure="docs/adding.md says what stands there")
    if name == "redfish":
        return None if vendor.redfish else BadValue(f"no Redfish path is known for {vendor.name}", cure="take --as md")
    if not for_whom or vendor.id in for_whom:
        return None
    serving = [each for each, path in formats().items() if vendor.id in about(template_text(path)).vendors]
    better = serving[0] if serving else "redfish" if vendor.redfish else "md"
    cure = f"take --as {better}" if vendor.match else f"name the vendor with --vendor {for_whom[0]}"
    return BadValue(f"{name} is a tool for {', '.join(for_whom)}, and this is {vendor.name}", cure=cure)
