"""What the shell's completion offers for the values of options and arguments, and what was meant by those that are none.

A function is asked when somebody presses the Tab key: it reads sheets, and for finding numbers the machine; what cannot be read
offers nothing, and nothing is ever written to the terminal.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from advisor.errors import AdvisorError, CannotWork

Offers = list[tuple[str, str]]


def _beginning(with_: str, offers: Iterable[tuple[str, str]]) -> Offers:
    return [(name, " ".join(what.split())) for name, what in offers if name.startswith(with_)]


def formats(incomplete: str) -> Offers:
    """Offer the formats of the checklist."""
    from advisor.advice.checklist import formats_told

    return _beginning(incomplete, formats_told().items())


def report_formats(incomplete: str) -> Offers:
    """Offer the formats of the report."""
    return _beginning(incomplete, (("html", "one page"), ("md", "for tickets"), ("json", "for programs, and to compare later")))


def exports(incomplete: str) -> Offers:
    """Offer the formats of advisor export."""
    from advisor.exports.export import formats as known

    return _beginning(incomplete, ((name, each.title) for name, each in known().items()))


def platforms(incomplete: str) -> Offers:
    """Offer the platforms that can be on order."""
    from advisor.measure.platforms import platforms as known

    return _beginning(incomplete, ((each.id, each.name) for each in known()))


def vendors(incomplete: str) -> Offers:
    """Offer the vendors that have a sheet."""
    from advisor.advice.know.vendors import vendors as known

    return _beginning(incomplete, ((name, each.name) for name, each in known().items()))


def launchers(incomplete: str) -> list[str]:
    """Offer the launchers."""
    from advisor.jobs.registry import names

    return [name for name in names() if name.startswith(incomplete)]


def starting(incomplete: str) -> list[str]:
    """Offer the launchers that start ranks themselves."""
    from advisor.jobs.registry import names

    return [name for name in names(starting=True) if name.startswith(incomplete)]


def strategies(incomplete: str) -> list[str]:
    """Offer the ways to place ranks."""
    from advisor.jobs.placement import STRATEGIES

    return [name for name in ("auto", *STRATEGIES) if name.startswith(incomplete)]


def topics(incomplete: str) -> list[str]:
    """Offer the topics of rules."""
    from advisor.advice.rules import own_rules

    return [name for name in dict.fromkeys(rule.topic for rule in own_rules(examples=False).rules) if name.startswith(incomplete)]


def rules(incomplete: str) -> Offers:
    """Offer the ids of rules."""
    from advisor.advice.rules import own_rules

    return _beginning(incomplete, ((rule.id, rule.text.title) for rule in own_rules(examples=False).rules))


def rules_and_topics(incomplete: str) -> Offers:
    """Offer what names rules."""
    return [*((name, "topic") for name in topics(incomplete)), *rules(incomplete)]


def findings(ctx: Any, incomplete: str) -> Offers:
    """Offer the numbers of the findings of the machine that the line names, and the ids of rules."""
    numbers = _numbers(ctx.params) if not incomplete or incomplete.isdecimal() else []
    return [*_beginning(incomplete, numbers), *(rules(incomplete) if not incomplete.isdecimal() else [])]


def _numbers(given: dict[str, Any]) -> Offers:
    from advisor.advice.audit import audit

    bios, measurements_ = (tuple(given.get(name) or ()) for name in ("bios", "measurements"))
    source, scope, site = given.get("source"), given.get("scope", "mpi"), given.get("rules") or ()
    try:
        found = audit(source, scope, site=site, bios=bios, measurements=measurements_)
    except (AdvisorError, OSError):
        return []
    titles = {each.id: each.title for each in found.audit.found}
    return [(str(number), titles.get(rule, rule)) for rule, number in found.numbers.items()]


def measurements(incomplete: str) -> Offers:
    """Offer what can be measured."""
    from advisor.measure.contract import read_kernels
    from advisor.measure.plan import PLANS, SETS

    kernels = ((name, sheet.summary) for name, sheet in read_kernels().sheets.items() if name not in PLANS)
    return _beginning(incomplete, [*((name, "") for name in PLANS if name not in SETS), ("show", "saved results"), *kernels])


def charts(incomplete: str) -> list[str]:
    """Offer the charts of measurements."""
    from advisor.measure.charts import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def must_be_writable(path: Path, *, folder: bool = False) -> None:
    """Refuse a file or folder that could not be written; nothing is left behind."""
    what = "folder" if folder else "file"
    if str(path) == "-" or "%h" in str(path) or str(path).startswith(("/dev/", "/proc/self/fd/")):
        return  # %h: a file for each BMC, in folders that are made then
    above = next(each for each in (path, *path.absolute().parents) if each.exists())
    if above != path and not folder and path.absolute().parent != above:
        raise CannotWork(f"{path}: there is no folder {path.parent}; make it first, or name another file to write")
    if path.is_dir() != folder and path.exists():
        raise CannotWork(f"{path}: is {'no folder' if folder else 'a directory'}; name another {what} to write{' into' * folder}")
    if not above.is_dir() and above != path:
        raise CannotWork(f"{path}: {above} is no folder; name another {what} to write")
    if not os.access(above, os.W_OK | (os.X_OK if above.is_dir() else 0)):
        raise CannotWork(f"{path}: permission denied; name another {what} to write{' into' * folder}")


def must_not_be_read_too(path: Path, others: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the same command reads: a capture taken on a machine that is gone cannot be had again."""
    if not path.is_file():
        return
    for value in others.values():
        for named in value if isinstance(value, list | tuple) else [value]:
            if isinstance(named, str | Path) and os.path.lexists(named) and path.samefile(named):
                raise CannotWork(f"{path}: is read by this command too; name another file to write")


_FOREIGN = {
    "-h": "--help", "-n": "--ranks", "-np": "--ranks", "--np": "--ranks", "--ntasks": "--ranks", "-c": "--threads",
    "--cpus-per-task": "--threads", "-H": "--hosts", "--host": "--hosts", "-f": "--from", "--file": "--from", "--input": "--from",
    "--format": "--as", "--out": "--output", "--outfile": "--output",
}  # fmt: skip
"""What other programs call an option of ours."""


def instead_of(option: str, names: Collection[str], path: str) -> str | None:
    """Return what to write instead of an option that a command does not take."""
    if option == "--from" and not path:
        return "an option stands behind its command: advisor audit --from FILE"
    if option == "--from" and path == "diff":
        return "name both machines: advisor diff BEFORE AFTER"
    if path == "check":
        return "write -- before the line: advisor check -- mpirun ..."
    ours = _FOREIGN.get(option)
    return f"write {ours}" if ours in {*names, "--help"} else None


def option_meant(word: str, names: Collection[str], command: str) -> str | None:
    """Return the option that an extra word probably belongs to: a file that is there, a number, a file to be written."""
    if "--from" in names and os.path.lexists(word) and command != "capture":
        return f"name another machine with --from {word}"
    if "--only" in names and word.isdecimal():
        return f"name a finding with --only {word}"
    return f"name a file to write with -o {word}" if "--output" in names and "." in word[1:] else None
