"""NHC checks before NHC itself, where it is there: what it passes, what it fails and in which words, to whom a target applies.

It is in no package registry. Put its `nhc` on PATH (its scripts then lie in /etc/nhc/scripts) or both, with the folder `scripts`
beside it, where ADVISOR_EXPORTS_CACHE says. Nothing of the machine is marked, logged or written to.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.exports.export import ExportSubject, export
from advisor.exports.formats.nhc import target
from advisor.machine.hosts.errands import expanded
from tests import exports
from tests.exports import text_of
from tests.machines.catalogue import tree
from tests.machines.read import hosted, machine
from tests.render.exports.test_nhc import EVIL, MACHINES, checks, frozen, frozen_with

RUNS = re.compile(r'Running check[^"]*"(.*)"')
"""What it says with -v before each check."""


def run(folder: Path, text: str, host: str | None = None) -> tuple[int, str]:
    """Return how NHC ends and what it says, of all checks that it runs on a host of this name."""
    tool = Path(exports.program("nhc", "it is in no package registry, see tests/render/exports/test_nhc_itself.py"))
    beside = tool.resolve().parent / "scripts"
    file = folder / "nhc.conf"
    file.write_text(text, encoding="utf-8", errors="replace")
    words = [
        f"INCDIR={beside if beside.is_dir() else '/etc/nhc/scripts'}",
        f"RUNDIR={folder}",
        f"HOSTNAME={host}" if host else "",
    ]
    quiet = ("MARK_OFFLINE=0", "LOGFILE=-", "SYSLOG_CMD=:", "logger() { :; }")
    return exports.said("bash", tool, "-v", "-a", "-c", file, *quiet, *filter(None, words))


def ran(told: str) -> list[str]:
    """Return the checks that ran."""
    return RUNS.findall(told)


def failures(told: str) -> list[str]:
    """Return what failed, in its words."""
    return re.findall(r"Health check failed:  (\w+:  .*)", told)


def for_all(text: str) -> str:
    """Return checks that every node runs."""
    return re.sub(r"^[^#\n]*\|\|", "* ||", text, flags=re.MULTILINE)


def planted(name: str, folder: Path, text: str) -> str:
    """Return the checks of files, at those of a machine of the catalogue, which are written below a folder."""
    host = hosted(tree(name), name)
    lines = []
    for _, words in checks(text):
        if words[0] == "check_file_contents":
            file = folder / words[1].lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            content = host.read(words[1]).text
            if content is not None:
                file.write_text(content)
        elif words[0] == "check_file_test" and host.list(words[-1]):
            (folder / words[-1].lstrip("/")).mkdir(parents=True, exist_ok=True)
    for line in for_all(text).splitlines():
        moved = re.sub(r"(check_file_contents|check_file_test -d) (/)", rf"\1 {folder}\2", line)
        lines += [moved] if moved != line else []
    return "".join(f"{line}\n" for line in lines)


def test_it_passes_the_machine_that_it_runs_on(tmp_path: Path) -> None:
    """As the export is, under the name that this machine has: every line runs, none fails."""
    text = export("nhc").text
    status, told = run(tmp_path, text)
    assert (status, failures(told), len(ran(told))) == (0, [], len(list(checks(text))))


def test_memory_is_what_proc_meminfo_says(tmp_path: Path) -> None:
    """Within three percent either way; a DIMM less or more has a sentence of its own."""
    total = int(re.findall(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo").read_text())[0])
    wanted = [
        f"* || check_hw_physmem {kib}kB {kib}kB 3%\n"
        for kib in (total, total * 102 // 100, total * 104 // 100, total * 96 // 100)
    ]
    told = [failures(run(tmp_path, line)[1]) for line in wanted]
    assert told == [
        [],
        [],
        [f"check_hw_physmem:  Actual RAM size ({total} kB) less than minimum allowed ({total * 104 // 100} kB)."],
        [f"check_hw_physmem:  Actual RAM size ({total} kB) greater than maximum allowed ({total * 96 // 100} kB)."],
    ]


def test_other_cpus_fail(tmp_path: Path) -> None:
    """Sockets, cores and threads, each with its sentence."""
    text = next((line for line in export("nhc").text.splitlines() if "check_hw_cpuinfo" in line), None)
    if text is None:
        pytest.skip("this machine's processors are not such as NHC counts")
    counts = [int(word) for word in text.split()[-3:]]
    told = []
    for at in range(3):
        other = [count + (place == at) for place, count in enumerate(counts)]
        told += failures(run(tmp_path, f"* || check_hw_cpuinfo {other[0]} {other[1]} {other[2]}\n")[1])
    assert told == [
        f"check_hw_cpuinfo:  Actual CPU {what} count ({count}) does not match expected ({count + 1})."
        for what, count in zip(("socket", "core", "thread"), counts, strict=True)
    ]


@pytest.mark.parametrize("name", [*MACHINES, "two-hcas"])
def test_a_machine_of_the_catalogue_passes_its_own_checks(name: str, tmp_path: Path) -> None:
    """Its files below a folder: NUMA nodes, distances, ports, links, GPUs, settings."""
    text = planted(name, tmp_path, frozen(name))
    status, told = run(tmp_path, text)
    assert (status, failures(told), len(ran(told))) == (0, [], len(text.splitlines()))


@pytest.mark.parametrize("name", [*MACHINES, "two-hcas"])
def test_every_check_fails_where_its_file_holds_something_else(name: str, tmp_path: Path) -> None:
    """None is asleep: each file is emptied, or its folder is gone, and each check is named with its file."""
    text = planted(name, tmp_path, frozen(name))
    for file in {path for line in text.splitlines() for path in re.findall(rf"{tmp_path}\S+", line)}:
        place = Path(file)
        if place.is_dir():
            place.rename(place.with_name("gone"))
        else:
            place.write_text("7\n")
    _, told = run(tmp_path, text)
    wanted = [(words[0], words[-1] if words[0] == "check_file_test" else words[1]) for _, words in checks(text)]
    assert [(told.partition(":")[0], re.findall(rf"{tmp_path}[^\s\"]+", told)[0]) for told in failures(told)] == wanted


CHOICES = ("always", "madvise", "never")


@pytest.mark.parametrize("chosen", CHOICES)
def test_transparent_hugepages_are_those_between_the_brackets(chosen: str, tmp_path: Path) -> None:
    """All three words are in the file: only the chosen one passes."""
    file = tmp_path / "enabled"
    file.write_text(" ".join(f"[{word}]" if word == chosen else word for word in CHOICES) + "\n")
    passed = []
    for word in CHOICES:
        line = next(line for line in text_of("nhc", frozen_with(word)).splitlines() if "transparent_hugepage" in line)
        text = re.sub(r"\S*/transparent_hugepage/enabled", str(file), for_all(line))
        status, told = run(tmp_path, f"{text}\n")
        passed += [word] if (status, len(ran(told))) == (0, 1) else []
    assert passed == [chosen]


TARGETS = ("n[001-400]", "n[001-003,007]", "n[8-12]", "r1n[1-2]-ib,x7", "login,n1", "login", "login.a,m1-b", "x[08-11],x100")
HOSTS = ("n001", "n003", "n004", "n007", "n008", "n8", "n010", "n10", "n12", "n13", "r1n2-ib", "r1n2", "x7", "login", "login.a",
         "loginxa", "n1", "m1-b", "x08", "x8", "x09", "x100", "nas", "vm")  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_target_applies_to_its_nodes_and_to_no_other(host: str, tmp_path: Path) -> None:
    """As NHC compares them with the name of the host, a line for each target."""
    text = "".join(f"{target(expanded(names))} || echo {at}\n" for at, names in enumerate(TARGETS))
    _, told = run(tmp_path, text, host)
    assert ran(told) == [f"echo {at}" for at, names in enumerate(TARGETS) if host in expanded(names)]


def test_a_fleet_is_checked_each_kind_by_its_own_lines(tmp_path: Path) -> None:
    """Four nodes of one kind, one of another; a node of no kind runs none."""
    text = text_of("nhc", exports.fleet())
    seen = {host: ran(run(tmp_path, text, host)[1]) for host in ("n001", "n004", "n005", "n0001", "login", "vm")}
    counts = {host: len(found) for host, found in seen.items()}
    own = {where: sum(each == where for each, _ in checks(text)) for where, _ in checks(text)}
    of_rome, of_naples = own["{n[001-004]}"], own["login"]
    assert counts == {"n001": of_rome, "n004": of_rome, "n005": 0, "n0001": 0, "login": of_naples, "vm": 0}


def subjects(folder: Path) -> Sequence[ExportSubject]:
    """Return what a hostile capture may be."""
    return [exports.hostile(), *(frozen_with(value.replace("/tmp", str(folder))) for value in EVIL)]


def test_hostile_words_run_nothing(tmp_path: Path) -> None:
    """It gives its lines to eval: what runs of a hostile capture are checks of NHC, and no file comes from it."""
    told = [run(tmp_path, for_all(text_of("nhc", subject)))[1] for subject in subjects(tmp_path)]
    names = {check.split()[0] for each in told for check in ran(each)}
    assert (names, (tmp_path / "evil").exists()) == ({"check_hw_cpuinfo", "check_hw_physmem", "check_file_contents"}, False)


def test_the_catalogue_is_awake() -> None:
    """The machine of the GPUs has a check of each."""
    assert frozen("two-hcas").count("check_file_test") == len(machine("two-hcas").gpus or ())
