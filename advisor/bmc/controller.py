"""What a BMC has of a server: its system, its Bios, what waits for the next restart, and the registry that explains it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from advisor.bmc.session import Resource, Session
from advisor.errors import one_line

_MOST: Final = 60
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


def read_controller(session: Session, *, with_registry: bool = True) -> Controller:
    """Return what a BMC has, found by its own links."""
    system, bios = _system(session)
    if not isinstance(bios.get("Attributes"), dict) or not bios["Attributes"]:
        session.fail("BIOS settings cannot be read here, because its Bios has no attributes; start the server once")
    link = _settings_link(session, bios)
    settings, tag = session.tagged(link) if link else (None, None)
    registry = _registry(session, bios.get("AttributeRegistry")) if with_registry else None
    return Controller(system, bios, link, settings, tag, registry, _manager(session, system))


def _system(session: Session) -> tuple[Resource, Resource]:
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


def _members(session: Session, link: object) -> Iterator[object]:
    if not link:
        session.fail("its Redfish root names no systems")
    members = session.get(link).get("Members")
    yield from (members[:_MOST] if isinstance(members, list) else ())


def _settings_link(session: Session, bios: Resource) -> str | None:
    """Return the settings object that the Bios names; none is made up where it names none."""
    told = bios.get("@Redfish.Settings")
    held = told.get("SettingsObject") if isinstance(told, dict) else None
    return session.local(held) if isinstance(held, dict) else None


def _manager(session: Session, system: Resource) -> Resource:
    """Return the BMC's own resource, for its firmware's version; empty where it names none."""
    links = system.get("Links")
    managers = links.get("ManagedBy") if isinstance(links, dict) else None
    first = managers[0] if isinstance(managers, list) and managers else None
    return (session.look(first) or {}) if isinstance(first, dict) else {}


def _registry(session: Session, name: object) -> Resource | None:
    """Return the attribute registry of a name; None where the BMC has none of it."""
    if not isinstance(name, str) or not name or "Registries" not in session.root:
        return None
    listed = session.look(session.root["Registries"])
    told = (listed or {}).get("Members")
    members = [each for each in told[:_MOST] if isinstance(each, dict)] if isinstance(told, list) else []
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
