"""Where the operating system keeps a setting, what to type, and how it goes back."""

from advisor.know.settings import lines_kept, lines_now, tuned_lines, written
from advisor.model.plan import Keeper, Kept
from advisor.model.setting import Means, Neutral, Setting


def commands_of(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return the lines that set a value in the operating system: at once, then for every start from the next on."""
    now, kept = lines_now(setting, value), lines_kept(setting, value)
    return kept if setting.set and setting.set.service else (*now, *kept)


def undo_of(setting: Setting, current: str | None, value: Neutral | None = None) -> str | None:
    """Return the way back: the files that were written are removed, the value that was is written again."""
    if current is None:
        return None
    former = setting.neutral(current)
    wrote = () if value is None else commands_of(setting, value)
    files = [line.rpartition(" > ")[2] for line in wrote if " > /etc/" in line]
    known = setting.takes(former) and former not in setting.only_read
    back = [] if not known else commands_of(setting, former) if not files else lines_now(setting, former)
    return "; ".join([*(f"rm {file}" for file in files), *back]) or f"set it back to {current}"


def kept_of(setting: Setting, value: Neutral, current: str | None = None) -> Kept | None:
    """Return what keeps a value; None where nothing but a person can."""
    means = setting.set
    if means is None or value in setting.only_read:
        return None
    text = written(setting, value)
    ways: tuple[tuple[Keeper, str | None], ...] = (
        ("sysctl", means.sysctl),
        ("limits", means.limits),
        ("service", means.service),
        ("sysfs", means.sysfs),
        ("cmdline", means.cmdline),
        ("command", means.command),
    )
    keeper, key = next(((keeper, key) for keeper, key in ways if key), (None, None))
    if keeper is None or key is None:
        return None
    section, line = tuned_lines(setting, value) or (None, None)
    return Kept(
        setting=setting.name,
        keeper=keeper,
        key=key.replace("{value}", text) if keeper in ("cmdline", "command") else key,
        value=("off" if value == "off" else "on") if keeper == "service" else text,
        option=_option(means, text),
        gone=_gone(setting, means, text),
        section=section.strip("[]") if section else None,
        line=line,
        back=_back(setting, current),
    )


def _back(setting: Setting, current: str | None) -> str:
    """Return what writes the present value again."""
    former = None if current is None else setting.neutral(current)
    if former is None or not setting.takes(former) or former in setting.only_read:
        return "" if current is None else f"set it back to {current}"
    return "; ".join(lines_now(setting, former) or commands_of(setting, former)) or f"set it back to {current}"


def _option(means: Means, text: str) -> str:
    return (means.cmdline or "").replace("{value}", text).strip()


def _gone(setting: Setting, means: Means, text: str) -> tuple[str, ...]:
    """Return the options of the setting's other values."""
    if setting.type != "choice" or not means.cmdline:
        return ()
    mine = _option(means, text).split()
    words = (word for other in means.writes.values() for word in _option(means, other).split())
    return tuple(dict.fromkeys(word for word in words if word not in mine))
