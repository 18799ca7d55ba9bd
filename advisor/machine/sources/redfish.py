"""Reads Bios resources and attribute registries of Redfish, of every vendor's make: no serial numbers, addresses or secrets."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any

from advisor.errors import BadCapture
from advisor.machine.hardware import FLAGS, Allowed, Attribute, Bios, Dependency, Registry, Scalar, Term
from advisor.machine.secrecy import WITHHELD

_LARGEST = 4 << 20
_LONGEST_SHOWN = 200
_PLAIN = (str, int, float, bool, NoneType)


def resource_of(text: str, file: str) -> dict[str, Any]:
    """Return a resource of a management controller: one JSON object."""
    if len(text) > _LARGEST:
        raise BadCapture(f"a Bios resource of {len(text)} characters", file=file, cure=f"at most {_LARGEST}")
    try:
        resource = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, file))
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else None
        cure = "write it with advisor bios read --bmc HOST -o FILE"
        raise BadCapture("not JSON", file=file, place=place, cure=cure) from error
    if not isinstance(resource, dict):
        raise BadCapture("not a Bios resource: an object is expected", file=file)
    return resource


def _object(pairs: Sequence[tuple[str, Any]], file: str) -> dict[str, Any]:
    """Return an object of JSON; refuse one that has two values for one name: two files in one, and neither is believed."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next((name for name, value in pairs if isinstance(value, _PLAIN) and value != found[name]), None)
        if twice is not None:
            raise BadCapture(f"{twice[:_LONGEST_SHOWN]!r} appears twice with different values", file=file, cure="save it again")
    return found


_MOST = 5000
"""Attributes of one resource; the largest seen has 700."""
_LONGEST = 200
"""Letters of a name or a value; longer ones are texts about the machine, and no setting."""

_PRIVATE = re.compile(
    r"password|passwd|pwd|passphrase|secret|credential|serialnumber|servicetag|asset_?tag|uuid|guid|duid|macaddr|mac_?address"
    r"|ip(v[46])?_?address|gateway|subnet|dns|iqn|chap|initiatorname|targetname|hostname|url"
    r"|chipid|certificate(?!mode)|thumbprint|fingerprint|^admin(email|name|phone|otherinfo)|^service(email|name|phone|otherinfo)"
    r"|^server(name|primaryos|otherinfo)|^owner|custompostmessage|license_?key|^(sys|system|bios).*(version|date)$|^(date|time|systime|sysdate)$",
    re.IGNORECASE,
)
"""Names of attributes that are credentials, that tell who or where a machine is, or that change by themselves: none is kept."""

_ADDRESS = re.compile(
    r"(?:[0-9A-F]{2}[:-]){5}[0-9A-F]{2}|(?:\d{1,3}\.){3}\d{1,3}|[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}", re.IGNORECASE
)
_NAMED_BY_ADDRESS = re.compile(r"(?<![0-9A-Z])(?=[0-9A-F]*[0-9])(?=[0-9A-F]*[A-F])[0-9A-F]{12}(?![0-9A-Z])", re.IGNORECASE)
"""Lenovo puts an adapter's address into the attribute's name."""

_SETTINGS = re.compile(r"/bios/(settings|sd|pending)/?$", re.IGNORECASE)
_SYSTEM = re.compile(r"/systems/[^/]+", re.IGNORECASE)
_ILO4 = re.compile(r"^(Hp)?Bios\.|^#?HpBios")


def bios_of(resource: Mapping[str, Any], file: str) -> Bios:
    """Return what a resource that was read says."""
    registry = resource.get("AttributeRegistry")
    return Bios(
        attributes=_attributes(resource, file),
        registry=registry[:_LONGEST] if isinstance(registry, str) else None,
    )


def with_pending(bios: Bios, pending: Bios) -> Bios:
    """Return the BIOS with what its settings resource (Settings, SD, Pending) holds for the next restart."""
    return bios.but(pending=dict(pending.attributes))


def is_settings(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource holds what takes effect at the next restart, by its address: Settings, SD or Pending."""
    return bool(_SETTINGS.search(str(resource.get("@odata.id", ""))))


def system_of(resource: Mapping[str, Any]) -> str | None:
    """Return the system whose BIOS a resource is, by its address, in small letters: /systems/node0."""
    found = _SYSTEM.search(str(resource.get("@odata.id", "")))
    return found[0].lower() if found else None


def apply_times(resource: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the apply times that a PATCH may name; None where the resource does not speak of its settings."""
    settings = resource.get("@Redfish.Settings")
    if not isinstance(settings, dict):
        return None
    told = settings.get("SupportedApplyTimes")
    return frozenset(each for each in told if isinstance(each, str)) if isinstance(told, list) else frozenset()


def _attributes(resource: Mapping[str, Any], file: str) -> dict[str, Scalar | None]:
    attributes = resource.get("Attributes", _of_profile(resource))
    if attributes is None and (any(_ILO4.match(str(resource.get(key, ""))) for key in ("Type", "@odata.type"))):
        attributes = {
            name: value
            for name, value in resource.items()
            if (
                not isinstance(value, dict | list)
                and "@" not in name
                and (name not in ("Type", "Id", "Name", "Description", "Modified"))
            )
        }
    if "Attributes" not in resource and is_settings(resource):
        return {}  # Supermicro and AMI leave it out while nothing waits
    if not isinstance(attributes, dict):
        raise BadCapture(
            "not a Bios resource: it has no Attributes", file=file, cure="write it with advisor bios read --bmc HOST -o FILE"
        )
    if len(attributes) > _MOST:
        raise BadCapture(f"{len(attributes)} attributes", file=file, cure=f"at most {_MOST}")
    values = {
        name: _value(value)
        for name, value in attributes.items()
        if not (len(name) > _LONGEST or not name.isprintable() or bool(_PRIVATE.search(name) or _NAMED_BY_ADDRESS.search(name)))
    }
    return {
        name: value[0]
        for name, value in values.items()
        if value and not (isinstance(value[0], str) and _ADDRESS.search(value[0]))
    }


def _of_profile(resource: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the BIOS of Dell's server configuration profile, as racadm get -t json writes it; None of what is none."""
    whole = resource.get("SystemConfiguration")
    parts = whole.get("Components") if isinstance(whole, dict) else None
    for part in parts if isinstance(parts, list) else ():
        found = part.get("Attributes") if isinstance(part, dict) and str(part.get("FQDD", "")).startswith("BIOS.") else None
        if isinstance(found, list):
            return {
                each["Name"]: each.get("Value") for each in found if isinstance(each, dict) and isinstance(each.get("Name"), str)
            }
    return None


def _value(value: object) -> tuple[Scalar | None] | None:
    """Return a plain value, taken out of the object that HPE Cray EX wraps it in; None for what is no setting."""
    if isinstance(value, dict) and "current_value" in value:
        value = value["current_value"]
    if value is None or isinstance(value, bool):
        return (value,)
    if isinstance(value, int):
        return (value,) if abs(value) < 1 << 63 else None
    if isinstance(value, float):
        return (int(value),) if value.is_integer() and abs(value) < 1 << 53 else None
    return (value,) if isinstance(value, str) and len(value) <= _LONGEST and value.isprintable() else None


_MOST_ATTRIBUTES = 10_000
"""Attributes, values or dependencies of one registry; the largest seen has 738."""
_LONGEST_NAME = 200
_LONGEST_EXPRESSION = 2000
"""Letters of a regular expression; the longest seen has 796."""
_NEVER = "(?!)"


def is_registry(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource is an attribute registry."""
    return isinstance(resource.get("RegistryEntries"), dict)


def covered(resource: Mapping[str, Any], names: Collection[str]) -> float:
    """Return the part of a BIOS's attributes that a registry names, by their names or by the menu's words."""
    entries = resource["RegistryEntries"].get("Attributes")
    listed = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    known = {text for each in listed for key in ("AttributeName", "DisplayName") if isinstance(text := each.get(key), str)}
    return len(known.intersection(names)) / len(names) if names else 0.0


def with_other_names(bios: Bios, registry: Registry) -> Bios:
    """Return the BIOS with the registry's names of attributes that a file calls by the menu's words, and each value's other name.

    The registry's for the menu's words, and the other way round; what is both is taken for the name.
    """
    found = _by_registry(bios.attributes, registry)
    waiting = _by_registry(bios.pending, registry) if bios.pending is not None else None
    also = {}
    for name, value in found.items():
        known = registry.attributes.get(name)
        choices = [each for each in known.values if value in (each.name, each.shown)] if known else []
        for each in sorted(choices, key=lambda each: value != each.name)[:1]:
            if each.name != each.shown:
                also[name] = each.shown if value == each.name else each.name
    return bios.but(attributes=found, pending=waiting, also=also)


def _by_registry(values: dict[str, Scalar | None], registry: Registry) -> dict[str, Scalar | None]:
    """Return values by the registry's names, those that it says are passwords withheld.

    What is called by its words in the menu stays as it is where those are of several attributes.
    """
    shown: dict[str | None, list[str]] = defaultdict(list)
    for known in registry.attributes.values():
        shown[known.shown].append(known.name)
    found: dict[str, Scalar | None] = {}
    for name, value in values.items():
        meant = shown[name] if name not in registry.attributes else []
        own = meant[0] if len(meant) == 1 else name
        secret = own in registry.attributes and registry.attributes[own].kind == "Password"
        found[own] = WITHHELD if value and secret else value
    return found


def in_menu_words(bios: Bios) -> bool:
    """Return whether attributes are called by the menu's words: names have no blanks, but for one in passing."""
    return sum(" " in name.strip() for name in bios.attributes) * 2 > max(len(bios.attributes), 8)


def registry_of(resource: Mapping[str, Any], file: str) -> Registry:
    """Return what a registry says; the error is one line that names the file."""
    entries = resource["RegistryEntries"]
    attributes = _list(entries.get("Attributes"), "Attributes", file)
    if not attributes:
        raise BadCapture("not an attribute registry: it has no Attributes", file=file, cure="save the registry unchanged")
    dependencies = _list(entries.get("Dependencies"), "Dependencies", file)
    systems = [each for each in _list(resource.get("SupportedSystems"), "SupportedSystems", file) if isinstance(each, dict)]
    known = {each.name: each for each in _registry_attributes(attributes)}
    return Registry(
        id=_text(resource.get("Id")),
        maker=_text(resource.get("OwningEntity")),
        product=_text(systems[0].get("ProductName")) if systems else None,
        attributes=known,
        dependencies=tuple(_dependencies(dependencies)),
    )


def _list(value: Any, name: str, file: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST_ATTRIBUTES:
        raise BadCapture(f"{name} is not a list, or is too long for a registry", file=file, cure=f"at most {_MOST_ATTRIBUTES}")
    return value


def _text(value: Any) -> str | None:
    return value[:_LONGEST_NAME] if isinstance(value, str) and value.isprintable() else None


def _registry_attributes(found: list[Any]) -> Iterator[Attribute]:
    for each in found:
        if not isinstance(each, dict) or not isinstance(each.get("AttributeName"), str):
            continue
        expression = each.get("ValueExpression") if isinstance(each.get("ValueExpression"), str) else None
        yield Attribute(
            name=each["AttributeName"],
            kind=_text(each.get("Type")) or "String",
            shown=_text(each.get("DisplayName")),
            values=tuple(_values(each.get("Value"))),
            flags=tuple(flag for flag in FLAGS if _truth(each.get(flag)) is True),
            lower=_whole(each.get("LowerBound")),
            upper=_whole(each.get("UpperBound")),
            shortest=_whole(each.get("MinLength")),
            longest=_whole(each.get("MaxLength")),
            # of an expression that is too long, one that fits nothing
            expression=expression if expression is None or len(expression) <= _LONGEST_EXPRESSION else _NEVER,
        )


def _values(found: Any) -> Iterator[Allowed]:
    for each in found if isinstance(found, list) and len(found) <= _MOST_ATTRIBUTES else ():
        if not isinstance(each, dict):
            continue
        name, shown = each.get("ValueName"), each.get("ValueDisplayName")
        name, shown = (str(part) if isinstance(part, str | int) else None for part in (name, shown))
        if name is not None or shown is not None:
            yield Allowed(name=name if name is not None else str(shown), shown=shown if shown is not None else str(name))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _truth(value: Any) -> Any:
    """Return a truth value that AMI's registries write as a text."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _dependencies(found: list[Any]) -> Iterator[Dependency]:
    for each in found:
        rule = each.get("Dependency") if isinstance(each, dict) and each.get("Type", "Map") == "Map" else None
        if not isinstance(rule, dict):
            continue
        try:
            yield Dependency(
                target=rule["MapToAttribute"],
                property=rule["MapToProperty"],
                value=_scalar(rule.get("MapToValue")),
                terms=tuple(_terms(rule["MapFrom"])),
            )
        except (AttributeError, KeyError, TypeError, ValueError):  # ValueError: no terms at all, or of the wrong type
            continue  # a dependency that cannot be read decides nothing


def _terms(found: Sequence[Mapping[str, Any]]) -> Iterator[Term]:
    """Yield the conditions of a dependency, in postfix however the maker writes how they are joined.

    Supermicro writes postfix ("OR,AND" joins twice), HPE the operator to those before, Lenovo that to the next, and Dell nothing:
    any of them is enough there. Read so, all 33 flags that an R750 publishes come out as published; with all needed, 24 do.
    """
    told = [term.get("MapTerms") for term in found]
    if not any(told):
        told = [None, *["OR"] * (len(found) - 1)]
    elif told[0]:
        told = [None, *told[:-1]]
    for term, joined in zip(found, told, strict=True):
        yield Term(
            attribute=term["MapFromAttribute"],
            property=term["MapFromProperty"],
            condition=term["MapFromCondition"],
            value=_scalar(term.get("MapFromValue")),
            joined=tuple(joined.split(",")) if joined else (),
        )


def _scalar(value: Any) -> Scalar | None:
    value = _truth(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)
