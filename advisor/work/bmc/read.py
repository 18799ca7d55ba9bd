"""Reads a BIOS through its BMC into a file that --bios takes: attributes, what waits, the registry, and whose it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from advisor.work.bmc.door import Door

if TYPE_CHECKING:
    from advisor.bmc.controller import Controller
    from advisor.bmc.session import Session
    from advisor.model.audit.bios_change import Owner
    from advisor.model.hardware.firmware import Bios, Registry
    from advisor.work.bios import BiosInput

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
    owner: "Owner"
    raw: "Controller"
    bios: "Bios"
    registry: "Registry | None"

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


def _public_registry(registry: "Mapping[str, Any] | None") -> dict[str, Any] | None:
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


def bios_input(door: Door) -> "BiosInput":
    """Return the BIOS that a BMC has as --bios gives one."""
    from advisor.collect.firmware.redfish import apply_times
    from advisor.work.bios import BiosInput

    found = read_bios(door)
    return BiosInput(found.bios, found.registry, apply_times(found.raw.bios), found.owner)


def reading_of(session: "Session", *, with_registry: bool = True) -> BiosReading:
    """Return what the BMC of a session has."""
    from advisor.bmc.controller import read_controller
    from advisor.collect.firmware.redfish import bios_of, with_other_names

    raw, name = read_controller(session, with_registry=with_registry), session.address.name
    bios = bios_of(raw.bios, name)
    pending = bios_of({**raw.bios, "Attributes": raw.waiting}, name)
    bios = bios.model_copy(update={"pending": dict(pending.attributes)})
    registry = _understood(raw.registry, name) if raw.registry is not None else None
    if registry is not None:
        bios = with_other_names(bios, registry)
    return BiosReading(name, session.trust.how, now(), _owner(raw), raw, bios, registry)


_KNOWN: "Final[dict[int, tuple[dict[str, Any], Registry]]]" = {}
_MANY = 8
_ONE_AT_A_TIME = Lock()


def _understood(raw: dict[str, Any], name: str) -> "Registry":
    """Return a registry; of one that several BMCs share, which is one object, what was made of it before."""
    from advisor.collect.firmware.redfish import registry_of

    with _ONE_AT_A_TIME:
        if id(raw) not in _KNOWN or _KNOWN[id(raw)][0] is not raw:
            while len(_KNOWN) >= _MANY:
                _KNOWN.pop(next(iter(_KNOWN)))
            _KNOWN[id(raw)] = (raw, registry_of(raw, f"{name}: its attribute registry"))
        return _KNOWN[id(raw)][1]


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _owner(raw: "Controller") -> "Owner":
    from advisor.model.audit.bios_change import Owner

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
