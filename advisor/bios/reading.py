"""What a BMC has of a server: found by its own links, read into a file that --bios takes, with what waits and whose it is."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from advisor.advice.bios_files import BiosInput
from advisor.advice.model.bios_change import Owner
from advisor.bios.connection import Resource
from advisor.bios.door import Door
from advisor.errors import one_line
from advisor.machine.firmware import Bios, Registry
from advisor.machine.sources.redfish import apply_times, bios_of, registry_of, with_other_names

if TYPE_CHECKING:
    from advisor.bios.session import Session


_MOST_MEMBERS: Final = 60
"""Members of one collection that are looked at; iLO lists some thirty registries."""


@dataclass(frozen=True)
class Controller:
    """A server as its BMC has it, as raw as it came."""

    system: Resource
    bios: Resource
    settings_link: str | None
    """The settings object, where the BMC names one: it takes changes for the next restart."""
    settings: Resource | None
    """None where it is not there: nothing waits."""
    tag: str | None
    registry: Resource | None
    manager: Resource

    @property
    def applied(self) -> dict[str, Any]:
        """Return the attributes as they are."""
        return _plain_values(self.bios["Attributes"])

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
    held = _plain_values(told) if isinstance(told, dict) else {}
    missing = object()
    return {name: value for name, value in held.items() if applied.get(name, missing) != value}


def _plain_values(attributes: dict[str, Any]) -> dict[str, Any]:
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
        session.fail("BIOS settings cannot be read here, because its Bios has no attributes; start the server once")
    link = _settings_link(session, bios)
    settings, tag = session.tagged(link) if link else (None, None)
    registry = _registry_named(session, bios.get("AttributeRegistry")) if with_registry else None
    return Controller(system, bios, link, settings, tag, registry, _manager(session, system))


def _the_system(session: "Session") -> tuple[Resource, Resource]:
    """Return the one system that has a Bios, and that."""
    found = []
    for member in _members(session, session.root.get("Systems")):
        system = session.get(member)
        if isinstance(system.get("Bios"), dict):
            found.append(system)
    if not found:
        session.fail("BIOS settings cannot be read here, because no system of it has a Bios (many OpenBMC builds have none)")
    if len(found) > 1:
        names = ", ".join(str(each.get("Id")) for each in found)
        session.fail(f"it has the Bios of several systems ({names}): which is meant is not known")
    bios = session.look(found[0]["Bios"])
    if bios is None:
        session.fail("BIOS settings cannot be read here, because the Bios that its system names is not there")
    return found[0], bios


def _members(session: "Session", link: object) -> Iterator[object]:
    if not link:
        session.fail("its Redfish root names no systems")
    members = session.get(link).get("Members")
    yield from (members[:_MOST_MEMBERS] if isinstance(members, list) else ())


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


def _registry_named(session: "Session", name: object) -> Resource | None:
    """Return the attribute registry of a name; None where the BMC has none of it."""
    if not isinstance(name, str) or not name or "Registries" not in session.root:
        return None
    listed = session.look(session.root["Registries"])
    told = (listed or {}).get("Members")
    members = [each for each in told[:_MOST_MEMBERS] if isinstance(each, dict)] if isinstance(told, list) else []
    for member in sorted(members, key=lambda each: _unlike(str(each.get("@odata.id", "")), name)):
        found = session.look(member) or {}
        if not _same(name, found.get("Registry")) and not _same(name, found.get("Id")):
            continue
        if isinstance(found.get("RegistryEntries"), dict):
            return found
        for link in _locations(found):
            registry = session.look(link)
            if registry is not None and isinstance(registry.get("RegistryEntries"), dict):
                return registry
    return None


def _locations(file: Resource) -> list[str]:
    """Return where a registry lies, the English one first."""
    told = file.get("Location")
    places = (
        [each for each in told if isinstance(each, dict) and isinstance(each.get("Uri"), str)] if isinstance(told, list) else []
    )
    return [each["Uri"] for each in sorted(places, key=lambda each: str(each.get("Language", "en"))[:2] != "en")]


def _unlike(link: str, name: str) -> int:
    """Return how unlike a link is to a registry's name: the likest is asked first."""
    last, stem = _plain(link.rstrip("/").rpartition("/")[2]), _plain(name.partition(".")[0])
    return 0 if last.startswith(stem) else 1 if "bios" in last else 2


def _same(name: str, other: object) -> bool:
    """Return whether two names are of one registry: the same stem, and of its version as much as both tell."""
    if not isinstance(other, str):
        return False
    (one, first), (two, second) = (_version(each) for each in (name, other))
    shared = min(len(first), len(second))
    return one == two and first[:shared] == second[:shared]


def _version(name: str) -> tuple[str, list[str]]:
    stem, _, rest = name.partition(".")
    return _plain(stem), re.findall(r"\d+", rest)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


FORMAT: Final = "advisor-bios/1"
_OF_ATTRIBUTE: Final = (
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

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        many = len(self.changes)
        return f"read, {many} change{'s wait' if many > 1 else ' waits'}" if many else "read"

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
        name = self.bios.registry if self.registry is not None else None
        return {"verified": self.verified, "attributes": len(self.bios.attributes), "registry": name, "waiting": self.waiting}

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
            "registry": _public_registry(self.raw.registry),
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
    return BiosInput(found.bios, found.registry, apply_times(found.raw.bios), found.owner)


def reading_of(session: "Session", *, with_registry: bool = True) -> BiosReading:
    """Return what the BMC of a session has."""
    raw, name = read_controller(session, with_registry=with_registry), session.address.name
    bios = bios_of(raw.bios, name)
    pending = bios_of({**raw.bios, "Attributes": raw.waiting}, name)
    bios = bios.model_copy(update={"pending": dict(pending.attributes)})
    registry = _understood(raw.registry, name) if raw.registry is not None else None
    if registry is not None:
        bios = with_other_names(bios, registry)
    return BiosReading(name, session.trust.how, now(), _owner(raw), raw, bios, registry)


_KNOWN: Final[dict[int, tuple[dict[str, Any], Registry]]] = {}
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


def _owner(raw: Controller) -> Owner:

    def text(holder: Mapping[str, Any], key: str) -> str | None:
        value = holder.get(key)
        return value[:100] if isinstance(value, str) and value.strip() and value.isprintable() else None

    return Owner(
        uuid=text(raw.system, "UUID"),
        vendor=text(raw.system, "Manufacturer"),
        model=text(raw.system, "Model"),
        bios_version=text(raw.system, "BiosVersion"),
        bmc_version=text(raw.manager, "FirmwareVersion"),
        host_name=text(raw.system, "HostName"),
    )
