"""A twin of what was read stages, restarts and applies changes as that vendor's BMC does, on this host's loopback alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.bios.twin import Rules, Twin
from advisor.bios.twin_port import Standing, standing
from advisor.bios.twin_source import twin_of
from advisor.errors import BadInput
from tests.bios import trees
from tests.bios.admin import WISH, Admin, Said
from tests.bios.conftest import Imitated
from tests.bios.makers import MAKERS
from tests.bios.registry_oracle import Oracle

ROOT = Path(__file__).parents[2]


def read(imitated: Imitated, admin: Admin, maker: str) -> Path:
    """Return the file that bios read writes of a maker's imitation."""
    place = admin.folder / "bios.json"
    assert admin.types("bios", "read", "-o", place, bmc=imitated(maker)).status == 0
    return place


def types(admin: Admin, here: Standing, *words: object) -> Said:
    """Type a command at a twin, with the words that it printed."""
    return admin.types("bios", *words, *here.options.split())


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_twin_goes_the_whole_way(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Staged, restarted, proven and taken back, with the commands that a server gets, over TLS."""
    twin = twin_of([read(imitated, admin, maker)])
    before = dict(twin.applied)
    plan, name = admin.wish(maker), WISH[maker][0]
    with standing(twin) as here:
        staged = types(admin, here, "stage", plan, "--yes", "--record", "record.json")
        waits = name in twin.pending and twin.applied == before
        restarted = types(admin, here, "restart", "--record", "record.json", "--yes", "--no-slurm", "--drained")
        proven = types(admin, here, "prove", plan, "--record", "record.json", "--wait", "60")
        undone = types(admin, here, "undo", "record.json", "--yes", "--record", "undo.json")
        back = types(admin, here, "restart", "--record", "undo.json", "--yes", "--no-slurm", "--drained")
        types(admin, here, "prove", plan, "--record", "undo.json", "--wait", "60")
    said = (staged, restarted, proven, undone, back)
    assert ([each.status for each in said], waits, twin.applied) == ([0] * 5, True, before), [each.err for each in said]
    assert (twin.resets, twin.opened - twin.closed) == (["GracefulRestart"] * 2, 0)


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_the_habits_are_those_of_who_made_the_server(maker: str, imitated: Imitated, admin: Admin) -> None:
    """Dell's jobs, HPE's whole copy, and so on, by what the file says of its server."""
    assert type(twin_of([read(imitated, admin, maker)])).__name__.lower() == maker


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_twin_holds_values_as_the_oracle_does(maker: str, imitated: Imitated) -> None:
    """Every value that an attribute takes and one that it does not, by the product's registry and by the tests' own."""
    bmc = imitated(maker)
    ours, theirs = Rules(bmc.machine.registry), Oracle(bmc.machine.registry)
    tried = [(name, value) for name in bmc.applied for value in (*theirs.legal(name), "Banana", -7, True)]
    assert [bool(ours.illegal(*each)) for each in tried if each[0] in theirs.attributes] == [
        bool(theirs.illegal(*each)) for each in tried if each[0] in theirs.attributes
    ]


def test_what_no_registry_explains_keeps_its_kind(tmp_path: Path) -> None:
    """A Bios.json alone: a text for a number is refused by the twin, too."""
    place = tmp_path / "Bios.json"
    told = {"SettingsObject": {"@odata.id": "/redfish/v1/Systems/1/Bios/SD"}}
    place.write_text(json.dumps({"Attributes": {"Cores": 4}, "@Redfish.Settings": told}))
    twin = twin_of([place])
    refused, taken = twin.invalid({"Attributes": {"Cores": "four"}}), twin.invalid({"Attributes": {"Cores": 8}})
    assert (refused and refused.status, taken) == (400, None)


def test_without_a_settings_object_it_is_read_only(tmp_path: Path, admin: Admin) -> None:
    """Reading works; staging says that there is none."""
    place = tmp_path / "Bios.json"
    place.write_text(json.dumps({"Attributes": {"Cores": 4}}))
    with standing(twin_of([place])) as here:
        assert types(admin, here, "read").status == 0
        said = types(admin, here, "stage", admin.plan({"Cores": 8}), "--yes", "--unchecked", "Cores")
    assert (said.status, "no settings object" in said.err) == (2, True)


@pytest.mark.corpus
@pytest.mark.skipif(not trees.PRESENT, reason=trees.ABSENT)
@pytest.mark.parametrize("name", sorted(trees.TREES))
def test_a_folder_that_is_a_tree_is_served_as_it_is(name: str, tmp_path: Path) -> None:
    """Byte for byte, until something is written over it."""
    for path, data in trees.files_of(name).items():
        place = tmp_path / "tree" / path.strip("/") / "index.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    twin, files = twin_of([tmp_path / "tree"]), trees.files_of(name)
    assert twin.get(twin.paths["bios"]).body == files[twin.paths["bios"]]
    assert all(kind in twin.reset_types for kind in ("GracefulRestart", "On"))


@pytest.mark.parametrize("text", ["{}", '{"Attributes": {}}', "[]", "no"])
def test_what_is_no_bios_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    """It names the file."""
    place = tmp_path / "x.json"
    place.write_text(text)
    with pytest.raises(Exception, match=r"x\.json") as refused:
        twin_of([place])
    assert "\n" not in str(refused.value)


def test_a_folder_without_a_tree_is_refused(tmp_path: Path) -> None:
    """It says what a tree has."""
    with pytest.raises(BadInput, match="redfish"):
        twin_of([tmp_path])


def test_on_is_nothing_to_a_server_that_runs() -> None:
    """After GracefulShutdown it starts it; what waited is applied then."""
    twin = Twin(MAKERS["lenovo"]().machine)
    assert (twin.reset({"ResetType": "On"}).status, twin.boots) == (204, 0)
    twin.reset({"ResetType": "GracefulShutdown"})
    twin.reset({"ResetType": "On"})
    assert (twin.boots, twin.power) == (1, "On")


def test_the_command_prints_what_reaches_it_and_ends_by_an_interrupt(imitated: Imitated, admin: Admin) -> None:
    """The password stands there once; the folder of its login is gone afterwards."""
    place = read(imitated, admin, "dell")
    line = [sys.executable, "-m", "advisor", "bios", "twin", str(place)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(6)]
        login = Path(told[4].split("--login-file ")[1].split()[0])
        mode, words = login.stat().st_mode & 0o777, login.read_text().split()
        said = admin.types(*told[4].split()[2:])
        process.send_signal(signal.SIGINT)
        ended = process.wait(30)
    assert (mode, said.status, ended, login.exists()) == (0o600, 0, 0, False)
    assert (f"{words[1]}\n" in told[3], "127.0.0.1" in told[1]) == (True, True)


def _tree(place: Path, maker: str, bios: str) -> Path:
    """Write a tree of two resources, whose system names its Bios so."""
    resources = {
        "Systems/1": {"Manufacturer": maker, "Bios": {"@odata.id": bios}},
        "Systems/1/bios": {"Attributes": {"ProcSMT": "Enabled"}},
    }
    for path, body in resources.items():
        folder = place / "redfish" / "v1" / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.json").write_text(json.dumps(body))
    return place


def test_a_link_in_other_letters_than_its_resource_is_followed(tmp_path: Path) -> None:
    """HPE's own trees: /redfish/v1/systems/1/bios is the link, and Systems/1/bios the resource."""
    twin = twin_of([_tree(tmp_path, "HPE", "/redfish/v1/systems/1/bios/")])
    assert (type(twin).__name__, twin.applied) == ("Hpe", {"ProcSMT": "Enabled"})


def test_the_sessions_of_an_old_idrac_are_those_of_a_new_one(tmp_path: Path) -> None:
    """An R740 with iDRAC 3 names /redfish/v1/Sessions: whoever logs in there is let in."""
    twin = twin_of([_tree(tmp_path, "Dell Inc.", "/redfish/v1/Systems/1/bios")])
    assert twin.plain("/redfish/v1/Sessions/7") == "/redfish/v1/SessionService/Sessions/7"
