"""The commands of ours that a text tells somebody to type, read out of it as a reader copies them, and tried.

``python -m tests.printed_commands`` tries those of every page, hint, help text and document, and prints how many.
"""

import contextlib
import html
import io
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from shutil import copyfile, copytree
from typing import Final, Literal, NamedTuple
from unittest.mock import patch

from typer.core import TyperCommand

from advisor.cli.main import GROUPS, Command, commands, status, told
from advisor.exports.contract import EXAMPLE
from advisor.measure.measurement import Measurements
from docs.manpage import Edition, command_page, program_page
from tests.bios.imitation import PASSWORD, USER
from tests.bios.machines import own
from tests.bios.makers import MAKERS
from tests.bios.wire import Rack
from tests.machines.catalogue import write_archive
from tests.machines.read import seen_by_lstopo
from tests.reports import source_of

ROOT: Final = Path(__file__).parents[1]

_TAGGED: Final = re.compile(r"<(?:code|pre)[^>]*>(.*?)</(?:code|pre)>", re.DOTALL)
_QUOTED: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_OWN: Final = re.compile(r"(?<![\w/.=-])(?:hpc-)?advisor (?=[a-z-])")
_ENDS: Final = re.compile(
    r"""\ ·\ |;\s|;$|\ \(|\ \[|<|\)|,\s|,$|\ ->|\s\s|\ \#|:\s|:$|\s[|>]\s?|\ &&|\ \|\||\.\s|\.$|["“”]|'s\s|'\s|
        \ssame\soptions|\son\s(?=(?:a|an|the|that|this|it|each|every|your|any)\b)|\s(?:and|or|then|with|in|for|here|there|again|to|reads|takes|shows|has|adds|looks|must|is|once|as\s(?!\w+$)|gives|says|of|prints|writes|wrote|does|makes|lists|numbers|compares)\b""",
    re.VERBOSE,
)
"""Where a command ends that stands in a sentence or in a row of others."""

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "FILE": "node.tar.gz", "FILE.html": "out.html", "MACHINE": "node.tar.gz", "CAPTURE": "node.tar.gz", "DIR": "job",
    "A,B": "a,b",
    "HOST": "bmc01", "HOSTS": "a,b", "LINE": "mpirun -np 2 ./app", "RULE": "os-swappiness", "ID": "numa-nps-below-best",
    "FORMAT": "junit", "BEFORE": "before.json", "AFTER": "after.json", "A": "before.tar.gz", "B": "after.tar.gz", "NODE": "n0001",
    "NODES": "n[0001-0002]", "PLAN": "plan.yaml", "N": "1", "LIST": "n[0001-0002]", "PID": "1", "OLD": "quick.json",
    "NEW": "quick1.json", "OTHER": "quick1.json", "F": "bios.json", "WORD": "nps", "SETTING": "nps=4", "PARTITION": "batch",
}  # fmt: skip
"""What a reader puts in the place of a word in capitals."""
OF_OPTION: Final[Mapping[str, str]] = {
    "--bios": "bios.json", "--measurements": "quick.json", "--check": "slurm.conf", "--save": "saved.json", "show": "quick.json",
    "--output": "out.html", "--exclude": "nodes.txt", "-o": "made.yaml",
}  # fmt: skip
"""What FILE is behind an option or a word."""
STAND_IN: Final = frozenset(
    ("audit", "explain", "topology", "report", "checklist", "whatif", "bind", "check", "export", "measure", "bios plan")
)
"""Commands that look at this machine: they are tried as if it were the one of the page."""

ODD: Final = "a b.tar.gz"
RUN: Final = frozenset(
    ("audit", "explain", "topology", "report", "compare", "checklist", "whatif", "bind", "check", "export", "rules", "measure",
     "measure import", "bios plan", "fleet audit", "fleet show")
)  # fmt: skip
"""Commands that read, and write no more than the file of -o: these are run whole."""

Outcome = Literal["ran", "parsed"]


class Printed(NamedTuple):
    """A command as it was printed, and its words."""

    text: str
    words: tuple[str, ...]


def commands_in(text: str, width: int | None = None) -> Iterator[Printed]:
    """Yield the commands of a text: of backticks and <code> whole, of a line up to where a reader sees its end.

    Lines that end in a backslash are one, and so are those that were broken because the next word does not fit into a width.
    """
    if "<code" in text or "<pre" in text:
        text = _TAGGED.sub(lambda match: "".join(f"`{line}`\n" for line in re.sub("<[^>]+>", "", match[1]).splitlines()), text)
        text = html.unescape(re.sub("<[^>]+>", " ", text))
    text = re.sub(r"\s*\\\n\s*", " ", text)
    for quoted in _QUOTED.findall(text):
        yield from _command(" ".join(quoted.split()), whole=True)
    rest = _QUOTED.sub("''", text)
    for line in _unbroken(rest, width):
        for match in _OWN.finditer(line):
            yield from _command(line[match.start() :], whole=False)


def _unbroken(text: str, width: int | None) -> Iterator[str]:
    """Yield lines, those joined of which the second was begun for want of room."""
    whole = last = ""
    for line in text.splitlines():
        first = line.split(None, 1)[0] if line.strip() else ""
        if whole and width and line[:1].isspace() and first and len(last) + 1 + len(first) > width:
            whole, last = f"{whole} {line.strip()}", line
            continue
        if whole:
            yield whole
        whole = last = line
    if whole:
        yield whole


def _command(text: str, *, whole: bool) -> Iterator[Printed]:
    """Yield a command that a text begins with, or that stands behind a prompt, sudo or a pipe."""
    match = _OWN.search(text)
    if match is None or (whole and not re.fullmatch(r"(\$ |sudo |[A-Z_]+=\S+ |.*\| |.*&& |.*; )*", text[: match.start()])):
        return
    text = text[match.start() :]
    if not whole:
        head, dashes, program = text.partition(" -- ")
        end = _ENDS.search(re.sub(r'"[^"\n]*"', lambda quoted: "x" * len(quoted[0]), head))
        if end:
            text = head[: end.start()]
        elif dashes:
            end = re.search(r"\s\s|\ \#| -> |; | · |\"", program)
            text = f"{head} -- {program[: end.start()] if end else program}"
    else:
        text = re.split(r" \| | > | && | # |; ", text)[0]
    try:
        words = shlex.split(text)[1:]
    except ValueError:
        return
    if words and _named(words):
        yield Printed(text.strip(), tuple(words))


@cache
def _known() -> frozenset[str]:
    return frozenset(commands())


def _named(words: list[str]) -> str | None:
    """Return the command that words begin with; None of a sentence about the product."""
    return next((name for name in (" ".join(words[:2]), words[0]) if name in _known()), None)


def filled(words: tuple[str, ...]) -> list[str]:
    """Return a command with real things in the place of words in capitals, and in this folder what it names elsewhere."""
    result: list[str] = []
    for before, word in pairwise(("", *words)):
        value = OF_OPTION[before] if word == "FILE" and before in OF_OPTION else PLACEHOLDERS.get(word)
        if value is None:
            value = re.sub(r"(?<![\w.])[A-Z]{3,}(?![\w.])", lambda match: PLACEHOLDERS.get(match[0], match[0]), word)
            value = Path(value).name if value.startswith("/") and before in _FILES else value
        result += (
            shlex.split(value) if word == "LINE" else sorted(map(str, Path().glob(value))) or [value] if "*" in value else [value]
        )
    return result


_FILES: Final = ("-o", "--check", "--slurm-conf")


def attempt(words: list[str]) -> tuple[Outcome, str]:
    """Return what became of a command, and why it failed: run whole where it only reads, else parsed with its own parser."""
    name = _named(words) or ""
    typed, program = words[: words.index("--")] if "--" in words else words, words[words.index("--") :] if "--" in words else []
    if name == "measure" and not {"show", "--list", "--dry-run"} & set(typed):
        typed = [*typed, "--dry-run"]
    known = {"--from", "--cpu", "--platform", "--list", "show", "--help", "fleet", "fleet/", "--example"}
    other = known & set(typed) or (name == "report" and _two_files(typed)) or _judged(typed)
    if (
        name in STAND_IN
        and not other
        and not (name == "export" and {"prometheus-rules", "grafana"} & set(typed))
        and typed[-2:] != ["--as", "help"]
    ):
        typed = [*typed, "--from", "node.tar.gz"]
    asked = _ELSEWHERE & set(typed) or ("--hosts" in typed and name != "bind")
    if name in RUN and not asked and not any("parquet" in word for word in typed) and not any("$" in word for word in typed):
        return "ran", _complaint([*typed, *program])
    with patch.object(Command, "invoke"), patch.object(TyperCommand, "invoke"):  # the parser alone: nothing is begun
        return "parsed", _complaint([*typed, *program])


_ELSEWHERE: Final = frozenset(
    (
        "--bmc",
        "-w",
        "--slurm",
        "--help",
        "--bmc-name",
        "--learned",
        "--tuned",
        "--network",
        "--build-only",
        "gpu-near",
        "gpu",
        "--core-kind",
        "--mem",
        "--golden",
        "golden.yaml",
        "--observed",
    )
)
"""Options with which a command asks other hosts, or needs a race that took hours, a compiler for another machine, a GPU, HBM,
what a job printed."""


def _two_files(words: list[str]) -> bool:
    return len(words) > 2 and not words[1].startswith("-") and not words[2].startswith("-")


def _judged(words: list[str]) -> bool:
    """Return whether a contract is judged on what the line names."""
    return "--contract" in words and not (words[words.index("--contract") + 2 :] or ["-"])[0].startswith("-")


def _complaint(words: list[str]) -> str:
    """Return the line with which a command ends in status 2; empty where it does its work."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = status(words)
    return "" if code in (0, 1) else err.getvalue().strip()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Run what is inside in a folder, as a user of 200 columns who waits for nothing."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = "200"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns


def shelf(place: Path) -> None:
    """Fill a folder with what commands are typed at: captures, measurements, a BIOS, a plan of ranks, reports, a fleet."""
    source, measured = source_of("rome-nps1", place)
    Path(source).rename(place / "node.tar.gz")
    found = Measurements.model_validate_json(measured[0].read_bytes())
    small = found.model_copy(update={"results": tuple(each for each in found.results if each.purpose != "map")})
    for name in MEASURED:
        (place / name).write_text(small.model_dump_json(), encoding="utf-8")
    copyfile(source_of("rome-nps4", place)[1][0], place / "quick2.json")
    machines = {"before": "b-c6525-2x7702-nps1", "after": "b-c6525-2x7702-nps4", "sick": "a-r7425-2x7601-dell-2nodesmem"}
    for name, machine in machines.items():
        write_archive(machine, place / f"{name}.tar.gz")
    for name in CAPTURES:
        (place / name).parent.mkdir(exist_ok=True)
        copyfile(place / "node.tar.gz", place / name)
    copyfile(place / "after.tar.gz", place / "fleet" / "n0471.tar.gz")
    (place / "plans").mkdir()
    copyfile(OUTPUTS / "stream-c.txt", place / "stream.log")
    whole = re.sub(r"Threads (requested|counted) = \d+", r"Threads \1 = 128", (OUTPUTS / "stream-c.txt").read_text())
    (place / "stream.txt").write_text(whole)  # of all cores of node.tar.gz
    copyfile(OUTPUTS / "hpl-atom.out", place / "HPL.out")
    (place / "slurm.conf").write_text("ClusterName=c\nNodeName=c6525 CPUs=128 Sockets=2 CoresPerSocket=64 ThreadsPerCore=1\n")
    (place / "tender.yaml").write_text(EXAMPLE)
    (place / "my-rules.yaml").write_text(SITE)
    (place / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=1 --ntasks=8\nexport OMP_NUM_THREADS=4\nsrun ./app\n")
    (place / "other.xml").write_text(seen_by_lstopo("b-c6525-2x7702-nps1") or "<topology/>")
    with inside(place), Rack() as rack, patch.dict(os.environ, {"ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD}):
        server = own("rome")
        server.system["Model"] = "PowerEdge C6525"  # of which node.tar.gz is
        bmc = rack.add(MAKERS["dell"](machine=server), None)
        done = [printed(f"bios read --bmc {bmc.url} --insecure -o bios.json")]
        for name in ("Bios.json", "fleet/n0001.bios.json"):
            copyfile("bios.json", name)
        done += [printed("bind --from node.tar.gz --ranks 8 --launcher openmpi5 -o job -- ./app")]
        done += [printed(f"report --from {name}.tar.gz -o {name}.json") for name in ("before", "after")]
    assert [code for code, _ in done] == [0, 0, 0, 0], done
    for state in ("before", "after"):  # as a rollout leaves them
        (place / "job" / state).mkdir()
        copyfile(place / f"{state}.tar.gz", place / "job" / state / "n0001.tar.gz")
        (place / "rollout-plans" / state).mkdir(parents=True, exist_ok=True)
        copyfile(place / f"{state}.tar.gz", place / "rollout-plans" / state / "node001.tar.gz")


MEASURED: Final = (
    "quick.json", "quick1.json", "old.json", "new.json", "full.json", "hpl.json", "stream.json",
    "ours.json", "node.json", "off", "on", "before.measured.json",
)  # fmt: skip
SITE: Final = """\
- id: site-small
  title: A small machine
  severity: medium
  when: shape.sockets < 3
  say: "{shape.sockets} sockets"
  why: It is a test.
  set: {numa.nps: 4}
  check: advisor topology
  refs: [site]
  tests: [{given: {shape.sockets: 2}, expect: finding}]
"""
CAPTURES: Final = (
    ODD, "r7425.tar.gz", "golden-node.tar.gz", "captures/n1.tar.gz", "fleet/n0001.tar.gz", "fleet/n0002.tar.gz",
    "fleet/n0003.tar.gz",
)  # fmt: skip
OUTPUTS: Final = ROOT / "tests/imports/outputs"


def printed(line: str) -> tuple[int, str]:
    """Return how a command ends, and all that it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = status(shlex.split(line))
    return code, out.getvalue()


NODE: Final = "--from node.tar.gz"
PAGES: Mapping[str, str] = {
    "audit": f"audit {NODE} --width 80",
    "audit, a name to be quoted": "audit --from 'a b.tar.gz' --width 80",
    "audit, hpl": f"audit {NODE} --scope hpl --width 80",
    "audit, measured": f"audit {NODE} --measurements quick.json --width 80",
    "audit -v": f"audit {NODE} -v --width 500",
    "audit of another machine": "audit --from sick.tar.gz --width 80",
    "audit -v of another machine": "audit -v --from sick.tar.gz --width 500",
    "explain": f"explain 1 {NODE}",
    "explain 2": f"explain 2 {NODE}",
    "explain a rule": f"explain os-swappiness {NODE}",
    "report, md": f"report {NODE} --as md",
    "report, html": f"report {NODE} --as html",
    "report, one finding": f"report {NODE} --only 1 --as md",
    "report, measured": f"report {NODE} --measurements quick.json --as html",
    "report of a change": "compare before.json after.json --as html",
    "report of a change, md": "compare before.json after.json --as md",
    "topology": f"topology {NODE}",
    "compare": "compare before.tar.gz after.tar.gz",
    "whatif": f"whatif {NODE} --nps 4 --width 80",
    "whatif, saved": f"whatif {NODE} --nps 4 -o nps4.json",
    "checklist": f"checklist {NODE} --width 80",
    "checklist -v": f"checklist {NODE} -v",
    "checklist on order": "checklist --cpu 'EPYC 7702' --vendor dell",
    "checklist, formats": "checklist --as help",
    "bind": f"bind {NODE} --ranks 32 -- ./app",
    "bind, hosts": f"bind {NODE} --ranks 64 --hosts a,b --launcher srun -- ./app",
    "bind, unknown version": f"bind {NODE} --ranks 8 --launcher openmpi -- ./app",
    "bind, a folder": f"bind {NODE} --ranks 8 -o job2 -- ./app",
    "bind, hybrid": f"bind {NODE} --ranks 16 --threads 4 --launcher mpich -- ./app",
    "check": f"check {NODE} -- mpirun -np 8 --bind-to none ./app",
    "check, srun": f"check {NODE} -- srun -n 8 ./app",
    "check, several": f"check {NODE} -- mpirun -np 8 --map-by node:PE=2 ./app",
    "check, words of 4.x": f"check {NODE} --launcher-version 5.0.3 -- mpirun -np 8 -rf ranks --bind-to-core ./app",
    "check, a parameter that is gone": (
        f"check {NODE} --launcher-version 5.0.3 -- mpirun -np 8 --mca rmaps_dist_device mlx5_0 ./app"
    ),
    "check, far from the adapter": f"check {NODE} -- mpirun -np 16 --map-by numa --cpu-set 0-15 ./app",
    "measure, a plan": f"measure --dry-run {NODE}",
    "measure, list": "measure --list",
    "measure show": f"measure show quick.json {NODE}",
    "tune, a plan": "tune --dry-run -- mpirun -np 2 ./app",
    "fleet audit": "fleet audit fleet --width 80",
    "fleet audit -v": "fleet audit fleet -v",
    "fleet show": "fleet show n0471 fleet",
    "checklist of a fleet": "checklist fleet",
    "report of a fleet": "report fleet --as html",
    "export, list": "export --list",
    "export nhc": f"export nhc {NODE}",
    "export slurm": f"export slurm {NODE}",
    "export junit": f"export junit {NODE}",
    "export reframe": "export reframe --from node.tar.gz --measurements quick.json",
    "rules": "rules list",
    "experiment, list": "experiment --list",
    "bios plan": f"bios plan {NODE} --bios bios.json -o own.yaml",
    "audit, with a BIOS": f"audit {NODE} --bios bios.json --width 80",
    "checklist, with a BIOS": f"checklist {NODE} --bios bios.json",
    **{
        f"checklist as {form}": f"checklist {NODE} --as {form}"
        for form in ("html", "md", "racadm", "redfish", "ansible", "sysctl")
    },
    **{
        f"checklist as {form}": f"checklist --cpu 'EPYC 7702' --vendor {vendor} --as {form}"
        for form, vendor in (
            ("ilorest", "hpe"),
            ("onecli", "lenovo"),
            ("sum", "supermicro"),
            ("tuned", "dell"),
            ("kernel-cmdline", "dell"),
        )
    },
}
"""Pages by what they are, and the line that makes each."""


MISTAKES: Final = (
    "audit nothing.tar.gz", "audit --from", "audit -f node.tar.gz", "adit", "bios", "fleet",
    "explain 99 --from node.tar.gz", "bind", "bind --ranks 1000 --from node.tar.gz -- ./app",
    "check mpirun -np 2 ./app", "bind --ranks 4 --launcher prun", "report --from node.tar.gz -o x.pdf",
    "compare --from node.tar.gz", "checklist --as cobol", "checklist --cpu nothing", "export nothing",
    "export ansible --from fleet/n0001.tar.gz --include x", "verify nowhere", "verify job", "verify job2 extra", "compare",
    "measure nothing", "measure show", "measure show nothing.json", "measure import node.tar.gz", "measure network",
    "measure hpl --from node.tar.gz", "tune", "tune -- ./app", "whatif", "whatif --nps 3 --from node.tar.gz",
    "whatif nps", "fleet audit", "fleet audit nowhere", "fleet show x fleet", "bios plan nowhere",
    "bios plan fleet", "fleet capture", "experiment", "experiment nothing", "bios read", "bios plan", "bios stage",
    "bios stage nothing.yaml", "capture --from nothing", "topology --from quick.json", "audit --from quick.json",
    "audit --bios quick.json --from node.tar.gz", "report before.json", "report node.tar.gz", "rules nothing",
    "export slurm --check nothing.conf --from node.tar.gz", "export reframe --from node.tar.gz",
    "bind --from node.tar.gz --ranks 4",
)  # fmt: skip
"""Lines that end in an error, whose cure is read for commands."""


class Tried(NamedTuple):
    """A command that was tried: where it stands, what it is, how, and what it said against it."""

    where: str
    text: str
    outcome: Outcome
    complaint: str


def of_pages(folder: Path, names: Iterable[str]) -> Iterator[Tried]:
    """Yield the commands of pages, each run where the page was made, on the input that it was made from."""
    for name in names:
        with _fresh(folder):
            code, text = printed(PAGES[name])
            assert code in (0, 1), (name, text)
            yield from _tried(name, text, 80 if "--width 80" in PAGES[name] else None)
            for line in re.findall(r"^    better ((?:mpirun|mpiexec|srun) .*)$", text, re.MULTILINE):
                code, again = printed(f"check {NODE} -- {line}")
                yield Tried(name, line, "ran", "" if code == 0 else again)


def of_bmc(folder: Path) -> Iterator[Tried]:
    """Yield the commands of what is printed on the way of a change through an imitated BMC."""
    with _fresh(folder), Rack() as rack:
        bmc = rack.add(MAKERS["dell"](machine=own("rome")), None)
        steps = ("read -o read.json", "plan --from node.tar.gz -o staged.yaml", "stage staged.yaml --yes", "status",
                 "prove staged.yaml", "restart", "undo nothing.json")  # fmt: skip
        for step in steps:
            with patch.dict(os.environ, {"ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD}):
                text = printed(f"bios {step} --bmc {bmc.url} --insecure")[1]
            yield from _tried(f"bios {step}", text)


def of_texts(folder: Path) -> Iterator[Tried]:
    """Yield the commands of errors, help texts, manual pages, README and docs; what docs/adding.md adds its own tests run."""
    for line in MISTAKES:
        with _fresh(folder):
            yield from _tried(f"advisor {line}", printed(line)[1])
    for name in commands():
        with _fresh(folder):
            yield from _tried(f"{name} --help", printed(f"{name} --help")[1])
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        with _fresh(folder):
            yield from () if file.name == "adding.md" else _tried(file.name, file.read_text(encoding="utf-8"))
    known, edition = commands(), Edition("1", "2026-01-01")
    manuals = {"advisor": program_page(known, GROUPS, edition)}
    manuals |= {name: command_page(name, about.summary, told(name), edition, ()) for name, about in known.items()}
    for name, text in manuals.items():
        with _fresh(folder):
            yield from _tried(f"man {name}", re.sub(r"\\f.|\\&|(?m:^\.\w+ ?)", "", text).replace("\\-", "-"))


@contextlib.contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """Run what is inside in a copy of the shelf: what one command writes is not what the next one reads."""
    with tempfile.TemporaryDirectory() as temporary, inside(copytree(folder, Path(temporary) / "shelf")):
        yield


def _tried(where: str, text: str, width: int | None = None) -> Iterator[Tried]:
    for each in dict.fromkeys(commands_in(text, width)):
        if " ".join(each.words) in _known():
            continue  # a command is named, not typed
        yield Tried(where, each.text, *attempt(filled(each.words)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        shelf(Path(temporary))
        count: Counter[str] = Counter()
        for one in chain(of_pages(Path(temporary), PAGES), of_bmc(Path(temporary)), of_texts(Path(temporary))):
            count[one.outcome] += 1
            if one.complaint:
                count["wrong"] += 1
                print(f"{one.where}: {one.text}\n    {one.complaint}", flush=True)  # noqa: T201
    every = count["ran"] + count["parsed"]
    print(f"{every} printed commands tried: {count['ran']} run, {count['parsed']} parsed; {count['wrong']} do not run")  # noqa: T201
