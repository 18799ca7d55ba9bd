"""A rehearsal tries the whole rollout on twins, and changes no server; the command's words, pages and refusals."""

from pathlib import Path

import pytest

from advisor.bios.rollout import rehearse
from advisor.bios.rollout_course import Policy
from tests.bios.admin import WISH, Admin
from tests.bios.imitation import PASSWORD, USER
from tests.bios.makers import MAKERS
from tests.bios.rollouts import Site, ends
from tests.bios.wire import Fault, Rack


@pytest.fixture
def site(rack: Rack, tmp_path: Path) -> Site:
    """Return a site of two servers."""
    return two(rack, tmp_path, "lenovo")


def two(rack: Rack, folder: Path, maker: str) -> Site:
    """Put up two servers of a maker."""
    site = Site(folder, rack, maker=maker)
    site.add("n1")
    site.add("n2")
    return site


def hosts(site: Site, admin: Admin) -> tuple[str, ...]:
    """Return the words that reach a site's servers."""
    (admin.folder / "hosts").write_text("".join(f"{name} {bmc.url}\n" for name, bmc in site.bmcs.items()))
    (admin.folder / "login").write_text(f"{USER}\n{PASSWORD}\n")
    (admin.folder / "login").chmod(0o600)
    return ("--hostfile", "hosts", "--login-file", "login", "--insecure")


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_a_rehearsal_ends_as_the_rollout_does(maker: str, rack: Rack, tmp_path: Path) -> None:
    """Of every vendor; the servers are read, and nothing is written to them."""
    site = two(rack, tmp_path, maker)
    rehearsed = rehearse(site.doors, site.plan(), Policy())
    assert (ends(rehearsed), [bmc.writes() for bmc in site.bmcs.values()]) == ({"n1": "done", "n2": "done"}, [[], []])
    assert [bmc.opened - bmc.closed for bmc in site.bmcs.values()] == [0, 0]
    assert ends(site.go(site.begin())) == ends(rehearsed)


def test_what_waits_on_a_server_waits_on_its_twin(site: Site) -> None:
    """A stranger's change is found in the rehearsal."""
    bmc = site.bmcs["n1"]
    mine = {WISH["lenovo"][0], *bmc.oracle.moved(bmc.applied, dict([WISH["lenovo"]]))}
    other = next(each for each, value in bmc.applied.items() if each not in mine and len(bmc.oracle.legal(each)) > 1 and value)
    bmc.pend({other: next(each for each in bmc.oracle.legal(other) if each != bmc.applied[other])})
    done = rehearse(site.doors, site.plan(), Policy())
    assert (ends(done), "someone else's changes are pending" in done.now.nodes[0].why) == (
        {"n1": "as before", "n2": "done"},
        True,
    )


def test_without_graceful_restart_it_is_rehearsed_in_two_steps(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that BMC offers it."""
    monkeypatch.setattr(type(site.bmcs["n1"]), "reset_types", ("On", "GracefulShutdown"))
    assert ends(rehearse(site.doors, site.plan(), Policy())) == {"n1": "done", "n2": "done"}
    monkeypatch.setattr(type(site.bmcs["n1"]), "reset_types", ("ForceRestart",))
    assert ends(rehearse(site.doors, site.plan(), Policy())) == {"n1": "as before", "n2": "as before"}


def test_a_server_that_cannot_be_read_stops_the_rollout(site: Site, admin: Admin) -> None:
    """Before anything is changed."""
    site.bmcs["n2"].faults.append(Fault("garbage", "GET", "/Bios", times=100))
    words = ("bios", "rollout", site.plan(), *hosts(site, admin), "--drained", "--rehearse", "--yes")
    said = admin.types(*words)
    assert (said.status, said.lines, "the rehearsal failed" in said.err) == (2, 1, True), said.err
    assert ([bmc.writes() for bmc in site.bmcs.values()], Path("rollout-plan").exists()) == ([[], []], False)


def test_a_dry_run_changes_nothing_and_folds(site: Site, admin: Admin) -> None:
    """Two nodes, one line."""
    said = admin.types("bios", "rollout", site.plan(), *hosts(site, admin), "--dry-run", "--width", "100")
    assert (said.status, said.out.splitlines()) == (
        0,
        [
            "Rehearsal on simulated BMCs: 2 nodes in effect and back in service. No server was changed.",
            "2 done: proven by the BMC only",
            "  n[1-2]",
        ],
    ), said.err


def test_a_value_that_is_none_is_refused_in_the_rehearsal(site: Site, admin: Admin) -> None:
    """Banana, on both."""
    plan = site.plan()
    plan.write_text(plan.read_text().replace(str(WISH["lenovo"][1]), "Banana"))
    said = admin.types("bios", "rollout", plan, *hosts(site, admin), "--dry-run", "--json")
    assert (said.status, said.document["ends"]["as before"], "Banana" in said.out) == (1, 2, True)


def test_nodes_without_ssh_are_left_as_they_are(site: Site, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is staged on a node that does not answer; the folder says where each is."""
    (admin.folder / "bin").mkdir()
    (admin.folder / "bin" / "ssh").write_text("#!/bin/sh\necho 'ssh: connect to host: Connection refused' >&2\nexit 255\n")
    (admin.folder / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{admin.folder / 'bin'}:/usr/bin:/bin")
    said = admin.types("bios", "rollout", site.plan(), *hosts(site, admin), "--drained", "--yes", "--json")
    assert (said.status, said.document["ends"]["as before"], [bmc.writes() for bmc in site.bmcs.values()]) == (1, 2, [[], []])
    again = admin.types("bios", "rollout", "--resume", "rollout-plan", "--dry-run", "--json")
    assert again.document["folded"] == said.document["folded"]
    second = admin.types("bios", "rollout", site.plan(), *hosts(site, admin), "--drained", "--yes")
    assert (second.status, second.lines, "--resume rollout-plan" in second.err) == (2, 1, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no plan given"),
        (("--abort",), "no plan given"),
        (("plan.yaml", "--resume", "x"), "--resume takes its settings from the folder"),
        (("--resume", "nowhere"), "no rollout here"),
        (("plan.yaml", "-w", "n[1-2]", "--node", "n1"), "--node works only with a single --bmc"),
        (("plan.yaml",), "no server given"),
        (("plan.yaml", "--bmc", "bmc01"), "its node is unknown"),
        (("plan.yaml", "--bmc", "bmc01", "--node", "../x", "--drained"), "is not a node name"),
        (("plan.yaml", "--bmc", "bmc01", "--node", "n1", "--drain", "true"), "--drain and --undrain are only valid together"),
        (("plan.yaml", "--bmc", "bmc01", "--node", "n1", "--drained", "--program", "nosuch"), "is not a built-in program"),
        (("plan.yaml", "--bmc", "bmc01", "--node", "n1", "--drained"), "it contains no changes"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    words: tuple[str, ...], told: str, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any server is asked."""
    monkeypatch.setenv("ADVISOR_BMC_USER", USER)
    monkeypatch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
    (admin.folder / "plan.yaml").write_text("format: advisor-bios-plan/1\nchanges: []\n")
    said = admin.types("bios", "rollout", *words)
    assert (said.status, said.lines, told in said.err) == (2, 1, True), said.err


def test_a_credential_in_a_command_is_not_kept(site: Site, admin: Admin) -> None:
    """Nothing is begun that could not be gone on with."""
    more = ("--drain", "true --password hunter22222", "--undrain", "true", "--yes")
    said = admin.types("bios", "rollout", site.plan(), *hosts(site, admin), *more)
    assert (said.status, said.lines, [bmc.writes() for bmc in site.bmcs.values()]) == (2, 1, [[], []]), said.err
    assert ("hunter22222" in Path("rollout-plan/journal.jsonl").read_text(), "credential" in said.err) == (False, True)


def test_the_nodes_of_a_fleet_are_its_captures(site: Site, admin: Admin) -> None:
    """A folder of captures names them; how their BMCs are called, a pattern says. Without a capture it is refused."""
    ports = sorted(bmc.url.rpartition(":")[2] for bmc in site.bmcs.values())
    reach = (*hosts(site, admin)[2:], "--bmc-name", "http://127.0.0.1:%h", "--dry-run", "--json")
    (admin.folder / "fleet").mkdir()
    empty = admin.types("bios", "rollout", site.plan(), "-w", "fleet/", *reach)
    assert (empty.status, empty.lines, "contains no captures" in empty.err) == (2, 1, True)
    for port in ports:
        (admin.folder / "fleet" / f"{port}.tar.gz").touch()
    said = admin.types("bios", "rollout", site.plan(), "-w", "fleet/", *reach)
    assert (said.status, [each["node"] for each in said.document["nodes"]]) == (0, ports), said.err
