"""Plausible mistakes: each is one line that says what to do, and none is found after something was measured."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.cli.main import status
from tests.conftest import Golden
from tests.machines.catalogue import write_archive
from tests.render.measurements import of

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
NODE = "node.tar.gz"
MISTAKES = (
    "adit",
    "audit --form node.tar.gz",
    "audit --scope hpcc",
    "audit --topic nume",
    "audit --from nod.tar.gz",
    "audit --from notes.txt",
    "audit --from torn.json",
    "audit --from node.tar.gz extra",
    "audit --from node.tar.gz --bios torn.json",
    "audit --from node.tar.gz --bios notes.txt",
    "audit --from node.tar.gz --measurements notes.txt",
    "audit --from node.tar.gz --measurements other.json",
    "audit --rules nosuch.yaml",
    "audit --rules empty",
    "audit -o nosuch/audit.txt",
    "audit -o empty",
    "audit --from a.tar.gz --from b.tar.gz",
    "topology --width 10",
    "topology --width wide",
    "topology --width",
    "topology --from node.tar.gz --svg nosuch/node.svg",
    "explain",
    "explain 99 --from node.tar.gz",
    "explain numa-nps-below-bst --from node.tar.gz",
    "checklist --platform rom --vendor dell",
    "checklist --platform rome --vendor del",
    "checklist --platform rome --as htm",
    "checklist --cpu 'EPIC 7702'",
    "checklist --platform rome --from node.tar.gz",
    "bind --from node.tar.gz --ranks 4",
    "bind --from node.tar.gz --ranks 100000 -- ./app",
    "bind --from node.tar.gz --ranks 0 -- ./app",
    "bind --from node.tar.gz --ranks 99999999 -- ./app",
    "bind --from node.tar.gz --ranks 4 --ranks 8 -- ./app",
    "bind --from node.tar.gz --ranks 4 --ranks-per numa -- ./app",
    "bind --from node.tar.gz --strategy spred-l3 -- ./app",
    "bind --from node.tar.gz --near mlx5_9 -- ./app",
    "bind --from node.tar.gz --launcher openmpy -- ./app",
    "bind --from node.tar.gz --hosts a,a -- ./app",
    "bind --from node.tar.gz -o notes.txt -- ./app",
    "check",
    "verify",
    "verify empty",
    "verify --plan notes.txt -- mpirun -n 2 ./app",
    "measure membw --from node.tar.gz",
    "measure bandwidth",
    "measure --repeats 0",
    "measure --save nosuch/run.json",
    "measure --png run.png",
    "measure roofline --chart rooflin --png run.png",
    "measure roofline --intensity 0 --png run.png",
    "measure ladder --chart roofline --png run.png",
    "measure ladder --intensity 0.25",
    "measure peak --png run.png",
    "measure show nosuch.json",
    "measure show notes.txt",
    "measure hpl --n 0",
    "whatif --from node.tar.gz --nps 9",
    "explain nps --from node.tar.gz",
    "explain smt --from node.tar.gz",
    "whatif nsp=4 --from node.tar.gz",
    "checklist --cpu 'EPYC 77O2'",
    "audit --from node.tar.gz --show memry",
    "compare node.tar.gz",
    "compare node.tar.gz nosuch.tar.gz",
    "compare node.tar.gz other.json",
    "compare notes.txt other.json",
    "compare node.tar.gz empty",
    "checklist node.tar.gz",
    "capture",
    "capture -o nosuch/node.tar.gz",
    "rules check nosuch",
    "report -o nosuch/node.html",
    "report --from node.tar.gz --as htm",
    "report node.tar.gz node.tar.gz node.tar.gz",
    "bios plan",
    "bios undo",
    "audit node.tar.gz",
    "audit --from noise.bin",
    "audit --from nothing.json",
    "audit --from empty",
    "audit --from node.tar.gz --bios box.xml",
    "audit --from node.tar.gz --bios empty",
    "audit --from node.tar.gz --bmc bmc01 --bios bios.json",
    "audit --from node.tar.gz -o node.tar.gz",
    "audit --from node.tar.gz --measurements node.tar.gz",
    "audit --from node.tar.gz --rules noise.bin",
    "--from node.tar.gz audit",
    "explain node.tar.gz",
    "explain 1 --platform rome",
    "checklist 1 --from node.tar.gz",
    "checklist --platform 'EPYC 7702'",
    "checklist --platform box.xml",
    "checklist --platform rome --as yaml",
    "checklist --from node.tar.gz --only 1,99",
    "capture node.tar.gz",
    "capture new.tar.gz",
    "capture --from node.tar.gz -o node.tar.gz",
    "bind --from node.tar.gz -np 4 -- ./app",
    "check mpirun -np 8 ./app",
    "measure list",
    "measure show",
    "measure membw --dry-run --from box.xml --chart bandwidth-matrix",
    "measure --dry-run --from box.xml --png run.png --chart latency-matrix",
    "measure matrix --dry-run --from box.xml",
    "measure roofline --intensity 0.25GB",
    "whatif --from node.tar.gz nps4",
    "compare --from node.tar.gz node.tar.gz node.tar.gz",
    "rules show nosuch",
    "rules show 1 --from nosuch.tar.gz",
    "rules list --from node.tar.gz",
    "rules check notes.txt",
    "rules test --rules empty",
    "report node.tar.gz -o node.html",
    "report 1 -o node.html",
    "report --from node.tar.gz --only 99 --as md",
    "report --from node.tar.gz --only numa-nps-below-bst --as md",
    "report --from node.tar.gz --only 1 --as json",
    "report --from node.tar.gz -o node.pdf",
    "verify box.xml",
    "topology --from https://example.org/node.xml",
)


def _object(kind: str, number: int, cpus: int, inside: str = "") -> str:
    sets = f'cpuset="{cpus:#x}" complete_cpuset="{cpus:#x}" nodeset="0x1" complete_nodeset="0x1"'
    memory = ' local_memory="8589934592"' if kind == "NUMANode" else ""
    return f'<object type="{kind}" os_index="{number}" {sets}{memory}>{inside}</object>'


_CORES = "".join(_object("Core", number, 1 << number, _object("PU", number, 1 << number)) for number in range(2))
_INSIDE = _object("NUMANode", 0, 3) + _object("Package", 0, 3, _CORES)
BOX = f'<?xml version="1.0"?><topology version="2.0">{_object("Machine", 0, 3, _INSIDE)}</topology>'
"""Two cores on one NUMA node, as lstopo writes them: there is no second node to compare with."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a capture, texts that are none, a machine of one NUMA node, another's measurements, and no rules."""
    write_archive("a-r7425-2x7601-dell", tmp_path / NODE)
    (tmp_path / "notes.txt").write_text("Remember the milk.\n")
    (tmp_path / "torn.json").write_text('{"Attributes": {"NumaNodesPerSocket": ')
    (tmp_path / "other.json").write_text(of().model_dump_json())
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.json").touch()
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    (tmp_path / "box.xml").write_text(BOX)
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "OMP_")):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture(autouse=True)
def _nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a mistake is found only after the machine is looked at for measuring, or a launcher or kernel is started."""

    def begun(*_: object, **__: object) -> None:
        raise AssertionError("measuring has begun")

    for name in (
        "advisor.measure.run.BusyWatch.__init__",
        "advisor.measure.task.programs_for",
        "advisor.machine.hosts.live.LiveHost.launch",
    ):
        monkeypatch.setattr(name, begun)


ANSWERS: dict[str, tuple[int, str, str]] = {}
"""What each mistake was answered with: it is asked once."""


def said(line: str, capsys: Capture) -> tuple[int, str, str]:
    """Return how a command line ends, and what it prints."""
    if line not in ANSWERS:
        found = status(shlex.split(line))
        ANSWERS[line] = (found, *capsys.readouterr())
    return ANSWERS[line]


VALIDATORS = re.compile(r"Input should|valid (?:int|string)|Value error|type=|pydantic|click|Traceback|<class|<=x")
"""Words of the libraries that read a command line: whoever mistypes has not asked for these."""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_do(line: str, capsys: Capture) -> None:
    """Status 2, one line with a cure behind the semicolon or colon, in no validator's words, before anything is measured."""
    found, out, err = said(line, capsys)
    assert (found, out, err.count("\n"), err.endswith("\n"), bool(re.search("[;:] [^;:]+$", err.partition(": ")[2]))) == (
        2, "", 1, True, True,
    ), err  # fmt: skip
    assert VALIDATORS.findall(err) == []


@pytest.mark.usefixtures("here")
def test_the_lines_were_read(golden: Golden, capsys: Capture) -> None:
    """What each mistake is answered with is as it was accepted."""
    golden("mistakes.txt", "".join(f"$ advisor {line}\n{said(line, capsys)[2]}\n" for line in MISTAKES))


def test_an_output_that_cannot_be_written_is_known_first(here: Path) -> None:
    """A folder without permission is refused in one line by a user who has none; root may write everywhere."""
    (here / "empty").chmod(0o555)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if as_nobody:
        here.chmod(0o755)
        for above in here.parents:
            if not above.stat().st_mode & 0o001:
                pytest.skip("nobody cannot enter the folder of this test")
    command = [*as_nobody, sys.executable, "-m", "advisor", "topology", "--from", NODE, "-o", "empty/x.txt"]
    done = subprocess.run(
        command, cwd=here, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    if "No module named" in done.stderr or "can't open" in done.stderr:
        pytest.skip("nobody cannot read the checkout")
    assert (done.returncode, done.stderr) == (2, "advisor: empty/x.txt: permission denied; name another file to write\n")


@pytest.mark.usefixtures("here")
def test_words_of_other_programs_are_understood(capsys: Capture) -> None:
    """`advisor help audit` and `advisor version` are the options that they mean; several findings stand behind one --only."""
    assert said("help audit", capsys) == said("audit --help", capsys)
    assert said("version", capsys) == said("--version", capsys)
    assert said("checklist --from node.tar.gz --only 4,3", capsys) == said(
        "checklist --from node.tar.gz --only 4 --only 3", capsys
    )


@pytest.mark.usefixtures("here")
def test_a_rule_is_shown_by_the_number_of_its_finding(capsys: Capture) -> None:
    """The number is that of the audit with the same options; ids and topics stand beside it."""
    ended, shown, _ = said("rules show 2 --from node.tar.gz", capsys)
    explained = said("explain 2 --from node.tar.gz", capsys)[1]
    assert (ended, shown.split()[1] in explained, said("rules test 2 os-swappiness --from node.tar.gz", capsys)[0]) == (
        0,
        True,
        0,
    )


FLAGS = ("--json", "--verbose", "--no-color")


@pytest.mark.usefixtures("here")
def test_a_flag_may_be_repeated_and_its_opposite_may_not(capsys: Capture) -> None:
    """--json --json is what --json is; --measure --no-measure is two wishes, of which one would be lost."""
    assert said(f"topology --from {NODE} --json --json", capsys)[0] == 0
    assert said(f"audit --from {NODE} --measure --no-measure", capsys)[2].startswith(
        "advisor: --measure/--no-measure is given twice"
    )


OURS = re.compile(r"pip3? install (?:-\S+ )*(\S+)")
TEXTS = [
    path
    for folder in ("advisor", "docs", "rules", "templates", "kernels")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".yaml", ".j2", ".c", ".h"}
] + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "prepare.sh")]


def test_no_text_recommends_a_package_that_is_not_ours() -> None:
    """Nobody registered our name in an index of packages: whoever does would be installed by those whom we sent there."""
    named = {(path.name, word) for path in TEXTS for word in OURS.findall(path.read_text(encoding="utf-8"))}
    known = {
        "",
        "matplotlib",
        "pyarrow",
        "dist/*.whl",
        "venv-lowest/floors.txt",
        "redfish-service-validator>=3.1.8",
        "ReFrame-HPC>=4.6",
    }
    wrong = sorted(each for each in named if each[1].strip("'\"`.,;)") not in known and "$" not in each[1])
    assert (wrong, [path.name for path in TEXTS if re.search(r"install[^\n]*hpc-advisor", path.read_text(encoding="utf-8"))]) == (
        [],
        [],
    )
