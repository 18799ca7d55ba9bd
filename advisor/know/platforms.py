"""The platform sheets: all of them, the one that fits a machine, the one of a name, and that of a processor on order."""

import re
from functools import cache

from pydantic import Field

from advisor.errors import BadSheet, BadValue, did_you_mean
from advisor.model.audit.platform import Match, Platform, for_model
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Topology
from advisor.model.value import Value
from advisor.paths import rules
from advisor.sheets import load_sheet


@cache
def platforms() -> tuple[Platform, ...]:
    """Return every platform sheet, by file name."""
    found = []
    for path in sorted((rules() / "platforms").glob("*.yaml")):
        platform = load_sheet(path, Platform)
        if platform.id != path.stem:
            raise BadSheet(f"the id {platform.id} is not the file's name", file=str(path), cure=f"write id: {path.stem}")
        found.append(platform)
    return tuple(found)


def match_platform(machine: Machine) -> Platform | None:
    """Return what is known of the machine's processor generation, with its model's own figures; None where it is not known."""
    cpu = machine.cpu
    if cpu is None:
        return None
    fitting = [platform for platform in platforms() if fits(platform.match, cpu, machine.topology)]
    best = max(fitting, key=lambda platform: platform.match.refines, default=None)
    return for_model(best, cpu.model_name) if best else None


def fits(match: Match, cpu: Cpu, topology: Topology | None) -> bool:
    """Return whether a sheet's description fits a processor in its machine."""
    name = cpu.model_name or ""
    if (cpu.vendor, cpu.family if match.family is not None else None) != (match.vendor, match.family):
        return False
    if cpu.model not in match.models or (match.steppings and cpu.stepping not in match.steppings):
        return False
    if match.never and re.search(match.never, name):
        return False
    return not match.refines or _refined(match, name, topology or Topology())


def _refined(match: Match, name: str, topology: Topology) -> bool:
    largest = max((group.size or 0 for group in topology.l3), default=0)
    return bool(
        (match.l3 and largest >= match.l3)
        or (match.hbm and any(node.kind == "hbm" for node in topology.nodes))
        or (match.name and re.search(match.name, name))
    )


def platform_by_id(name: str) -> Platform:
    """Return the platform of a name such as ``rome`` or ``sapphire-rapids``."""
    wanted = "-".join(name.lower().split()).replace("_", "-")
    known = {platform.id: platform for platform in platforms()}
    if wanted in known:
        return known[wanted]
    raise BadValue(f"unknown platform {name[:40]!r}", cure=did_you_mean(wanted, known, f"there are {', '.join(known)}"))


class Model(Value):
    """One model as its vendor describes it."""

    name: str = ""
    platform: str
    cores: int | None = None
    dies: int | None = Field(default=None, description="compute dies of a socket; None where that is not known or does not count")
    source: str = Field(default="", description="publication")


class Series(Value):
    """Models of one platform, known by their name alone."""

    name: str = Field(max_length=120)
    platform: str


class Processors(Value):
    """The sheet of all models."""

    series: tuple[Series, ...]
    models: dict[str, Model]


@cache
def processors() -> Processors:
    """Return every model and series."""
    return load_sheet(rules() / "processors" / "models.yaml", Processors)


def model_of(name: str) -> Model:
    """Return what is known of a model, by ``EPYC 7702`` or its marketing name; the error names the nearest."""
    plain = _plain(name)
    known = {_plain(each).lower(): each for each in processors().models}
    if plain.lower() in known:
        own = known[plain.lower()]
        return processors().models[own].model_copy(update={"name": own})
    there = {platform.id for platform in platforms()}
    for series in processors().series:
        if series.platform in there and re.fullmatch(series.name, plain, re.IGNORECASE):
            return Model(name=plain, platform=series.platform)
    cure = did_you_mean(plain, _near(plain), "name its generation with --platform")
    raise BadValue(f"{name[:60]} is not a processor that is known here", cure=cure)


def _near(plain: str) -> list[str]:
    """Return the models that a misspelt name may mean: those of a number as long that begins alike."""
    number = re.search(r"\d{3,}", plain)
    return [each for each in processors().models if number and re.search(rf"\b{number[0][0]}\w{{{len(number[0]) - 1}}}", each)]


def _plain(name: str) -> str:
    """Return a model's name without marks, vendors and what follows the number: EPYC 7702."""
    words = re.sub(r"\((?:R|TM)\)|®|™", "", name)
    words = re.sub(r"@.*|\b\d+-Core\b.*|\bProcessor\b|\bCPU\b(?! Max)", " ", words, flags=re.IGNORECASE)
    words = re.sub(r"^\s*(AMD|Intel)\b", "", " ".join(words.split()), flags=re.IGNORECASE)
    found = re.sub(r"^(Bronze|Silver|Gold|Platinum|Max|E5-)", r"Xeon \1", " ".join(words.split()))
    found = re.sub(r"^Xeon 6 (?=\d{4})", "Xeon ", found, flags=re.IGNORECASE)
    return re.sub(r"^(\d\w{3}\w?)$", r"EPYC \1", found) if re.fullmatch(r"7\w\d[1-3][PX]?|9\d\d[45][PFX]?", found) else found


def platform_on_order(platform: str | None, cpu: str | None) -> tuple[Platform, Model | None]:
    """Return the platform of hardware on order, and its model where that was named; the two must not contradict."""
    if cpu is None:
        return platform_by_id(platform or ""), None
    model = model_of(cpu)
    named = platform_by_id(platform) if platform is not None else None
    if named is not None and named.id != model.platform:
        raise BadValue(f"{model.name} is {model.platform}, and --platform says {named.id}", cure="give one of the two")
    return for_model(platform_by_id(model.platform), model.name), model
