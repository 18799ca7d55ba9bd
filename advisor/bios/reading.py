"""What a BMC has of a server: found by its own links, read into a file that --bios takes, with what waits and whose it is."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from advisor.advice.bios_files import BiosInput
from advisor.advice.model.plan import Owner
from advisor.bios.connection import NoAnswer, Resource
from advisor.bios.door import Door
from advisor.errors import BadInput, CannotWork, one_line
from advisor.machine.hardware import COVERS, Bios, Registry
from advisor.machine.secrecy import WITHHELD
from advisor.machine.sources.redfish import apply_times, bios_of, covered, registry_of, with_other_names

if TYPE_CHECKING:
    from advisor.bios.session import Session


_MOST_MEMBERS = 60
"""Members of one collection that are looked at; iLO lists some thirty registries."""
_MOST_PAGES = 5


@dataclass(frozen=True)
class Controller:
    """A server as its BMC has it, as raw as it came."""

    system: Resource
    bios: Resource
    settings_link: str | None
    """The settings object, where the BMC names one: it takes changes for the next restart."""
    settings: Resource | None
    """None if it is not there: nothing waits."""
    tag: str | None
    manager: Resource
    registry: Resource | None = None
    """The attribute registry that names the attributes, whatever it is called."""
    share: float = 0.0
    """The part of the attributes that it names."""
    without: str | None = None
    """Why there is none."""
    secret: frozenset[str] = frozenset()
    """What any registry of the BMC calls a password, also one that is not accepted."""

    @property
    def applied(self) -> dict[str, Any]:
        """Return the attributes as they are."""
        return plain_values(self.bios["Attributes"])

    @property
    def offered_times(self) -> tuple[str, ...]:
        """Return when the BMC says that it can apply changes; () where it does not say."""
        told = self.bios.get("@Redfish.Settings")
        times = told.get("SupportedApplyTimes") if isinstance(told, dict) else None
        return tuple(each for each in times if isinstance(each, str)) if isinstance(times, list) else ()

    @property
    def apply_time(self) -> Resource:
        """Return what a PATCH says of when: at the next restart, where the BMC supports to be told."""
        if "OnReset" not in self.offered_times:
            return {}
        return {"@Redfish.SettingsApplyTime": {"@odata.type": "#Settings.v1_3_0.PreferredApplyTime", "ApplyTime": "OnReset"}}

    @property
    def last_messages(self) -> tuple[str, ...]:
        """Return what the BMC says of how settings were applied the last time, where it keeps that (HPE)."""
        told = self.bios.get("@Redfish.Settings")
        messages = told.get("Messages") if isinstance(told, dict) else None
        found = [each for each in messages[:5] if isinstance(each, dict)] if isinstance(messages, list) else []
        texts = (each.get("Message") or each.get("MessageId") for each in found)
        return tuple(one_line(text)[:300] for text in texts if isinstance(text, str) and text.strip())

    @property
    def waiting(self) -> dict[str, Any]:
        """Return what waits for the next restart: of a settings object that is a whole copy, what differs."""
        return waiting(self.settings, self.applied)


def waiting(settings: Resource | None, applied: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a settings object that differ from those that are applied."""
    told = (settings or {}).get("Attributes")
    held = plain_values(told) if isinstance(told, dict) else {}
    missing = object()
    return {name: value for name, value in held.items() if applied.get(name, missing) != value}


def plain_values(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes without annotations, each out of the object that HPE Cray EX wraps it in."""
    return {
        name: value.get("current_value") if isinstance(value, dict) else value
        for name, value in attributes.items()
        if "@" not in name
    }


def read_controller(session: "Session", *, with_registry: bool = True) -> Controller:
    """Return what a BMC has, found by its own links."""
    system, bios = _the_system(session)
    if not isinstance(bios.get("Attributes"), dict) or not bios["Attributes"]:
        session.fail("BIOS settings cannot be read here, because the BMC's Bios resource has no attributes; boot the server once")
    link = _settings_link(session, bios)
    settings, tag = session.tagged(link) if link else (None, None)
    found = Controller(system, bios, link, settings, tag, _manager(session, system))
    return replace(found, **_registry(session, bios)._asdict()) if with_registry else found


def _the_system(session: "Session") -> tuple[Resource, Resource]:
    """Return the one system that has a Bios, and that."""
    found = []
    if not session.root.get("Systems"):
        session.fail("its Redfish root lists no systems")
    for member in _members(session, session.root["Systems"]):
        system = session.get(member)
        if isinstance(system.get("Bios"), dict):
            found.append(system)
    if not found:
        session.fail(
            "BIOS settings cannot be read here, because none of the BMC's systems has a Bios resource "
            "(many OpenBMC builds have none)"
        )
    if len(found) > 1:
        names = ", ".join(str(each.get("Id")) for each in found)
        session.fail(f"it has several systems with BIOS settings ({names}): cannot tell which one to use")
    bios = session.look(found[0]["Bios"])
    if bios is None:
        session.fail("BIOS settings cannot be read here, because the Bios resource that the system links to does not exist")
    return found[0], bios


def _members(session: "Session", link: object) -> Iterator[object]:
    """Yield the members of a collection, over its pages."""
    for _ in range(_MOST_PAGES):
        page = session.get(link)
        members = page.get("Members")
        yield from (members[:_MOST_MEMBERS] if isinstance(members, list) else ())
        if not (link := page.get("Members@odata.nextLink")):
            return


def _settings_link(session: "Session", bios: Resource) -> str | None:
    """Return the settings object that the Bios names; none is made up where it names none."""
    told = bios.get("@Redfish.Settings")
    held = told.get("SettingsObject") if isinstance(told, dict) else None
    return session.local(held) if isinstance(held, dict) else None


def _manager(session: "Session", system: Resource) -> Resource:
    """Return the BMC's own resource, for its firmware's version; empty where it names none."""
    links = system.get("Links")
    managers = links.get("ManagedBy") if isinstance(links, dict) else None
    first = managers[0] if isinstance(managers, list) and managers else None
    return (session.look(first) or {}) if isinstance(first, dict) else {}


class _Found(NamedTuple):
    registry: Resource | None
    share: float
    without: str | None
    secret: frozenset[str] = frozenset()


def _registry(session: "Session", bios: Resource) -> _Found:
    """Return the attribute registry that names the BIOS's attributes, or why there is none.

    What it is called says little: Dell's three names of one registry differ in their version, DGX puts the language into one,
    Supermicro keeps it outside of Redfish, Grace names none. So all are looked at, the likeliest first, up to one that names
    every attribute. What of them cannot be read is no registry.
    """
    names, odd, secret = plain_values(bios["Attributes"]).keys(), list[str](), set[str]()
    stem = _plain(str(bios.get("AttributeRegistry") or "").partition(".")[0])
    best = _Found(None, 0.0, None)
    for file in _registry_files(session, stem, odd):
        for registry in _in_file(session, file, odd):
            secret |= {str(each.get("AttributeName")) for each in _entries(registry) if each.get("Type") == "Password"}
            if (share := covered(registry, names)) > best.share:
                best = _Found(registry, share, None)
            if share >= COVERS:
                break
        if best.share == 1:
            break
    if best.share >= COVERS:
        return best._replace(secret=frozenset(secret))
    if best.registry is not None:
        nearest = session.clean(str(best.registry.get("Id") or "one"))[:100]
        why = f"the closest of its registries, {nearest}, covers only {best.share:.0%} of the attributes"
    else:
        why = f"none of its attribute registries can be read: {odd[0]}" if odd else "it has no attribute registry"
    return _Found(None, best.share, why, frozenset(secret))


def _entries(registry: Resource) -> list[Resource]:
    told = registry["RegistryEntries"].get("Attributes")
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


def _registry_files(session: "Session", stem: str, odd: list[str]) -> Iterator[Resource]:
    """Yield what the BMC says of its registries, that of the BIOS's own name first, others last."""
    members = list[object]()
    if link := session.root.get("Registries"):
        with _kept(session, odd):
            members += (each for each in _members(session, link) if isinstance(each, dict))

    def unlike(member: object) -> int:
        last = _plain(str(member.get("@odata.id", "")).rstrip("/").rpartition("/")[2]) if isinstance(member, dict) else ""
        return 0 if stem and last.startswith(stem) else 1 if "bios" in last else 2 if "attribute" in last else 3

    for member in sorted(members, key=unlike):
        with _kept(session, odd if unlike(member) < 2 else []):
            yield session.get(member)


def _in_file(session: "Session", file: Resource, odd: list[str]) -> Iterator[Resource]:
    """Yield the attribute registries that a registry's file is or names: the English one first, at any address of this BMC."""
    if isinstance(file.get("RegistryEntries"), dict):
        yield file
    places = file.get("Location")
    known = [each for each in places if isinstance(each, dict)] if isinstance(places, list) else []
    for place in sorted(known, key=lambda each: str(each.get("Language", "en"))[:2] != "en"):
        uri = place.get("Uri")
        with _kept(session, odd):
            found = session.get(uri.get("extref") or uri if isinstance(uri, dict) else uri, anywhere=True)
            if isinstance(found.get("RegistryEntries"), dict) and isinstance(found["RegistryEntries"].get("Attributes"), list):
                yield found


@contextmanager
def _kept(session: "Session", odd: list[str]) -> Iterator[None]:
    """Note what of a registry cannot be read, and go on; a BMC that does not answer any more ends it."""
    try:
        yield
    except NoAnswer:
        raise
    except CannotWork as error:
        odd.append(str(error).removeprefix(f"{session.address.name}: "))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Job(NamedTuple):
    """A job of the BMC that applies what was staged."""

    link: str
    state: str
    messages: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Return whether it is over, well or not."""
        return self.state in _ENDED

    @property
    def good(self) -> bool:
        """Return whether it ended well."""
        return self.state in ("Completed", "RebootCompleted")


_ENDED = ("Completed", "CompletedWithErrors", "Exception", "Killed", "Cancelled", "Failed", "RebootCompleted")


def job_at(session: "Session", link: str) -> Job | None:
    """Return how a job is; None where the BMC has forgotten it."""
    found = session.look(link)
    if found is None:
        return None
    state = found.get("TaskState") or found.get("JobState") or "not known"
    told = found.get("Messages")
    texts = [each.get("Message") for each in told[:5] if isinstance(each, dict)] if isinstance(told, list) else []
    return Job(link, session.clean(str(state)), tuple(session.clean(str(each)) for each in texts if each))


def open_jobs(session: "Session") -> list[Job]:
    """Return the jobs of the BMC for its BIOS that have not ended: what they hold may show before it is so."""
    service = session.root.get("Tasks")
    tasks = (session.look(service) or {}).get("Tasks") if isinstance(service, dict) else None
    members = (session.look(tasks) or {}).get("Members") if isinstance(tasks, dict) else None
    found = []
    for member in members[:100] if isinstance(members, list) else ():
        task = session.look(member) or {}
        if "bios" in str(task.get("Name", "")).lower() and task.get("TaskState") not in _ENDED:
            found.append(Job(session.local(member), session.clean(str(task.get("TaskState")))))
    return found


_MOSTLY = 0.6
"""The part of the attributes that is read-only where something locks them; of an R750 that nothing locks it is half."""


class Locked(NamedTuple):
    """That most attributes cannot be written now, and why."""

    text: str
    known: bool
    """Whether the BMC says why."""


def _locked(session: "Session", raw: Controller, registry: Registry | None) -> Locked | None:
    """Return why nothing, or little, can be written now: the BMC's lock, a running job, the user's role."""
    there = [registry.attributes[name] for name in raw.applied if name in registry.attributes] if registry else []
    fixed = sum("ReadOnly" in each.flags for each in there)
    most = fixed > _MOSTLY * len(there)
    why = _system_lockdown(session, raw.manager, deep=most)
    if not most:
        return Locked(why, known=True) if why else None
    with suppress(CannotWork):
        why = why or next((f"a BIOS job is still running: {job.state} ({job.link})" for job in open_jobs(session)), None)
        why = why or _role(session)
    head = f"{fixed} of {len(there)} attributes are read-only now: "
    return Locked(head + (why or "a BMC lock, a running job or the user's role; the BMC does not say which"), known=bool(why))


def _system_lockdown(session: "Session", manager: Resource, *, deep: bool) -> str | None:
    """Return that the BMC is locked down, as Supermicro and Dell say it; of the latter all attributes of the BMC are read."""
    oem, links = manager.get("Oem"), manager.get("Links")
    own = [each.get("SysLockdown") for each in oem.values() if isinstance(each, dict)] if isinstance(oem, dict) else []
    dell = links.get("Oem", {}).get("Dell") if deep and isinstance(links, dict) and isinstance(links.get("Oem"), dict) else None
    listed = dell.get("DellAttributes") if isinstance(dell, dict) else None
    for link in (*own, *(listed[:3] if isinstance(listed, list) else ())):
        with suppress(CannotWork):
            found = session.look(link) if isinstance(link, dict) else None
            values = {**found, **(found["Attributes"] if isinstance(found.get("Attributes"), dict) else {})} if found else {}
            if values.get("SysLockdownEnabled") is True or values.get("Lockdown.1.SystemLockdown") == "Enabled":
                return "System Lockdown is on; turn it off on the BMC's own page first"
    return None


def _role(session: "Session") -> str | None:
    """Return the role of who is logged in, where it is none that configures."""
    service = session.look(session.root["AccountService"]) if "AccountService" in session.root else None
    for member in _members(session, service["Accounts"]) if service and "Accounts" in service else ():
        account = session.get(member)
        if account.get("UserName") == session.user and (role := account.get("RoleId")) not in (None, "Administrator"):
            return f"this user's role is {session.clean(str(role))}"
    return None


FORMAT = "advisor-bios/1"
_OF_ATTRIBUTE = (
    "AttributeName", "DisplayName", "Type", "Value", "LowerBound", "UpperBound", "ScalarIncrement", "MinLength", "MaxLength",
    "ReadOnly", "GrayOut", "Hidden", "Immutable", "WriteOnly", "ResetRequired", "MenuPath",
)  # fmt: skip
"""What of a registry's attribute is kept: not its CurrentValue, where Dell keeps serial numbers, nor long help texts."""


@dataclass(frozen=True)
class BiosReading:
    """What a BMC says of a server's BIOS."""

    bmc: str
    verified: str
    at: str
    owner: Owner
    raw: Controller
    bios: Bios
    registry: Registry | None
    without: str | None = None
    """Why no registry explains the attributes."""
    locked: Locked | None = None

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        many = len(self.changes)
        waits = f", {many} change{'s wait' if many > 1 else ' waits'}" if many else ""
        notes = (f"no attribute registry: {self.without}" if self.without else None, self.locked and self.locked.text)
        return f"read{waits}" + "".join(f"; {note}" for note in notes if note)

    @property
    def checked_by(self) -> str | None:
        """Return the registry by which values are checked; None where there is none."""
        return (self.registry.id or self.bios.registry or "its own") if self.registry is not None else None

    good = True

    @property
    def changes(self) -> dict[str, Any]:
        """Return what waits and means another value than the present one: a BMC may write the same one in two ways."""
        known = self.registry.attributes if self.registry else {}
        applied = self.raw.applied
        return {
            name: value
            for name, value in self.raw.waiting.items()
            if name not in known or known[name].named(value) != known[name].named(applied.get(name))
        }

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return what waits and is not shown, because it is a secret or names somebody."""
        return tuple(name for name in self.changes if name not in (self.bios.pending or {}))

    @property
    def waiting(self) -> dict[str, Any]:
        """Return what waits for the next restart; of what is secret, the name alone."""
        known = self.bios.pending or {}
        return {name: known.get(name, "(not shown)") for name in self.changes}

    def about(self) -> dict[str, Any]:
        """Return what there is of it, for a page."""
        return {
            "verified": self.verified,
            "attributes": len(self.bios.attributes),
            "registry": self.checked_by,
            "share": self.raw.share,
            "without": self.without,
            "locked": self.locked.text if self.locked else None,
            "waiting": self.waiting,
        }

    def document(self) -> dict[str, Any]:
        """Return the file that --bios takes: no secrets, no serial numbers."""
        bios, settings = self.raw.bios, self.raw.settings
        kept = {key: bios[key] for key in ("@odata.id", "@odata.type", "AttributeRegistry") if isinstance(bios.get(key), str)}
        told = bios.get("@Redfish.Settings")
        apply: dict[str, Any] = {}
        if isinstance(told, dict):
            apply = {key: told[key] for key in ("SettingsObject", "SupportedApplyTimes") if key in told}
        there = None
        if settings is not None:
            names: dict[str, Any] = {key: settings[key] for key in ("@odata.id", "@odata.type") if key in settings}
            there = {**names, "Attributes": self.bios.pending or {}}
        return {
            "schema": FORMAT,
            "at": self.at,
            "bmc": self.bmc,
            "verified": self.verified,
            "owner": self.owner.model_dump(mode="json"),
            "bios": {**kept, "@Redfish.Settings": apply, "Attributes": self.bios.attributes},
            "settings": there,
            "waiting": self.waiting,
            "registry": _public_registry(self.raw.registry if self.registry else None),
            "share": self.raw.share,
            "without": self.without,
            "locked": self.locked.text if self.locked else None,
        }


def _public_registry(registry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if registry is None:
        return None
    kept = {key: registry[key] for key in ("Id", "Name", "RegistryVersion", "OwningEntity", "Language") if key in registry}
    entries = registry["RegistryEntries"]
    told = entries.get("Attributes")
    attributes = [{key: each[key] for key in _OF_ATTRIBUTE if key in each} for each in told or () if isinstance(each, dict)]
    systems = registry.get("SupportedSystems")
    return {
        **kept,
        **({"SupportedSystems": systems} if isinstance(systems, list) else {}),
        "RegistryEntries": {"Attributes": attributes, "Dependencies": entries.get("Dependencies") or []},
    }


def read_bios(door: Door) -> BiosReading:
    """Return the BIOS that a BMC has: its attributes, what waits for the next restart, and its registry. Changes nothing."""
    with door.open() as session:
        return reading_of(session)


def bios_input(door: Door) -> BiosInput:
    """Return the BIOS that a BMC has as --bios gives one."""
    found = read_bios(door)
    locked = found.locked.text if found.locked else None
    return BiosInput(found.bios, found.registry, apply_times(found.raw.bios), found.owner, found.without, locked)


def reading_of(session: "Session", *, with_registry: bool = True) -> BiosReading:
    """Return what the BMC of a session has."""
    raw, name = read_controller(session, with_registry=with_registry), session.address.name
    bios = bios_of(raw.bios, name)
    pending = bios_of({**raw.bios, "Attributes": raw.waiting}, name)
    bios = bios.but(pending=dict(pending.attributes))
    registry, without = None, raw.without
    try:
        registry = _understood(raw.registry, name) if raw.registry is not None else None
    except BadInput as error:
        without = str(error).removeprefix(f"{name}: ")
    if registry is not None:
        bios = with_other_names(bios, registry)
    if raw.secret:
        screened = [
            {key: WITHHELD if key in raw.secret and value else value for key, value in each.items()}
            for each in (bios.attributes, bios.pending or {})
        ]
        bios = bios.but(attributes=screened[0], pending=screened[1])
    owner, locked = _owner(raw, session.root), _locked(session, raw, registry) if with_registry else None
    return BiosReading(name, session.trust.how, now(), owner, raw, bios, registry, without, locked)


_KNOWN: dict[int, tuple[dict[str, Any], Registry]] = {}
_MANY = 8
_ONE_AT_A_TIME = Lock()


def _understood(raw: dict[str, Any], name: str) -> Registry:
    """Return a registry; of one that several BMCs share, which is one object, what was made of it before."""
    with _ONE_AT_A_TIME:
        if id(raw) not in _KNOWN or _KNOWN[id(raw)][0] is not raw:
            while len(_KNOWN) >= _MANY:
                _KNOWN.pop(next(iter(_KNOWN)))
            _KNOWN[id(raw)] = (raw, registry_of(raw, f"{name}: its attribute registry"))
        return _KNOWN[id(raw)][1]


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _owner(raw: Controller, root: Resource) -> Owner:
    def text(holder: Mapping[str, Any], key: str) -> str | None:
        value = holder.get(key)
        return value[:100] if isinstance(value, str) and value.strip() and value.isprintable() else None

    processors = raw.system.get("ProcessorSummary")
    return Owner(
        uuid=text(raw.system, "UUID"),
        vendor=text(raw.system, "Manufacturer") or text(root, "Vendor"),
        model=text(raw.system, "Model"),
        bios_version=text(raw.system, "BiosVersion"),
        bmc_version=text(raw.manager, "FirmwareVersion"),
        host_name=text(raw.system, "HostName"),
        processor=text(processors, "Model") if isinstance(processors, dict) else None,
        sockets=_count(processors, "Count"),
        threads=_count(processors, "LogicalProcessorCount"),
    )


_MOST_THREADS = 65536


def _count(processors: object, key: str) -> int | None:
    """Return how many a BMC counts; None for what is no count."""
    count = processors.get(key) if isinstance(processors, dict) else None
    return count if type(count) is int and 0 < count <= _MOST_THREADS else None
