"""Kernel settings that race: written before a line's run, and every file put back as it was at the end."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from advisor.advice.know.vendors import lines_now, settings, text_written
from advisor.errors import BadInput, BadValue, CannotWork, did_you_mean
from advisor.machine.hosts.base import Host, PathPatterns, expand
from advisor.machine.hosts.files import Use, open_trusted, write_file
from advisor.machine.hosts.live import interruptible, shielded
from advisor.machine.hosts.settings import KernelHost, chosen

BEFORE = "kernel-before.json"
"""What the files held; it lies in the race's folder from before the first write until all is put back."""
_LARGEST = 4 << 20
_ROUNDED = 0.005
_LEAST_POWER = 0.25
_PASSES = 2
"""One file may hold its old value only once another does."""
_BOOT = "/proc/sys/kernel/random/boot_id"
_CLOCKS = tuple(
    f"/sys/devices/system/cpu/cpu*/cpufreq/{name}"
    for name in ("scaling_governor", "energy_performance_preference", "scaling_min_freq", "scaling_max_freq")
)
"""A governor changes the preference, and a limit below the lowest clock moves that (Linux, intel_pstate.c, cpufreq.c): all are
kept where one races, and written back in this order, as the preference cannot be written under performance."""


class KernelChange(NamedTuple):
    """A setting, and what is written to its files."""

    name: str
    value: str
    pattern: str
    text: str
    named: str | None = None

    @property
    def title(self) -> str:
        """Return it as it is asked for: os.governor=powersave."""
        return f"{self.name}={self.value}"


def change_of(text: str) -> KernelChange | None:
    """Return the setting of ``os.governor=powersave``; None of a variable, whose name has no dot.

    >>> change_of("UCX_TLS=rc,sm"), change_of("os.clock_limit=2400").text
    (None, '2400000')
    """
    name, _, value = text.partition("=")
    if "." not in name:
        return None
    known = settings()
    taken = {each for each, setting in known.items() if setting.kernel_file and setting.set and not setting.set.no_way_back}
    if name not in known:
        raise BadValue(f"--with {name[:40]!a} is not a setting", cure=did_you_mean(name, taken, "see advisor rules settings"))
    setting = known[name]
    level = setting.neutral(value)
    if setting.kernel_file is None or setting.set is None:
        cure = f"these can: {', '.join(sorted(taken))}"
        raise BadValue(f"--with {name}: cannot be changed on a running system", cure=cure)
    if why := setting.set.no_way_back:
        raise BadValue(f"--with {name}: cannot be restored after the race: {why}", cure="test it with advisor experiment")
    if not setting.takes(level) or value in setting.only_read:
        values = ", ".join(each for each in setting.values if each not in setting.only_read)
        raise BadValue(
            f"--with {name}: {value[:40]!a} is not one of its values",
            cure=f"available: {values}" if values else f"a {setting.type}{f' in {setting.unit}' if setting.unit else ''}",
        )
    return KernelChange(name, value, setting.kernel_file, text_written(setting, level), setting.set.only_named)


def lines_of_change(change: KernelChange) -> tuple[str, ...]:
    """Return the shell lines that set it until the next reboot."""
    setting = settings()[change.name]
    return lines_now(setting, setting.neutral(change.value))


def matching(host: Host, pattern: str) -> list[str]:
    """Return the files of a pattern that are there."""
    return [path for path in expand(host, pattern) if host.read(path).text is not None]


def files_of(host: Host, change: KernelChange) -> list[str]:
    """Return the files that take a setting on this machine."""
    files = matching(host, change.pattern)
    if change.named is None:
        return files
    return [each for each in files if (host.read(f"{each.rpartition('/')[0]}/name").text or "").startswith(change.named)]


def _values(host: Host, files: Iterable[str]) -> dict[str, str]:
    return {path: chosen(text) for path in files if (text := host.read(path).text) is not None}


class KernelRace:
    """The settings that race on this machine: what was there, what a run needs, the way back."""

    def __init__(self, host: KernelHost, folder: Path, changes: Sequence[KernelChange]) -> None:
        self._host, self._file = host, folder / BEFORE
        self._files = {change: files_of(host, change) for change in changes}
        self._before: dict[str, str] = {}
        self._now: KernelChange | None = None
        for change, files in self._files.items():
            if not files:
                raise CannotWork(f"--with {change.title}: this machine has no {change.pattern}; leave it out")
            if shut := next((path for path in files if not host.may_write(path)), None):
                cure = "run as root, or make the file writable for your group"
                raise CannotWork(f"--with {change.title}: {shut}: permission denied; {cure}")
            for path in files if change.named else ():
                _must_be_bearable(host, change, path)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what the files hold, on disk before anything is written, and put it back at the end, however that comes."""
        put_back(self._host, self._file.parent)  # of a race that was killed
        if not self._files:
            yield
            return
        files = [path for each in self._files.values() for path in each]
        if any("/cpufreq/" in path for path in files):
            files = [path for pattern in _CLOCKS for path in matching(self._host, pattern)] + files
        self._before = _values(self._host, files)
        data = json.dumps({"boot": _boot(self._host), "files": self._before}, indent=1) + "\n"
        write_file(self._file, data.encode(), private=True, durable=True)
        with interruptible():
            try:
                yield
            finally:
                self._restore()
                self._file.unlink(missing_ok=True)

    def set(self, change: KernelChange | None) -> str | None:
        """Let a setting be in effect, None for all as before; return why it is not."""
        if change == self._now:
            return None
        if self._now is not None:
            self._restore()
        if change is None:
            return None
        self._now = change
        refused = {path: why for path in self._files[change] if (why := self._host.write(path, change.text))}
        astray = next(iter(refused), None) or self.astray()
        if astray is None:
            return None
        why = refused.get(astray) or f"it is {_values(self._host, [astray]).get(astray)}"
        self._restore()
        return f"{astray} does not take {change.text}: {why}"

    def astray(self) -> str | None:
        """Return a file that somebody else has changed meanwhile; None where all hold what this run needs."""
        if self._now is not None:
            wanted = dict.fromkeys(self._files[self._now], self._now.text)
        else:
            wanted = {path: self._before[path] for each in self._files.values() for path in each if path in self._before}
        found = _values(self._host, wanted)
        return next((path for path, text in wanted.items() if not _same(found.get(path), text)), None)

    def _restore(self) -> None:
        self._now = None
        _must_be_back(self._host, self._before, self._file)


def _must_be_bearable(host: Host, change: KernelChange, path: str) -> None:
    """Refuse a power limit under which a server hardly runs, or one above what its cooling was made for."""
    text = (host.read(path.replace("_power_limit_", "_max_power_")).text or "").strip()
    most = int(text) if text.isdecimal() else 0
    if most and not most * _LEAST_POWER <= int(change.text) <= most:
        bounds = f"between {most * _LEAST_POWER / 1e6:.0f} and {most / 1e6:.0f} W"
        raise CannotWork(f"--with {change.title}: the package's TDP is {most / 1e6:.0f} W; give a limit {bounds}")


def _boot(host: Host) -> str:
    return (host.read(_BOOT).text or "").strip()


def _same(found: str | None, wanted: str) -> bool:
    """Return whether a file holds what was written; a clock or a power is rounded to what the processor has."""
    if found is None or not (found.isdecimal() and wanted.isdecimal()):
        return found == wanted
    return abs(int(found) - int(wanted)) <= _ROUNDED * int(wanted)


def _must_be_back(host: KernelHost, before: dict[str, str], file: Path) -> None:
    """Write back what is not as before, not to be interrupted; raise in one line what could not be."""

    def unlike() -> list[str]:
        now = _values(host, before)
        return [path for path, text in before.items() if now.get(path) != text]

    with shielded():
        left = unlike()
        for _ in range(_PASSES if left else 0):
            for path in left:
                host.write(path, before[path])
            left = unlike()
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        raise CannotWork(f"{left[0]}{more}: not restored; {file} lists the original values, and a reboot restores them")


def put_back(host: KernelHost, folder: Path) -> None:
    """Put back what a race that was killed left changed; nothing after a reboot, which did."""
    file = folder / BEFORE
    if not file.exists():
        return
    with open_trusted(file, Use.RUNS) as opened:
        data = opened.read(_LARGEST) or b""
    own = PathPatterns((*_CLOCKS, *(setting.kernel_file for setting in settings().values() if setting.kernel_file)))
    try:
        found = json.loads(data)
        boot, files = str(found["boot"]), {str(path): str(text) for path, text in found["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        boot, files = "", {"": ""}
    if not all(own.covers(path) and ".." not in path.split("/") for path in files):
        raise BadInput(
            "not a file of kernel settings that advisor tune saved",
            file=str(file),
            cure="restore the settings by hand, then delete this file",
        )
    if boot == _boot(host):
        _must_be_back(host, files, file)
    file.unlink()
