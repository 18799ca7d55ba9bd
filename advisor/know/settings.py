"""The neutral settings of rules/settings.yaml, and what to type on Linux to set those that the system itself keeps."""

import shlex
from functools import cache

from advisor.errors import BadValue, did_you_mean
from advisor.model.setting import Means, Neutral, Setting, Vocabulary
from advisor.paths import rules
from advisor.sheets import load_sheet


@cache
def settings() -> dict[str, Setting]:
    """Return every setting under its name, in the sheet's order."""
    sheet = load_sheet(rules() / "settings.yaml", Vocabulary)
    return {name: setting.model_copy(update={"name": name}) for name, setting in sheet.root.items()}


def setting(name: str) -> Setting:
    """Return the setting of a name; the error names the nearest right one."""
    known = settings()
    if name in known:
        return known[name]
    raise BadValue(f"{name[:60]} is no setting", cure=did_you_mean(name, known, "see rules/settings.yaml"))


def written(setting: Setting, value: Neutral) -> str:
    """Return what is written for a neutral value: "0" for off, kilobytes for bytes."""
    means = setting.set or Means()
    if isinstance(value, int) and means.divide > 1:
        return str(value // means.divide)
    return means.writes.get(str(value), str(value))


def _means(setting: Setting, value: Neutral) -> Means:
    """Return how a value is written; nothing for one that is only ever found."""
    return Means() if setting.set is None or value in setting.only_read else setting.set


def lines_now(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return the shell lines that set a value until the next start; () where nothing but a restart does."""
    means, text = _means(setting, value), written(setting, value)
    if means.command:
        return (means.command.replace("{value}", text if text in means.writes.values() else shlex.quote(text)),)
    if means.sysctl:
        return (shlex.join(["sysctl", "-w", f"{means.sysctl}={text}"]),)
    if means.sysfs and "*" in means.sysfs:
        return (f"for f in {means.sysfs}; do echo {shlex.quote(text)} > $f; done",)
    if means.sysfs:
        return (f"echo {shlex.quote(text)} > {means.sysfs}",)
    if means.service:
        return (f"systemctl {'stop' if value == 'off' else 'start'} {means.service}",)
    return ()


def lines_kept(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return the shell lines that set a value for every start from the next on; () where no such line is known."""
    means, text = _means(setting, value), written(setting, value)
    if means.sysctl:
        return (f"echo {shlex.quote(f'{means.sysctl} = {text}')} > /etc/sysctl.d/90-{means.sysctl}.conf",)
    if means.limits:
        return (f"echo {shlex.quote(f'* - {means.limits} {text}')} > /etc/security/limits.d/90-{means.limits}.conf",)
    if means.service:
        return (f"systemctl {'disable' if value == 'off' else 'enable'} --now {means.service}",)
    if means.cmdline:
        return _boot(setting, means, text)
    return ()


def _boot(setting: Setting, means: Means, text: str) -> tuple[str, ...]:
    """Return the line that puts an option on the command line, or takes those of its other values away."""
    option = (means.cmdline or "").replace("{value}", text)
    others = [(means.cmdline or "").replace("{value}", other) for other in means.writes.values()]
    gone = " ".join(word for word in others if word and word != option) if setting.type == "choice" else ""
    arguments = [f"--remove-args={gone}"] if gone else []
    arguments += [f"--args={option}"] if option else []
    return (shlex.join(["grubby", "--update-kernel=ALL", *arguments]),) if arguments else ()


def tuned_lines(setting: Setting, value: Neutral) -> tuple[str, ...]:
    """Return section and option of a tuned profile that holds a value; () where tuned does not know it."""
    means, text = _means(setting, value), written(setting, value)
    if means.tuned:
        section, _, option = means.tuned.partition("] ")
        return (f"{section}]", option.replace("{value}", text))
    return ("[sysctl]", f"{means.sysctl}={text}") if means.sysctl else ()
