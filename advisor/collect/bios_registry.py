"""Reads an attribute registry of Redfish: names, values, limits and dependencies, of every maker's make."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from advisor.collect.redfish_bios import bios_of, resource_of
from advisor.errors import BadCapture
from advisor.model.hardware.firmware import FLAGS, Allowed, Attribute, Bios, Dependency, Registry, Scalar, Term

_MOST: Final = 10_000
"""Attributes, values or dependencies of one registry; the largest seen has 738."""
_LONGEST: Final = 200


def parse_either(text: str, file: str) -> Bios | Registry:
    """Return what a file holds: a Bios resource, or an attribute registry; the error is one line that names the file."""
    resource = resource_of(text, file)
    return registry_of(resource, file) if is_registry(resource) else bios_of(resource, file)


def is_registry(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource is an attribute registry."""
    return isinstance(resource.get("RegistryEntries"), dict)


def with_other_names(bios: Bios, registry: Registry) -> Bios:
    """Return the BIOS with, for each value, its other name: the registry's for the menu's words, and the other way round."""
    also = {}
    for name, value in bios.attributes.items():
        known = registry.attributes.get(name)
        for each in known.values if known else ():
            if value in (each.name, each.shown) and each.name != each.shown:
                also[name] = each.name if value == each.shown else each.shown
                break
    return bios.model_copy(update={"also": also})


def registry_of(resource: Mapping[str, Any], file: str) -> Registry:
    """Return what a registry says; the error is one line that names the file."""
    entries = resource["RegistryEntries"]
    attributes = _list(entries.get("Attributes"), "Attributes", file)
    if not attributes:
        raise BadCapture("no attribute registry: it has no Attributes", file=file, cure="save the registry unchanged")
    dependencies = _list(entries.get("Dependencies"), "Dependencies", file)
    systems = [each for each in _list(resource.get("SupportedSystems"), "SupportedSystems", file) if isinstance(each, dict)]
    known = {each.name: each for each in _attributes(attributes)}
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
    if not isinstance(value, list) or len(value) > _MOST:
        raise BadCapture(f"{name} is no list of a registry's length", file=file, cure=f"at most {_MOST}")
    return value


def _text(value: Any) -> str | None:
    return value[:_LONGEST] if isinstance(value, str) and value.isprintable() else None


def _attributes(found: list[Any]) -> Iterator[Attribute]:
    for each in found:
        if not isinstance(each, dict) or not isinstance(each.get("AttributeName"), str):
            continue
        yield Attribute(
            name=each["AttributeName"],
            kind=_text(each.get("Type")) or "String",
            shown=_text(each.get("DisplayName")),
            values=tuple(_values(each.get("Value"))),
            flags=tuple(flag for flag in FLAGS if _truth(each.get(flag)) is True),
            lower=_whole(each.get("LowerBound")),
            upper=_whole(each.get("UpperBound")),
        )


def _values(found: Any) -> Iterator[Allowed]:
    for each in found if isinstance(found, list) and len(found) <= _MOST else ():
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
                terms=tuple(_term(term) for term in rule["MapFrom"]),
            )
        except (KeyError, TypeError, ValidationError):
            continue  # a dependency that cannot be read decides nothing


def _term(term: Mapping[str, Any]) -> Term:
    return Term(
        attribute=term["MapFromAttribute"],
        property=term["MapFromProperty"],
        condition=term["MapFromCondition"],
        value=_scalar(term.get("MapFromValue")),
        joined=term.get("MapTerms"),
    )


def _scalar(value: Any) -> Scalar | None:
    value = _truth(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)
