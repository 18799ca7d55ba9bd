"""The platform sheets: all of them, the one that fits a machine, the one of a name, and that of a processor on order."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from advisor.errors import BadSheet, BadValue, did_you_mean
from advisor.machine.hardware import Cpu
from advisor.machine.hosts.trust import at_home, trusted
from advisor.machine.machine import Machine
from advisor.machine.platform_traits import Match, file_of, must_be_named, platform_files, traits, with_inherited
from advisor.machine.topology import Topology
from advisor.machine.value import Value
from advisor.measure.measured_facts import PublishedFigure, of_references
from advisor.measure.platform import Platform, for_model, lacking
from advisor.paths import rules
from advisor.sheets import model_of, read_sheet


@cache
def platform_sheet(name: str) -> Platform:
    """Return the whole sheet of a platform that there is."""
    path = file_of(name)
    sheet = with_inherited(read_sheet(path))
    platform = model_of(sheet, Platform)
    must_be_named(platform, sheet)
    for key, problem, cure in lacking(platform):
        raise sheet.wrong((key,), problem, cure)
    return platform


@cache
def platforms() -> tuple[Platform, ...]:
    """Return every platform sheet, by file name."""
    return tuple(platform_sheet(name) for name in platform_files())


def match_platform(machine: Machine) -> Platform | None:
    """Return what is known of the machine's processor generation, with its model's own figures; None where it is not known."""
    cpu = machine.cpu
    if cpu is None:
        return None
    fitting = [each for each in traits() if fits(each.match, cpu, machine.topology)]
    best = max(fitting, key=lambda each: each.match.refines, default=None)
    return for_model(platform_sheet(best.id), cpu.model_name) if best else None


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
    known = tuple(platform_files())
    if wanted in known:
        return platform_sheet(wanted)
    if re.search(r"\d{3}", name):
        raise BadValue(f"{name[:40]!r} is not a generation of processors", cure=f"name a processor with --cpu {name[:40]!r}")
    raise BadValue(f"unknown platform {name[:40]!r}", cure=did_you_mean(wanted, known, f"there are {', '.join(known)}"))


class Ordered(Value):
    """A processor on order."""

    name: str
    platform: str
    cores: int | None = None
    dies: int | None = None


def processor(name: str) -> Ordered:
    """Return what is known of a processor, by ``EPYC 7702`` or its marketing name; the error names the nearest."""
    plain = plain_processor(name)
    known = {plain_processor(each).lower(): (each, sheet) for sheet in platforms() for each in sheet.processors}
    if plain.lower() in known:
        own, sheet = known[plain.lower()]
        return Ordered(name=own, platform=sheet.id, cores=sheet.processors[own].cores, dies=sheet.processors[own].dies)
    digits = re.sub(_LETTERS, lambda found: found[0].lower().translate(_DIGITS), plain)
    if digits != plain:
        raise BadValue(f"{name[:60]} has letters in the place of digits", cure=f"did you mean {digits[:60]}?")
    fitting = {each.id: each for each in traits() if re.fullmatch(each.series, plain, re.IGNORECASE)}
    elders = {each.inherits for each in fitting.values()}
    for each in fitting:
        if each not in elders:  # what inherits from another says more of its own processors
            return Ordered(name=plain, platform=each)
    names = [each for sheet in platforms() for each in sheet.processors]
    cure = did_you_mean(plain, _near(plain, names), "name its generation with --platform")
    raise BadValue(f"{name[:60]} is not a processor that is known here", cure=cure)


_LETTERS = re.compile(r"(?<=\d)(?:[oil]+(?=\d)|o+\b)", re.IGNORECASE)
"""Letters that are mistyped digits; no vendor has one of them inside a model's number (6240L has one behind it)."""
_DIGITS = str.maketrans("oil", "011")


def _near(plain: str, names: list[str]) -> list[str]:
    """Return the models that a misspelt name may mean: those of a number as long that begins alike."""
    number = re.search(r"\d{3,}", plain)
    return [each for each in names if number and re.search(rf"\b{number[0][0]}\w{{{len(number[0]) - 1}}}", each)]


def plain_processor(name: str) -> str:
    """Return a model's name without marks, vendors and what follows the number: EPYC 7702."""
    words = re.sub(r"\((?:R|TM)\)|®|™", "", name)
    words = re.sub(r"@.*|\b\d+-Core\b.*|\bProcessor\b|\bCPU\b(?! Max)", " ", words, flags=re.IGNORECASE)
    words = re.sub(r"^\s*(AMD|Intel)\b", "", " ".join(words.split()), flags=re.IGNORECASE)
    found = re.sub(r"^(Bronze|Silver|Gold|Platinum|Max|E5-)", r"Xeon \1", " ".join(words.split()))
    found = re.sub(r"^Xeon 6 (?=\d{4})", "Xeon ", found, flags=re.IGNORECASE)
    return f"EPYC {found}" if re.fullmatch(r"[79]\w\d\d[PFX]?", found) else found


def platform_on_order(platform: str | None, cpu: str | None) -> tuple[Platform, Ordered | None]:
    """Return the platform of hardware on order, and its model where that was named; the two must not contradict."""
    if cpu is None:
        return platform_by_id(platform or ""), None
    model = processor(cpu)
    named = platform_by_id(platform) if platform is not None else None
    if named is not None and named.id != model.platform:
        raise BadValue(f"{model.name} is {model.platform}, and --platform says {named.id}", cure="give one of the two")
    return for_model(platform_by_id(model.platform), model.name), model


WITHOUT_SHEET = "arm"
"""The file of processors whose generation has no sheet."""
_LARGEST = 1 << 20
COLUMNS = tuple(name for name in PublishedFigure.model_fields if name not in ("others", "neighbour"))
"""Of a file of published figures, in their order."""
SITE_FIGURES = (Path("/etc/advisor/published.csv"), Path("~/.config/advisor/published.csv"))
"""Where a site keeps figures of its own machines: advisor measure publish adds to them."""


def published_files() -> tuple[Path, ...]:
    """Return the files of published figures, by name: a platform's each."""
    return tuple(sorted((rules() / "published").glob("*.csv")))


@cache
def read_published(path: Path) -> tuple[tuple[int, PublishedFigure], ...]:
    """Return the figures of a file, each with its line; refuse what is no figure."""
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSheet("cannot be read", file=str(path), cure="a text file in UTF-8 is expected") from error
    lines = csv.DictReader(text.splitlines(), strict=True)
    if tuple(lines.fieldnames or ()) != COLUMNS:
        strange = next((name for name in lines.fieldnames or () if name not in COLUMNS), "")
        cure = f"the first line is {','.join(COLUMNS)}"
        raise BadSheet(f"{strange[:40] or 'a column'} is no column, or one is missing", file=str(path), place="line 1", cure=cure)
    return tuple((lines.line_num, _figure(row, path, lines.line_num)) for row in lines)


def _figure(row: dict[str, str], path: Path, line: int) -> PublishedFigure:
    try:
        return PublishedFigure.model_validate({name: value for name, value in row.items() if value})
    except (ValidationError, BadValue) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else {"loc": ("row",), "msg": str(error)}
        name = str(first["loc"][0]) if first["loc"] else "row"
        field = PublishedFigure.model_fields.get(name)
        cure = field.description if field else f"there are {len(COLUMNS)} columns"
        raise BadSheet(f"{name}: {str(first['msg'])[:160]}", file=str(path), place=f"line {line}", cure=cure) from error


def published_figures(platform: Platform | None) -> tuple[PublishedFigure, ...]:
    """Return what was published for the processors of a platform, in its sheet and in its rows.

    A bandwidth that nobody has published of whole machines with them is that of neighbours: of the same socket, kind of memory
    and nearest generation, scaled by channels and memory speed. It says so, and what it is of is a condition that is never met.
    """
    path = rules() / "published" / f"{platform.id if platform else WITHOUT_SHEET}.csv"
    rows = tuple(figure for _, figure in read_published(path)) if path.is_file() else ()
    own = (*of_references(platform), *rows, *_of_site(platform))
    known = {one.metric for one in own if (one.of, one.cloud) == ("node", "metal")}
    lacking = {"triad", "copy", "load"} - known
    return (*own, *(one for one in (_of_neighbours(platform) if platform and lacking else ()) if one.metric in lacking))


def _of_site(platform: Platform | None) -> Iterator[PublishedFigure]:
    """Yield the figures that this site has added for processors of a platform."""
    for path in filter(Path.is_file, map(at_home, SITE_FIGURES)):
        trusted(path)
        for _, figure in read_published(path):
            if platform is None or re.fullmatch(platform.series, figure.processor, re.IGNORECASE):
                yield figure


def _of_neighbours(platform: Platform) -> Iterator[PublishedFigure]:
    """Yield figures of whole machines from the nearest generation that has some, one away at most."""
    near = [each for each in traits() if each.socket == platform.socket and each.id != platform.id and not each.hbm_and_dimms]
    if platform.socket is None or platform.hbm_and_dimms or not platform.channels or not platform.memory_speed:
        return
    for away in (0, 1):
        found = False
        for each in near:
            other = platform_sheet(each.id) if abs(each.generation - platform.generation) == away else None
            if not other or other.memory_kind != platform.memory_kind or not other.channels or not other.memory_speed:
                continue
            factor = platform.channels * platform.memory_speed / (other.channels * other.memory_speed)
            path = rules() / "published" / f"{other.id}.csv"
            rows = tuple(figure for _, figure in read_published(path)) if path.is_file() else ()
            for one in (*of_references(other), *rows):
                if (one.of, one.cloud, one.value.unit) == ("node", "metal", "bytes/s"):
                    found = True
                    yield _scaled(one, other, platform, factor)
        if found:
            return


def _scaled(one: PublishedFigure, other: Platform, platform: Platform, factor: float) -> PublishedFigure:
    if factor == 1:
        return one.but(neighbour=other.name, others=(*one.others, f"of {other.name}"))
    to = f"scaled to {platform.channels} channels of {platform.memory_kind}-{(platform.memory_speed or 0) / 1e6:.0f}"
    ends = {end: value and value * factor for end, value in (("low", one.value.low), ("high", one.value.high))}
    name = f"{other.name}, {to}"
    told = {"value": one.value.model_copy(update=ends), "memory": None, "channels": None}
    return one.model_copy(update={**told, "neighbour": name, "others": (*one.others, f"of {name}")})
