"""A fleet's folder is audited whole: what is odd about an answer is named, and is never fatal."""

import gzip
import json
import random
from pathlib import Path

import pytest
import zstandard

from advisor.cli.main import status
from advisor.errors import AdvisorError, BadInput
from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import ANSWERS, BIOS_SUFFIX, Answer, Fleet
from advisor.fleet.read import INDEX, Reader
from advisor.machine.hosts.errands import Outcome
from tests.fleet.planted import AT, ROOT, noise, plant, shape


def put(folder: Path, node: str, calls_itself: str | None = None, *, answer: bool = True, **about: str) -> None:
    """Put a node's capture into a folder, with its answer; ``about`` changes what the capture says of itself."""
    own = shape("haswell")
    changes = noise(own, calls_itself or node, random.Random(node))  # noqa: S311 - no secret
    text = own.content("advisor-capture/about").decode()
    lines = dict(line.split(": ", 1) for line in text.splitlines()) | about
    changes["advisor-capture/about"] = "".join(f"{name}: {value}\n" for name, value in lines.items()).encode()
    (folder / f"{node}.tar.gz").write_bytes(gzip.compress(own.copy(changes), 1, mtime=0))
    if answer:
        said(folder, Answer(node=node, at=AT, outcome=Outcome.ANSWERED, archive=f"{node}.tar.gz"))


def said(folder: Path, answer: Answer) -> None:
    """Note an answer."""
    with (folder / ANSWERS).open("ab") as file:
        file.write(answer.line())


def audited(folder: Path) -> Fleet:
    """Return the screen of a folder."""
    return audit_fleet([folder]).fleet


def test_what_is_odd_about_an_answer_is_named_and_used(tmp_path: Path) -> None:
    """Another name, a clock that is off, another version, two of one name: each is named, all are answers."""
    put(tmp_path, "n1")
    put(tmp_path, "n2", "n7")
    put(tmp_path, "n3", time="2026-01-31T09:10:00Z")
    put(tmp_path, "n4", advisor="0.1.0")
    put(tmp_path, "n5", "n1")
    found = audited(tmp_path)
    odd = {(each.what, each.node) for each in found.odd}
    wanted = {("wrong name", "n2"), ("clock", "n3"), ("version", "n4"), ("wrong name", "n5"), ("same name twice", "n1")}
    assert (found.answered, odd) == (5, wanted)


def test_who_did_not_answer_is_counted_with_the_reason(tmp_path: Path) -> None:
    """Truncated and lost captures, timeouts, and a capture that holds no machine: none stops the others."""
    put(tmp_path, "n1")
    put(tmp_path, "n2")
    (tmp_path / "n2.tar.gz").write_bytes((tmp_path / "n2.tar.gz").read_bytes()[:2000])
    put(tmp_path, "n3")
    (tmp_path / "n3.tar.gz").unlink()
    said(tmp_path, Answer(node="n4", at=AT, outcome=Outcome.TIMED_OUT))
    said(tmp_path, Answer(node="n5", at=AT, outcome=Outcome.FAILED, why="exit status 3"))
    found = audited(tmp_path)
    silent = {each.node: each.why for each in found.silent}
    wanted = {"n2": "truncated", "n3": "its capture is missing", "n4": "timed out", "n5": "failed: exit status 3"}
    assert (found.asked, found.answered, silent) == (5, 1, wanted)


def test_a_capture_that_nobody_asked_for_counts_too(tmp_path: Path) -> None:
    """One that was put beside the others by hand is a node."""
    put(tmp_path, "n1")
    put(tmp_path, "n2", answer=False)
    assert audited(tmp_path).kinds[0].nodes == "n[1-2]"


def test_captures_from_elsewhere_are_a_fleet(tmp_path: Path) -> None:
    """Files without answers: named by their files, two of one name told apart."""
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        put(folder, "n1", answer=False)
    found = audit_fleet([tmp_path / "a" / "n1.tar.gz", tmp_path / "b" / "n1.tar.gz"]).fleet
    assert (found.asked, found.answered, found.kinds[0].count) == (2, 2, 2)


def test_an_archive_named_in_an_answer_stays_in_the_folder(tmp_path: Path) -> None:
    """An answer that leads out of the folder is none."""
    put(tmp_path, "n1")
    said(tmp_path, Answer(node="n2", at=AT, outcome=Outcome.ANSWERED, archive="../n1.tar.gz"))
    assert [each.node for each in audited(tmp_path).silent] == ["n2"]


def test_a_fleet_in_which_nobody_answered_is_refused_in_one_line(tmp_path: Path) -> None:
    """There is nothing to say of it."""
    said(tmp_path, Answer(node="n1", at=AT, outcome=Outcome.NO_ROUTE))
    with pytest.raises(AdvisorError, match="no node answered: 1 no route"):
        audit_fleet([tmp_path])


def test_the_second_look_says_the_same_and_reads_no_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the index the screen is equal, also where no capture is opened."""
    made = plant(tmp_path, 3, nodes=20)
    first = audited(tmp_path)
    with monkeypatch.context() as patched:
        patched.delattr("advisor.fleet.read.Reader.read")
        assert (audited(tmp_path), made.odd != set()) == (first, True)


def test_a_capture_that_only_now_may_be_read_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new mode changes neither its size nor when it was written; what the index keeps of the first look is not believed."""
    put(tmp_path, "n1")
    put(tmp_path, "n2")
    opened = Reader._opened

    def refusing(reader: Reader, file: Path) -> object:
        if file.name == "n2.tar.gz":
            raise BadInput("permission denied", file=str(file))
        return opened(reader, file)

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "_opened", refusing)
        assert [each.why for each in audited(tmp_path).silent] == ["permission denied"]
    (tmp_path / "n2.tar.gz").chmod(0o640)
    assert audited(tmp_path).silent == ()


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"junk", b"(\xb5/\xfd" + bytes(40)], ids=["half", "junk", "zeros"])
def test_an_index_that_is_damaged_is_made_again(tmp_path: Path, damage: bytes) -> None:
    """The captures are the truth."""
    plant(tmp_path, 3, nodes=12)
    first = audited(tmp_path)
    whole = (tmp_path / INDEX).read_bytes()
    (tmp_path / INDEX).write_bytes(damage or whole[: len(whole) // 2])
    assert audited(tmp_path) == first


def test_a_capture_that_changed_is_read_again(tmp_path: Path) -> None:
    """The index knows a capture by its size and its time."""
    for node in ("n1", "n2"):
        put(tmp_path, node)
    audited(tmp_path)
    own = shape("haswell down")
    (tmp_path / "n2.tar.gz").write_bytes(gzip.compress(own.copy({f"{ROOT}proc/sys/kernel/hostname": b"n2\n"}), 6))
    (wrong,) = (each for each in audited(tmp_path).wrong if each.rule == "fabric-port-down")
    assert wrong.nodes == "n2"


def test_the_command_says_it_in_json_and_by_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json has what the schema says, --exclude FILE its list; --fail-on and --fail-on-missing make the status 1."""
    plant(tmp_path / "f", 4, nodes=20)
    assert status(["fleet", "audit", str(tmp_path / "f"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    wanted = {"asked", "answered", "silent", "kinds", "wrong", "drift", "split", "slow"}
    assert (wanted - told.keys(), told["schema"]) == (set(), "advisor-fleet-audit/2")
    odd = tmp_path / "odd.nodes"
    assert status(["fleet", "audit", str(tmp_path / "f"), "-o", "/dev/null", "--exclude", str(odd)]) == 0
    assert (odd.read_text(), "that did not answer" in capsys.readouterr().err) == (f"{told['exclude']}\n", True)
    ends = [status(["fleet", "audit", str(tmp_path / "f"), "-o", "/dev/null", *more]) for more in ([], ["--fail-on-missing"])]
    assert (ends, status(["fleet", "audit", str(tmp_path / "f"), "-o", "/dev/null", "--fail-on", "high"])) == ([0, 1], 1)


SAID = {
    "LogicalProc": "Enabled",
    "NodeInterleave": "Disabled",
    "SysProfile": "PerfOptimized",
    "ProcVirtualization": "Enabled",
    "SystemModelName": "PowerEdge C6320",
}


def with_bios(folder: Path, node: str, settings: dict[str, object] | None = None, **other: object) -> None:
    """Put what a BMC says of a node's BIOS beside its capture: passwords, serial numbers and addresses are its own."""
    own = {
        "SetupPassword": f"hunter-{node}",
        "SystemServiceTag": f"TAG-{node}",
        "AssetTag": node,
        "NicMac": "0c:42:a1:00:00:0" + node[-1],
    }
    resource = {"@odata.id": "/redfish/v1/Systems/1/Bios", "Attributes": {**SAID, **own, **other}}
    waits = {"settings": {"@odata.id": "/redfish/v1/Systems/1/Bios/Settings", "Attributes": settings}}
    told = {"schema": "advisor-bios/1", "bios": resource, **waits} if settings is not None else resource
    (folder / f"{node}{BIOS_SUFFIX}").write_text(json.dumps(told))


def test_bios_attributes_beside_the_captures_are_compared(tmp_path: Path) -> None:
    """Of eleven nodes one has another value, and one a value that waits for a restart: DRIFT names both, and nothing else."""
    for number in range(11):
        put(tmp_path, f"n{number}")
        other = {"LogicalProc": "Disabled"} if number == 3 else {}
        with_bios(tmp_path, f"n{number}", {"NodeInterleave": "Enabled"} if number == 7 else {}, **other)
    found = audited(tmp_path)
    drift = {(each.fact, each.value, each.majority, each.nodes) for each in found.drift}
    wanted = {
        ("bios.LogicalProc", "Disabled", "Enabled", "n3"),
        ("bios.pending", "NodeInterleave=Enabled", "nothing", "n7"),
    }
    assert (drift, found.split, found.odd) == (wanted, (), ())


def test_what_names_a_node_and_what_is_secret_in_a_bios_goes_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the index, nor the screens, nor a golden file hold a password, a serial number or an address of a BIOS."""
    for number in range(3):
        put(tmp_path, f"n{number}")
        with_bios(tmp_path, f"n{number}")
    assert status(["fleet", "audit", str(tmp_path), "--json"]) == 0
    assert status(["fleet", "show", "n1", str(tmp_path)]) == 0
    assert status(["fleet", "golden", "save", str(tmp_path), "-o", str(tmp_path.parent / "golden.yaml")]) == 0
    index = zstandard.ZstdDecompressor().stream_reader((tmp_path / INDEX).read_bytes()).read().decode()
    said = (index, capsys.readouterr().out, (tmp_path.parent / "golden.yaml").read_text())
    assert [
        word for text in said for word in ("hunter", "TAG-", "SetupPassword", "AssetTag", "0c:42:a1:00:00:01") if word in text
    ] == []
    assert "LogicalProc" in index


def test_another_bios_beside_a_capture_is_read_again(tmp_path: Path) -> None:
    """The index knows it by its size and its time, as it knows the capture."""
    for number in range(10):
        put(tmp_path, f"n{number}")
        with_bios(tmp_path, f"n{number}")
    before = audited(tmp_path).drift
    with_bios(tmp_path, "n4", SysProfile="PerfPerWattOptimizedOs")
    assert (before, [(each.fact, each.nodes) for each in audited(tmp_path).drift]) == ((), [("bios.SysProfile", "n4")])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ('{"Members": []}', "not a Bios resource: it has no Attributes"),
        ('{"Attributes": {"SystemModelName": "PowerEdge R7525"}}', "the BIOS attributes are from a PowerEdge R7525"),
        (
            '{"schema": "advisor-bios/1", "bios": {"Attributes": {"LogicalProc": "Enabled"}}, "owner": {"host_name": "N2.site"}}',
            "its BMC reports the server as N2.site",
        ),
    ],
    ids=["junk", "other", "another model's", "another server's"],
)
def test_a_bios_that_is_none_of_the_nodes_is_named_and_not_used(tmp_path: Path, text: str, why: str) -> None:
    """The node is judged by its capture alone."""
    put(tmp_path, "n1")
    (tmp_path / f"n1{BIOS_SUFFIX}").write_text(text)
    found = audited(tmp_path)
    (odd,) = found.odd
    assert (found.answered, odd.what, odd.node, why in odd.why) == (1, "BIOS", "n1", True), odd
