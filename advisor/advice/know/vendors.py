"""The sheets of rules/: neutral settings, vendors and publications; which sheet, and words of it, a machine goes by."""

import re
import shlex
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from advisor.advice.model.plan import Keeper, Kept
from advisor.advice.model.sheets import (
    WHERES,
    Generations,
    Match,
    Means,
    Neutral,
    Publication,
    Publications,
    Setting,
    Vendor,
    Vocabulary,
)
from advisor.errors import BadValue, did_you_mean
from advisor.machine.hardware import Cpu, Firmware
from advisor.machine.platform_traits import TraitQuery, maker_of, traits
from advisor.machine.value import Value
from advisor.paths import rules
from advisor.sheets import Sheet, load_sheet, model_of, read_sheet


@cache
def settings() -> dict[str, Setting]:
    """Return every setting under its name: in the order of the checklist, and inside of a group in the sheet's."""
    found = load_sheet(rules() / "settings.yaml", Vocabulary).root
    ordered = sorted(found, key=lambda name: WHERES.index(found[name].where))
    return {name: found[name].but(name=name) for name in ordered}


def setting(name: str) -> Setting:
    """Return the setting of a name; the error names the nearest right one."""
    known = settings()
    if name in known:
        return known[name]
    raise BadValue(f"{name[:60]} is not a setting", cure=did_you_mean(name, known, "see rules/settings.yaml"))


def text_written(setting: Setting, value: Neutral) -> str:
    """Return what is written for a neutral value: "0" for off, kilobytes for bytes."""
    means = setting.set or Means()
    if isinstance(value, int) and not isinstance(value, bool) and not means.writes:
        return str(value * means.times // means.divide)
    return means.writes.get(str(value), str(value))


def _means(setting: Setting, value: Neutral) -> tuple[Means, str]:
    """Return how a value is written, nothing for one that is only ever found, and what is written."""
    return Means() if setting.set is None or value in setting.only_read else setting.set, text_written(setting, value)


def lines_now(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return the shell lines that set a value until the next restart; () where nothing but a restart does."""
    means, text = _means(setting, value)
    if means.command:
        return (means.command.replace("{value}", text if text in means.writes.values() else shlex.quote(text)),)
    if means.sysctl:
        return (shlex.join(["sysctl", "-w", f"{means.sysctl}={text}"]),)
    if means.sysfs:
        many = "*" in means.sysfs
        line = f"echo {shlex.quote(text)} > {'$f' if many else means.sysfs}"
        return (f"for f in {means.sysfs}; do {line}; done" if many else line,)
    return (f"systemctl {'stop' if value == 'off' else 'start'} {means.service}",) if means.service else ()


def lines_kept(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return the shell lines that set a value for every boot from the next on; () where no such line is known."""
    means, text = _means(setting, value)
    if means.sysctl:
        return (f"echo {shlex.quote(f'{means.sysctl} = {text}')} > /etc/sysctl.d/90-{means.sysctl}.conf",)
    if means.limits:
        return (f"echo {shlex.quote(f'* - {means.limits} {text}')} > /etc/security/limits.d/90-{means.limits}.conf",)
    if means.service:
        return (f"systemctl {'disable' if value == 'off' else 'enable'} --now {means.service}",)
    if not means.cmdline:
        return ()
    option = means.cmdline.replace("{value}", text)
    others = [means.cmdline.replace("{value}", other) for other in means.writes.values()]
    gone = " ".join(word for word in others if word and word != option) if setting.type == "choice" else ""
    arguments = [*([f"--remove-args={gone}"] if gone else []), *([f"--args={option}"] if option else [])]
    return (shlex.join(["grubby", "--update-kernel=ALL", *arguments]),) if arguments else ()


def tuned_lines(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return section and option of a tuned profile that holds a value; () where tuned does not know it."""
    means, text = _means(setting, value)
    if means.tuned:
        section, _, option = means.tuned.partition("] ")
        return (f"{section}]", option.replace("{value}", text))
    return ("[sysctl]", f"{means.sysctl}={text}") if means.sysctl else ()


def commands_of(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return the lines that set a value in the operating system: at once, then for every boot from the next on."""
    now, kept = lines_now(setting, value), lines_kept(setting, value)
    return kept if setting.set and setting.set.service else (*now, *kept)


def undo_of(setting: Setting, current: str | None, value: Neutral | None = None) -> str | None:
    """Return undo: the files that were written are removed, the value that was is written again."""
    if current is None:
        return None
    wrote = () if value is None else commands_of(setting, value)
    files = [line.rpartition(" > ")[2] for line in wrote if " > /etc/" in line]
    former = _writable(setting, current)
    back = () if former is None else lines_now(setting, former) if files else commands_of(setting, former)
    return "; ".join([*(f"rm {file}" for file in files), *back]) or f"set it back to {current}"


def _writable(setting: Setting, current: str) -> Neutral | None:
    """Return the current value if it could be written again; None for one that is only ever found."""
    former = setting.neutral(current)
    return former if setting.takes(former) and former not in setting.only_read else None


_WAYS: tuple[Keeper, ...] = ("sysctl", "limits", "service", "sysfs", "cmdline", "command")
"""What keeps a setting, the first that its sheet has."""


def keeper_of(setting: Setting, value: Neutral, current: str | None = None) -> Kept | None:
    """Return what keeps a value; None where nothing but a person can."""
    means = setting.set
    keeper, key = next(((keeper, key) for keeper in _WAYS if (key := getattr(means, keeper, None))), (None, None))
    if means is None or value in setting.only_read or keeper is None or key is None:
        return None
    text = text_written(setting, value)
    section, line = tuned_lines(setting, value) or (None, None)
    cmdline = means.cmdline or ""
    option = cmdline.replace("{value}", text).strip()
    others = means.writes.values() if setting.type == "choice" else ()
    words = (word for other in others for word in cmdline.replace("{value}", other).split())
    former = None if current is None else _writable(setting, current)
    back = () if former is None else lines_now(setting, former) or commands_of(setting, former)
    return Kept(
        setting=setting.name,
        keeper=keeper,
        key=key.replace("{value}", text) if keeper in ("cmdline", "command") else key,
        value=("off" if value == "off" else "on") if keeper == "service" else text,
        option=option,
        gone=tuple(dict.fromkeys(word for word in words if word not in option.split())),
        section=section.strip("[]") if section else None,
        line=line,
        back="; ".join(back) or ("" if current is None else f"set it back to {current}"),
    )


@cache
def publications() -> dict[str, Publication]:
    """Return every publication by the id under which it is cited."""
    return load_sheet(rules() / "sources.yaml", Publications).root


FALLBACK = "generic"
"""The sheet for a vendor that has none."""


def vendor_files() -> dict[str, Path]:
    """Return the file of each vendor, in the order of the ids."""
    return {path.stem: path for path in sorted((rules() / "vendors").glob("*.yaml"))}


def not_vendors(names: Iterable[str]) -> str | None:
    """Return in words the first of some names that no vendor has; None where each is one."""
    known = vendor_files()
    return next((f"there is no vendor {name[:40]!a}; available: {', '.join(known)}" for name in names if name not in known), None)


def vendors() -> dict[str, Vendor]:
    """Return every vendor's sheet under its id, in the order of the ids."""
    return {name: vendor_at(path) for name, path in vendor_files().items()}


@cache
def vendor_at(path: Path) -> Vendor:
    """Return the vendor's sheet that a file holds, its generations as the platforms that have their traits."""
    sheet = read_sheet(path)
    if isinstance(sheet.data, dict) and "generations" in sheet.data:
        named = {
            word: ([each.id for each in traits() if any(query.fits(each) for query in queries)])
            for word, queries in generations_of(sheet).items()
        }
        sheet = sheet._replace(data={**sheet.data, "generations": named})
    return model_of(sheet, Vendor)


def generations_of(sheet: Sheet) -> dict[str, tuple[TraitQuery, ...]]:
    """Return a sheet's generations as it writes them."""
    return model_of(sheet._replace(data={"generations": sheet.data["generations"]}), Generations).generations


def vendor_by_id(name: str) -> Vendor:
    """Return the sheet of an id; the error names the nearest right one."""
    known = vendor_files()
    if name in known:
        return vendor_at(known[name])
    cure = did_you_mean(name.lower(), known, f"available: {', '.join(known)}")
    raise BadValue(f"{name[:60]} is not a vendor", cure=cure)


def match_vendor(firmware: Firmware | None) -> Vendor | None:
    """Return the sheet of a machine's vendor, the generic one for a vendor without a sheet, None where it is not known."""
    if firmware is None:
        return None
    scores = [(max((_score(rule, firmware) for rule in each.match), default=0), each.id) for each in recognition()]
    best, name = max(scores, key=lambda scored: scored[0], default=(0, FALLBACK))
    if best:
        return vendor_by_id(name)
    return vendor_by_id(FALLBACK) if firmware.system_vendor or firmware.board_vendor else None


class Recognised(Value):
    """How a maker's servers are recognised: the head of its sheet."""

    id: str
    match: tuple[Match, ...] = ()


def recognition() -> tuple[Recognised, ...]:
    """Return how each maker is recognised; of a sheet no more is read than that, for all but one are of no use then."""
    return tuple(recognised_by(path) for name, path in vendor_files().items() if name != FALLBACK)


@cache
def recognised_by(path: Path) -> Recognised:
    """Return how the servers of a sheet are recognised, wherever in it that stands."""
    return model_of(read_sheet(path, only=Recognised.model_fields), Recognised)


def _score(rule: Match, firmware: Firmware) -> int:
    """Return how closely a rule fits: a product says more than a system's vendor, that more than a board's; 0 not at all."""
    tests = (
        (4, rule.product, any(_plain(word) in _plain(firmware.product) for word in rule.product or ())),
        (2, rule.system_vendor, _begins(firmware.system_vendor, rule.system_vendor)),
        (1, rule.board_vendor, _begins(firmware.board_vendor, rule.board_vendor)),
    )
    asked = [(weight, holds) for weight, words, holds in tests if words is not None]
    return sum(weight for weight, _ in asked) if all(holds for _, holds in asked) else 0


def _begins(name: str | None, words: tuple[str, ...] | None) -> bool:
    return name is not None and (name.strip() + " ").lower().startswith(tuple(word.lower() for word in words or ()))


def _plain(name: str | None) -> str:
    """Return a product's name without marks: HPE_CRAY_EX235A and HPE Cray EX235a are one."""
    return re.sub(r"[^a-z0-9]+", " ", (name or "").lower())


def sheet_for_machine(sheet: Vendor, cpu: Cpu | None, platform_id: str | None, *, known_maker: bool) -> Vendor:
    """Return a sheet without the words that cannot be this machine's.

    Where the processor's generation is not known its vendor still is: an AMD CBS menu is no answer for a Xeon or an Arm
    server, and the usual words of a sheet it falls back to are guesses then. ``known_maker`` says that a vendor was named,
    and has no sheet of its own if the sheet serves unknown vendors: its key at start is not Del or F2 because others' is.
    """
    if not sheet.match and known_maker:
        sheet = sheet.but(setup="")
    if platform_id is not None:
        return sheet
    maker = maker_of(cpu.vendor) if cpu and cpu.vendor else None
    built = [each.id for each in traits() if each.maker == maker]
    kept = {
        name: tuple(each for each in entries if any(sheet.serves(each.platforms, platform) for platform in built))
        for name, entries in sheet.settings.items()
    }
    return sheet.but(settings={name: entries for name, entries in kept.items() if entries}, falls_back=None)
