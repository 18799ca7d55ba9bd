"""Many BMCs at once: folded, each for itself, and gone on with where it stopped."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor.jobs.started.hosts import fold_names, names_of
from tests.bios.admin import WISH, Admin, Said
from tests.bios.imitation import PASSWORD, USER, Bmc
from tests.bios.machines import own
from tests.bios.makers import MAKERS
from tests.bios.wire import Fault, Rack
from tests.machines.catalogue import write_archive


class Row:
    """Imitated BMCs in a row, and the file that names them."""

    def __init__(self, rack: Rack, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
        self._rack, self.admin, self._patch = rack, admin, monkeypatch
        self.bmcs: list[Bmc] = []

    def add(self, maker: str = "lenovo", **habits: Any) -> Bmc:
        """Put one more BMC into the row."""
        made = self._rack.add(MAKERS[maker](**habits))
        self.bmcs.append(made)
        return made

    @property
    def file(self) -> Path:
        """Return the file that --hostfile takes."""
        place = self.admin.folder / "hosts"
        place.write_text("# the row\n" + "".join(f"{each.url}\n" for each in self.bmcs))
        return place

    def types(self, *words: object) -> Said:
        """Return how a command for the whole row ends."""
        self._patch.setenv("ADVISOR_BMC_USER", USER)
        self._patch.setenv("ADVISOR_BMC_PASSWORD", self.admin.password)
        return self.admin.types("bios", *words, "--hostfile", self.file, "--insecure")

    def stages(self, *more: object) -> Said:
        """Stage the usual change on all of them."""
        return self.types("stage", self.admin.wish("lenovo"), "--yes", "--record", self.admin.folder / "before/%h.json", *more)


@pytest.fixture
def row(rack: Rack, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Row:
    """Return an empty row."""
    return Row(rack, admin, monkeypatch)


def answering(monkeypatch: pytest.MonkeyPatch, says: Callable[[str], str]) -> list[str]:
    """Put a person at the terminal; return the questions that are asked."""
    questions: list[str] = []

    def ask(question: str, **_: object) -> str:
        questions.append(question)
        return says(question)

    monkeypatch.setattr("advisor.cli.bmc_options.ask", ask)
    return questions


def short(bmc: Bmc) -> str:
    """Return a BMC's name as files are called after it."""
    return bmc.url.removeprefix("http://").replace(":", "-")


def test_what_most_say_stands_first_and_once(row: Row) -> None:
    """Three that are staged are one line; one with somebody else's changes is named after them with the reason."""
    good = [row.add() for _ in range(3)]
    foreign = row.add()
    foreign.pending["OperatingModes_ChooseOperatingMode"] = "MaximumPerformance"
    said = row.stages("--json")
    folded = [(each["count"], each["is"].split(":")[0]) for each in said.document["folded"]]
    assert (said.status, folded) == (2, [(3, "staged"), (1, "could not")])
    assert [list(bmc.pending) for bmc in good] == [["Processors_SNC"]] * 3
    assert (foreign.writes(), said.document["left"]) == ([], foreign.url)


def test_servers_that_a_plan_is_not_for_are_one_line(row: Row) -> None:
    """Their UUIDs differ; what they say is the same."""
    bmcs = [row.add() for _ in range(3)]
    plan = row.admin.plan({"Processors_SNC": "Enabled"}, uuid=bmcs[0].identity)
    said = row.types("stage", plan, "--yes", "--record", row.admin.folder / "%h.json", "--json")
    folded = [(each["count"], "different server" in each["is"]) for each in said.document["folded"]]
    assert (said.status, folded) == (2, [(1, False), (2, True)])


def test_each_has_its_own_record(row: Row) -> None:
    """%h in the name of the file is the BMC's name; each record has its own UUID."""
    bmcs = [row.add() for _ in range(3)]
    row.stages()
    saved = [json.loads((row.admin.folder / f"before/{short(bmc)}.json").read_text())["owner"]["uuid"] for bmc in bmcs]
    assert saved == [bmc.identity for bmc in bmcs]


def test_one_file_for_several_is_refused(row: Row) -> None:
    """Records would take each other's place: nothing is written on any."""
    bmcs = [row.add() for _ in range(2)]
    said = row.types("stage", row.admin.wish("lenovo"), "--yes", "--record", row.admin.folder / "one.json", "--json")
    assert (said.status, [bmc.writes() for bmc in bmcs], "write %h" in said.out + said.err) == (2, [[], []], True)


def test_it_goes_on_where_it_stopped(row: Row) -> None:
    """The second time those that are staged are not written to again, and the one that failed is."""
    good, broken = row.add(), row.add(faults=[Fault("garbage", "GET", "Bios", times=1)])
    first, second = row.stages("--json"), row.stages("--json")
    assert (first.status, first.document["left"], second.status, second.document["left"]) == (2, broken.url, 0, "")
    assert (len(good.writes()), len(broken.writes()), list(broken.pending)) == (1, 1, ["Processors_SNC"])


def test_a_record_of_what_was_never_written_is_no_obstacle(row: Row) -> None:
    """A run that was cut between record and write is gone on with: the old record has nothing that the new one lacks."""
    bmc = row.add(faults=[Fault("request read", "PATCH", times=1)])
    first, second = row.stages("--json"), row.stages("--json")
    assert (first.status, second.status, list(bmc.pending)) == (2, 0, ["Processors_SNC"])


def test_a_row_is_shown_and_asked_about_once(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are looked at, the question names how many, and with no nothing is written."""
    bmcs = [row.add() for _ in range(3)]
    asked = answering(monkeypatch, lambda _: "no")
    said = row.types("stage", row.admin.wish("lenovo"))
    assert (said.status, len(asked), "On 3 of 3 BMCs" in asked[0]) == (2, 1, True)
    assert [bmc.writes() for bmc in bmcs] == [[], [], []]


def test_a_yes_stages_those_that_were_shown(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that could not be looked at is not written to."""
    good, broken = row.add(), row.add(faults=[Fault("html", "GET", "Bios", times=1)])
    answering(monkeypatch, lambda _: "yes")
    row.types("stage", row.admin.wish("lenovo"), "--record", row.admin.folder / "%h.json")
    assert (len(good.writes()), broken.writes()) == (1, [])


def test_reading_many_writes_a_file_each(row: Row) -> None:
    """Five makers' BIOS, five files that nobody else may read."""
    bmcs = [row.add(maker) for maker in MAKERS]
    said = row.types("read", "-o", row.admin.folder / "bios/%h.json")
    files = sorted((row.admin.folder / "bios").iterdir())
    assert (said.status, [file.name for file in files]) == (0, sorted(f"{short(bmc)}.json" for bmc in bmcs))
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_all_sessions_are_closed(row: Row) -> None:
    """Each BMC has as many logouts as logins, the broken ones too."""
    for kind in ("garbage", "html", "error", "half body"):
        row.add(faults=[Fault(kind, "GET", "Bios", times=9)])
    row.add()
    row.types("status")
    assert [(bmc.opened, bmc.closed) for bmc in row.bmcs] == [(1, 1)] * 5


def test_one_is_restarted_each_once(row: Row) -> None:
    """One POST for each BMC."""
    bmcs = [row.add() for _ in range(3)]
    said = row.types("restart", "--nothing-staged", "--drained", "--yes", "--no-slurm")
    assert (said.status, [bmc.resets for bmc in bmcs]) == (0, [["GracefulRestart"]] * 3)


def test_one_that_is_not_proven_is_status_1(row: Row) -> None:
    """Two hold, one does not: it is named."""
    bmcs = [row.add() for _ in range(3)]
    for bmc in bmcs[:2]:
        bmc.applied["Processors_SNC"] = "Enabled"
    said = row.types("prove", row.admin.wish("lenovo"), "--json")
    folded = [(each["count"], each["is"], each["bmcs"]) for each in said.document["folded"]]
    assert (said.status, folded[1]) == (1, (1, "not in effect, according to the BMC", bmcs[2].url))


def test_undo_takes_each_ones_own_record(row: Row) -> None:
    """%h again: what was saved of each goes back."""
    bmcs = [row.add() for _ in range(2)]
    row.stages()
    said = row.types("undo", row.admin.folder / "before/%h.json", "--yes", "--record", row.admin.folder / "undone/%h.json")
    assert (said.status, [bmc.pending for bmc in bmcs]) == (0, [{}, {}]), said.out


def test_an_interrupt_stops_all_and_logs_out(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C: nothing more is begun, every session that was opened is closed, and the status is 130."""
    for _ in range(3):
        row.add()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("advisor.cli.output.Terminal.step", interrupted)
    said = row.stages()
    assert said.status == 130
    assert [bmc.opened - bmc.closed for bmc in row.bmcs] == [0, 0, 0]


def test_a_password_is_asked_for_once(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of them."""
    for _ in range(3):
        row.add()
    answers = {"User": USER, "Pass": PASSWORD}
    asked = answering(monkeypatch, lambda text: answers[text[:4]])
    said = row.admin.types("bios", "status", "--hostfile", row.file, "--insecure")
    assert (said.status, asked) == (0, ["User of 3 BMCs: ", f"Password of {USER} at 3 BMCs: "])


def test_a_pin_is_for_one(row: Row) -> None:
    """A certificate is looked at by a person, one at a time."""
    row.add()
    said = row.admin.types("bios", "status", "--hostfile", row.file, "--pin")
    assert (said.status, said.lines, row.bmcs[0].seen) == (2, 1, [])


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["bmc001", "bmc002", "bmc003", "bmc007"], "bmc[001-003,007]"),
        (["bmc9", "bmc10"], "bmc9,bmc10"),
        (["a", "b"], "a,b"),
        (["n1-bmc", "n2-bmc"], "n[1-2]-bmc"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.1,10.0.0.2"),
        (["https://b1", "b2:8443"], "https://b1,b2:8443"),
        ([], ""),
    ],
)
def test_folded_names_are_read_back(names: list[str], text: str) -> None:
    """What a page says to go on with is what -w takes."""
    assert fold_names(names) == text
    assert list(names_of(text)) == names if text else True


def test_a_group_is_clustershells(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """@rack1 is what the site's groups.conf says it is."""
    (admin.folder / "groups.conf").write_text('[Main]\ndefault: here\n[here]\nmap: [ "$GROUP" = rack1 ] && echo bmc[1-2]\n')
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(admin.folder))
    assert names_of("@rack1,bmc9") == ("bmc1", "bmc2", "bmc9")


@pytest.mark.parametrize("where", ["@nobody", "@a;b", "bmc[1-", "", "bmc[1-99999999]", "a b"])
def test_a_list_that_is_none_is_one_line(where: str, admin: Admin) -> None:
    """Nothing is asked."""
    said = admin.types("bios", "status", "-w", where)
    assert (said.status, said.lines) == (2, 1)


def test_a_line_of_a_file_that_is_none_is_named(admin: Admin) -> None:
    """File and line."""
    (admin.folder / "hosts").write_text("bmc1\nbmc[2-\n")
    said = admin.types("bios", "status", "--hostfile", admin.folder / "hosts")
    assert (said.status, said.lines, "hosts: line 2" in said.err) == (2, 1, True)


@pytest.mark.parametrize("maker", WISH)
def test_many_is_as_one(maker: str, row: Row) -> None:
    """What one BMC gets as one of many is what it gets alone."""
    alone, among = row.add(maker), row.add(maker)
    row.admin.stages(alone, row.admin.wish(maker))
    row.bmcs = [among]
    row.types("stage", row.admin.wish(maker), "--yes", "--record", row.admin.folder / "%h.json")
    assert (among.pending, [each.body for each in among.writes()]) == (alone.pending, [each.body for each in alone.writes()])


def test_each_server_gets_its_own_plan(row: Row) -> None:
    """Read and planned in one go: equal servers are judged once, and each plan is for its own UUID."""
    machine = own("rome")
    machine.system["Model"] = "PowerEdge C6525"
    bmcs = [row.add("dell", machine=machine.copy()) for _ in range(3)]
    bmcs[2].applied["NumaNodesPerSocket"] = "4"
    write_archive("b-c6525-2x7702-nps1", row.admin.folder / "node.tar.gz")
    said = row.types("plan", "--from", row.admin.folder / "node.tar.gz", "-o", row.admin.folder / "plans/%h.yaml")
    plans = [yaml.safe_load((row.admin.folder / f"plans/{short(bmc)}.yaml").read_text()) for bmc in bmcs]
    assert (said.status, [each["owner"]["uuid"] for each in plans]) == (0, [bmc.identity for bmc in bmcs]), said.err
    assert [[each["value"] for each in plan["changes"]] for plan in plans] == [["4"], ["4"], []]


def test_several_are_planned_from_a_capture(row: Row) -> None:
    """What this host is says nothing of them."""
    bmc = row.add()
    said = row.types("plan", "-o", row.admin.folder / "plans/%h.yaml")
    assert (said.status, said.lines, "--from" in said.err, bmc.writes()) == (2, 1, True, [])


# nodes and their BMCs


class Site:
    """Nodes whose BMCs have other names: what resolves here to imitated ones."""

    def __init__(self, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
        self.row, self.places = row, dict[str, int]()
        before = socket.getaddrinfo

        def known(host: Any, port: Any, *given: Any, **named: Any) -> Any:
            return before("127.0.0.1" if host in self.places else host, self.places.get(host, port), *given, **named)

        monkeypatch.setattr(socket, "getaddrinfo", known)

    def add(self, name: str, **habits: Any) -> Bmc:
        """Put a BMC under a name."""
        made = self.row.add(**habits)
        self.places[name] = int(made.url.rpartition(":")[2])
        return made

    def types(self, *words: object) -> Said:
        """Return how a command ends whose list of nodes is among its words."""
        os.environ["ADVISOR_BMC_USER"], os.environ["ADVISOR_BMC_PASSWORD"] = USER, PASSWORD
        return self.row.admin.types("bios", *words, "--insecure")


@pytest.fixture
def site(row: Row, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a site without any BMC."""
    return Site(row, monkeypatch)


@pytest.mark.parametrize(
    "words",
    [
        ("-w", "node[01-02]", "--bmc-name", "http://bmc-%h"),
        ("--hostfile", "pairs"),
        ("--hostfile", "pairs", "-w", "node[01-02]"),
    ],
)
def test_nodes_are_named_and_their_bmcs_asked(words: tuple[str, ...], site: Site) -> None:
    """By a pattern, by a file of pairs, or by some of its lines: files have the nodes' names, and so has the page."""
    bmcs = [site.add(f"bmc-node0{number}") for number in (1, 2)]
    folder = site.row.admin.folder
    (folder / "pairs").write_text("node01 http://bmc-node01  # rack 1\nnode02\thttp://bmc-node02\n")
    record = folder / "before/%h.json"
    said = site.types("stage", site.row.admin.wish("lenovo"), "--yes", "--record", record, *words, "--json")
    assert (said.status, [list(bmc.pending) for bmc in bmcs]) == (0, [["Processors_SNC"]] * 2), said.err
    assert sorted(each.name for each in (folder / "before").iterdir()) == ["node01.json", "node02.json"]
    assert said.document["folded"][0]["bmcs"] == "node[01-02]"
    assert [(each["node"], each["bmc"]) for each in said.document["each"]] == [
        ("node01", "http://bmc-node01"),
        ("node02", "http://bmc-node02"),
    ]


def test_slurm_is_asked_under_the_nodes_name(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the BMC reports of a host name does not count where the node was named."""
    bmc = site.add("bmc-node01")
    bmc.machine.system["HostName"] = "localhost"
    folder = site.row.admin.folder
    (folder / "scontrol").write_text(f'#!/bin/sh\necho "$@" >>{folder}/asked\necho "NodeName=x State=IDLE+DRAIN"\n')
    (folder / "scontrol").chmod(0o755)
    (folder / "slurm.conf").write_text("ClusterName=x\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    said = site.types("restart", "--nothing-staged", "--yes", "-w", "node01", "--bmc-name", "http://bmc-%h")
    assert (said.status, bmc.resets) == (0, ["GracefulRestart"]), said.err + said.out
    assert {line.split()[2] for line in (folder / "asked").read_text().splitlines()} == {"node01"}


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("-w", "node01", "--bmc-name", "bmc"), "write %h"),
        (("--bmc", "bmc01", "--bmc-name", "bmc-%h"), "node names"),
        (("--hostfile", "three"), "give a BMC, or a node and its BMC"),
        (("--hostfile", "uneven"), "write one BMC per node"),
        (("--hostfile", "pairs", "-w", "node09"), "-w selects lines from the file"),
        (("--hostfile", "absent"), "write one"),
        (("--bmc", "bmc01", "-w", "bmc02"), "cannot be combined"),
    ],
)
def test_names_that_do_not_fit_are_one_line(words: tuple[str, ...], cure: str, site: Site) -> None:
    """Which option or which line, and what to write; nobody is asked."""
    folder = site.row.admin.folder
    for name, text in (("three", "node01 bmc01 bmc02\n"), ("uneven", "node[1-3] bmc[1-2]\n"), ("pairs", "node01 bmc01\n")):
        (folder / name).write_text(text)
    said = site.types("status", *words)
    assert (said.status, said.lines, cure in said.err) == (2, 1, True), said.err


def test_one_that_is_named_twice_is_asked_once(site: Site) -> None:
    """By another spelling, with its usual port, or under two nodes' names: nothing is sent twice."""
    bmc = site.add("bmc1")
    (site.row.admin.folder / "hosts").write_text("http://bmc1\nhttp://BMC1/\nhttp://bmc1:80\nnode1 http://bmc1\n")
    said = site.types("restart", "--nothing-staged", "--drained", "--yes", "--no-slurm", "--hostfile", "hosts", "--json")
    assert (said.status, bmc.resets, bmc.opened) == (0, ["GracefulRestart"], 1), said.err


def test_one_server_behind_two_names_is_restarted_once(row: Row) -> None:
    """Two addresses of one server, as its UUID tells: the second is named and not asked."""
    one, other = row.add(identity="4c4c4544-0000"), row.add(identity="4c4c4544-0000")
    said = row.types("restart", "--nothing-staged", "--drained", "--yes", "--no-slurm", "--json")
    assert (said.status, one.resets + other.resets) == (2, ["GracefulRestart"])
    assert "the same server as" in said.out
