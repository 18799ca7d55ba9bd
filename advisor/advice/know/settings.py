"""The neutral settings of rules/settings.yaml: where Linux keeps each, what to type, and how it goes back."""

import shlex
from functools import cache

from advisor.advice.model.plan import Keeper, Kept
from advisor.advice.model.rule import WHERES
from advisor.advice.model.setting import Means, Neutral, Setting, Vocabulary
from advisor.errors import BadValue, did_you_mean
from advisor.paths import rules
from advisor.sheets import load_sheet


@cache
def settings() -> dict[str, Setting]:
    """Return every setting under its name: in the order of the checklist, and inside of a group in the sheet's."""
    found = load_sheet(rules() / "settings.yaml", Vocabulary).root
    ordered = sorted(found, key=lambda name: WHERES.index(found[name].where))
    return {name: found[name].model_copy(update={"name": name}) for name in ordered}


def setting(name: str) -> Setting:
    """Return the setting of a name; the error names the nearest right one."""
    known = settings()
    if name in known:
        return known[name]
    raise BadValue(f"{name[:60]} is not a setting", cure=did_you_mean(name, known, "see rules/settings.yaml"))


def text_written(setting: Setting, value: Neutral) -> str:
    """Return what is written for a neutral value: "0" for off, kilobytes for bytes."""
    means = setting.set or Means()
    if isinstance(value, int) and means.divide > 1:
        return str(value // means.divide)
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
    """Return the present value if it could be written again; None for one that is only ever found."""
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
