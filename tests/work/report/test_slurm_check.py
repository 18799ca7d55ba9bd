"""advisor export slurm: of a capture and of a fleet; --check with its exit status; what cannot be read is refused in one line."""

import json
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.errors import BadInput, BadValue
from advisor.exports.export import export
from advisor.exports.slurm_check import check_slurm
from tests.machines.catalogue import write_archive
from tests.machines.read import seen_by_lstopo

Capture = pytest.CaptureFixture[str]
ROME = "CPUs=128 Boards=1 SocketsPerBoard=2 CoresPerSocket=64 ThreadsPerCore=1"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a capture of c6525."""
    return str(write_archive("b-c6525-2x7702-nps4", tmp_path_factory.mktemp("slurm") / "node.tar.gz"))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three nodes, one of them with SMT."""
    place = tmp_path_factory.mktemp("fleet")
    for name, machine in (("n1", "b-c6525-2x7702-nps4"), ("n2", "b-c6525-2x7702-nps4"), ("n3", "b-c6525-2x7702-nps4-smt")):
        write_archive(machine, place / f"{name}.tar.gz")
    return place


def written(folder: Path, text: str) -> str:
    """Return the path of a slurm.conf."""
    (folder / "slurm.conf").write_text(text)
    return str(folder / "slurm.conf")


def test_the_line_is_printed_first(node: str, capsys: Capture) -> None:
    """And all else is a comment: what is printed may be included as it is."""
    assert status(["export", "slurm", "--from", node]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert (first, {line[0] for line in rest}) == (f"NodeName=c6525 {ROME} RealMemory=261120", {"#"})


def test_a_fleet_is_a_line_for_each_kind_of_definition(fleet: Path) -> None:
    """Nodes of the same hardware with and without SMT want two."""
    lines = export("slurm", str(fleet)).text.splitlines()
    assert [" ".join(line.split()[:2]) for line in lines if line[0] != "#"] == [
        "NodeName=n[1-2] CPUs=128",
        "NodeName=n3 CPUs=256",
    ]


def test_the_status_goes_by_fail_on(node: str, tmp_path: Path, capsys: Capture) -> None:
    """0 whatever differs, unless a limit is named and reached."""
    file = written(tmp_path, f"NodeName=c6525 {ROME.replace('CPUs=128', 'CPUs=128 Feature=x')} RealMemory=999999\n")
    ran = [status(["export", "slurm", "--from", node, "--check", file, *limit]) for limit in ([], ["--fail-on", "high"])]
    assert ran == [0, 1]
    page = capsys.readouterr().out
    assert "high    slurm.conf line 1, c6525: RealMemory=999999, but the node has 262144 MiB" in page
    assert "  write:  NodeName=c6525 RealMemory=261120 CPUs=128 Feature=x Boards=1" in page


def test_a_check_is_written_to_a_file_as_page_and_as_json(node: str, tmp_path: Path, capsys: Capture) -> None:
    """-o takes either, the terminal nothing; --json of anything else is refused."""
    file = written(tmp_path, f"NodeName=c6525 {ROME} RealMemory=999999\n")
    base = ["export", "slurm", "--from", node]
    page, document = tmp_path / "page", tmp_path / "document"
    assert [
        status([*base, "--check", file, "-o", str(page)]),
        status([*base, "--check", file, "--json", "-o", str(document)]),
    ] == [0, 0]
    assert capsys.readouterr().out == ""
    told = json.loads(document.read_text())
    (first,) = told["differences"]
    assert (told["schema"], told["file"], told["nodes"], first["severity"], first["nodes"]) == (
        "advisor-slurm-check/1",
        file,
        1,
        "high",
        "c6525",
    )
    assert f"  write:  {first['write']}\n" in page.read_text()
    assert status([*base, "--json"]) == 2
    assert "--json works only with --check" in capsys.readouterr().err


def test_a_fleet_is_compared_node_by_node(fleet: Path, tmp_path: Path) -> None:
    """Each difference has its nodes."""
    found = check_slurm(written(tmp_path, f"NodeName=n[1-4] {ROME} RealMemory=261120\n"), str(fleet))
    assert (found.nodes, [(each.id, each.nodes) for each in found.differences]) == (3, [("scheduler-threads-as-cores", ("n3",))])


def test_a_machine_without_a_name_is_that_of_the_only_line(tmp_path: Path) -> None:
    """Of several lines nobody knows which is meant."""
    text = seen_by_lstopo("b-c6525-2x7702-nps4")
    if text is None:
        pytest.skip("lstopo is not installed")
    xml = tmp_path / "node.xml"
    xml.write_text(text.replace('name="HostName"', 'name="Other"'))
    line = f"{ROME} RealMemory=261120"
    assert check_slurm(written(tmp_path, f"NodeName=n[1-9] {line}\n"), str(xml)).differences == ()
    with pytest.raises(BadValue, match=r"has no host name, and .* has 2 NodeName lines"):
        check_slurm(written(tmp_path, f"NodeName=n1 {line}\nNodeName=n2 {line}\n"), str(xml))


def test_a_file_that_is_none_is_refused_in_one_line(node: str, tmp_path: Path) -> None:
    """It names the file and what to do."""
    for file, why in ((str(tmp_path / "gone"), "no such file"), (written(tmp_path, "ClusterName=x\n"), "defines no node")):
        with pytest.raises(BadInput, match=why):
            check_slurm(file, node)


def test_check_is_of_slurm_alone(node: str, tmp_path: Path, capsys: Capture) -> None:
    """Other formats have nothing to compare."""
    assert status(["export", "junit", "--from", node, "--check", str(tmp_path)]) == 2
    assert "--check works only with slurm" in capsys.readouterr().err
