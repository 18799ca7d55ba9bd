import json
import re
from pathlib import Path

import pytest

from advisor.advice.audit_page.card import Asker, fix_rows
from advisor.advice.model.findings import Fix
from advisor.advice.model.plan import Planned
from advisor.cli.main import status
from advisor.jobs.started.hosts import asker
from tests.cli.said import printed
from tests.machines.catalogue import write_archive
from tests.render.audits import finding

Capture = pytest.CaptureFixture[str]

RULES = """
- id: site-cut
  title: Cut in one
  severity: low
  each: socket in sockets
  let: {most: 1}
  only: layout.cut.name != "COD"
  when: socket.nodes <= most and kernel.swappiness > 1000
  say: socket {socket.index}
  why: It is a test.
  set: {numa.nps: 4}
  check: advisor topology
  refs: [site]
  tests: [{given: {}, expect: unknown}]
- id: site-quiet
  title: Some adapter is slow
  severity: low
  where: fabric
  when: any(adapter.rate < 1 for adapter in adapters)
  say: a slow adapter
  why: It is a test.
  want: fast ones
  fix: buy some
  undo: sell them
  check: ibstat
  refs: [site]
  tests: [{given: {}, expect: unknown}]
- id: site-unknown
  title: The clock
  severity: low
  where: os
  when: cpu.base_hz < 1
  say: slow
  why: It is a test.
  want: faster
  fix: wait
  undo: wait
  check: wait
  refs: [site]
  tests: [{given: {}, expect: unknown}]
"""


SYSCTL = finding("os-x", "low", fix=(Fix(text="set it", where="os", commands=("sysctl -w vm.swappiness=10",)),))


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the options that name a Rome server cut NPS1 and three rules of a site."""
    folder = tmp_path_factory.mktemp("explain")
    write_archive("b-c6525-2x7702-nps1", folder / "node.tar.gz")
    (folder / "site.yaml").write_text(RULES)
    return ["--from", str(folder / "node.tar.gz"), "--rules", str(folder / "site.yaml"), "--width", "100"]


def test_a_finding_is_named_by_its_number(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The number is that of the audit of the same machine; one that is not there is refused with those that are."""
    assert status(["audit", *given]) == 0
    assert "\n 1 HIGH   NUMA partitioning is NPS1" in capsys.readouterr().out
    assert status(["explain", "1", *given]) == 0
    assert capsys.readouterr().out.startswith(" 1 HIGH   NUMA partitioning is NPS1")
    assert status(["explain", "99", *given]) == 2
    assert "no finding 99: this audit has findings 1 to " in capsys.readouterr().err


def explained(arguments: list[str], capsys: Capture) -> str:
    """Return what `advisor explain` prints."""
    return printed(capsys, "explain", *arguments)


def test_every_value_and_where_it_was_read(given: list[str], capsys: Capture) -> None:
    """Each expression stands with its parts, their values, and where each fact was read."""
    text = explained(["numa-nps-below-best", "--trace", *given], capsys)
    wanted = (
        "FINDING",
        "layout.cut.nodes_per_socket < best = true",
        "layout.cut.nodes_per_socket = 1 [/sys/devices/system]",
        "socket.best = 4 [rules/platforms/rome.yaml]",
        "numa.nps: best = 4",
    )
    assert [word for word in wanted if word not in text] == []


def test_subjects_alike_are_told_once(given: list[str], capsys: Capture) -> None:
    """Of subjects with the same verdict one is explained, the others are named."""
    text = explained(["site-cut", "--trace", *given], capsys)
    assert (text.count("socket 0: PASS"), "same verdict for socket 1" in text) == (1, True)


def test_one_subject(given: list[str], capsys: Capture) -> None:
    """--subject explains the one that it names, and refuses one that there is not."""
    assert "socket 1: PASS" in explained(["site-cut", "--trace", "--subject", "socket 1", *given], capsys)
    assert status(["explain", "site-cut", "--subject", "socket 7", *given]) == 2
    assert "did you mean socket" in capsys.readouterr().err


def test_why_a_rule_passed(given: list[str], capsys: Capture) -> None:
    """--why-not names the operand that decided, and leaves out the one that did not."""
    text = explained(["site-cut", "--why-not", *given], capsys)
    assert ("kernel.swappiness > 1000 = false" in text, "socket.nodes <= most = " in text) == (True, False)


def test_why_a_list_passed(given: list[str], capsys: Capture) -> None:
    """Of a rule over a list it shows each item that was not so, by its name."""
    text = explained(["site-quiet", "--why-not", *given], capsys)
    assert [word for word in ("adapter mlx5_0 = false", "adapter.rate < 1 = false", "adapter.rate = ") if word not in text] == []


def test_why_it_cannot_be_told(given: list[str], capsys: Capture) -> None:
    """Of an unknown verdict it says which fact lacks, why, and what would reveal it."""
    text = " ".join(explained(["site-unknown", "--trace", *given], capsys).split())
    assert [
        word for word in ("UNKNOWN", "cpu.base_hz = unknown", "lacks 1 fact", "-> see the data sheet") if word not in text
    ] == []


def test_why_it_does_not_matter(given: list[str], capsys: Capture) -> None:
    """A rule for other work says for which."""
    assert "not for latency" in explained(["numa-nps-below-best", "--scope", "latency", *given], capsys)


def test_nothing_to_explain(given: list[str], capsys: Capture) -> None:
    """--why-not of a rule that found something for every subject says that."""
    assert "Nothing to explain" in explained(["numa-nps-below-best", "--why-not", *given], capsys)


def test_no_such_rule(given: list[str], capsys: Capture) -> None:
    """A rule that there is not is refused before the machine is read, the nearest named."""
    assert status(["explain", "numa-nps-bellow-best", "--from", "/no/such/file"]) == 2
    assert "did you mean numa-nps-below-best?" in capsys.readouterr().err


def test_json(given: list[str], capsys: Capture) -> None:
    """--json has a schema, the verdicts, and the steps of every expression."""
    data = json.loads(explained(["site-cut", "--json", *given], capsys))
    assert (data["schema"], [each["verdict"] for each in data["answers"]]) == ("advisor-explain/1", ["pass", "pass"])
    assert [part["key"] for part in data["answers"][0]["parts"]] == ["let", "only", "when", "set"]


def test_output_goes_to_a_file(given: list[str], tmp_path: Path, capsys: Capture) -> None:
    """-o writes the explanation and prints nothing."""
    assert explained(["site-cut", "-o", str(tmp_path / "x.txt"), *given], capsys) == ""
    assert "site-cut" in (tmp_path / "x.txt").read_text()


PARTS = (
    *("SEEN", "WHY", "COST", "FIX", "   run", "   then", "   menu", "   name", "CHECK"),
    *("UNDO", "LEAVE IT", "GUIDES", "SOURCES", "MORE"),
)


def test_a_finding_is_one_page_in_the_order_in_which_it_is_asked(given: list[str], capsys: Capture) -> None:
    """What it means, costs, how to fix, check and undo it, when to leave it, guides, sources; no expression of the rule."""
    text = explained(["1", *given], capsys)
    starts = [next((at for at, line in enumerate(text.splitlines()) if line.startswith(f"{part} ")), -1) for part in PARTS]
    assert (starts, -1 in starts) == (sorted(starts), False)
    assert [word for word in (" = true", "let ", "==", "{") if word in text] == []


@pytest.mark.parametrize("width", ["40", "80", "250"])
def test_the_page_of_a_finding_says_what_a_sysadmin_types(width: str, given: list[str], capsys: Capture) -> None:
    """The vendor's line and its undo, the menu, the cost with its source and the command that measures it, at any width."""
    text = " ".join(explained(["1", *given[:-1], width], capsys).replace("\\\n", " ").split())
    wanted = (
        "NPS (NUMA nodes per socket) 1 -> 4; takes effect after a reboot",
        "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4",
        "Processor Settings > NUMA Nodes Per Socket: 4",
        "13 % of STREAM triad, NPS4 against NPS1 on EPYC 7002 with all channels filled, published [dell-rome-2019]",
        "not measured on this machine; measure before and after: advisor measure membw",
        "racadm set BIOS.ProcSettings.NumaNodesPerSocket 1",
        "weka-nps-discussion: NPS1, normally recommended (storage software)",
        "https://www.dell.com/support/kbdoc/en-us/000137696",
    )
    assert [word for word in wanted if word not in text] == []


def test_an_unknown_verdict_says_first_what_would_make_it_known(given: list[str], capsys: Capture) -> None:
    """The way to know it stands below the name, with the fact that it shows."""
    lines = explained(["power-cstates-off", *given], capsys).splitlines()
    first = next(line for line in lines[1:] if not line.startswith(" "))
    assert (lines[0].startswith("NOT KNOWN possibly: C-states are off"), first.startswith("TO KNOW ")) == (True, True)


@pytest.mark.parametrize(("rule", "word"), [("site-cut", "PASS"), ("numa-cod-off", "NOT HERE")])
def test_what_is_well_or_does_not_apply_takes_few_lines(rule: str, word: str, given: list[str], capsys: Capture) -> None:
    """A word, what it rests on, and the way to every value."""
    text = explained([rule, *given], capsys)
    assert (text.startswith(word), len(text.splitlines()) <= 8, "SEEN " in text, "--trace" in text) == (True,) * 4
    assert " == " not in text, "expressions of the rule are for --trace"


def test_what_no_script_writes_is_by_hand_on_the_screen_and_the_page(tmp_path: Path, capsys: Capture) -> None:
    """Guides differ on SMT: the script leaves it out, the audit says that it is to consider, the page what would add it."""
    write_archive("a-r7425-2x7601-dell-smt", tmp_path / "node.tar.gz")
    source = ["--from", str(tmp_path / "node.tar.gz")]
    assert "nothing to write" in printed(capsys, "checklist", "--as", "racadm", *source)
    assert "SMT on -> off, guides differ" in printed(capsys, "audit", *source, "--width", "80")
    page = printed(capsys, "explain", "cpu-smt-on", *source, "--width", "200")
    assert "no script sets this: guides differ (advisor checklist --include contested adds it, marked)" in page
    assert "racadm" not in page.partition("GUIDES")[0].partition("CHECK")[0]


def test_what_is_so_of_two_sockets_is_one_page(tmp_path: Path, capsys: Capture) -> None:
    """The second socket says what differs, its own step, and repeats neither reason nor cost."""
    write_archive("a-r7425-2x7601-dell-2nodesmem", tmp_path / "node.tar.gz")
    page = explained(["memory-channel-empty", "--from", str(tmp_path / "node.tar.gz"), "--width", "120"], capsys)
    also = page.partition("\nALSO      socket 1 has DIMMs on 2 of its 8 memory channels\n")[2].partition("SOURCES")[0]
    fix = "FIX       put identical DIMMs on every empty channel of socket 1 (empty: 6)"
    assert (page.count("\nWHY "), also.startswith(fix)) == (1, True)
    assert len(also.splitlines()) <= 2


def test_a_line_that_root_must_run_says_so_unless_root_asks_on_the_machine(
    given: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another machine nobody knows who will type it."""
    for user in (0, 1000):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        page = explained(["os-numa-balancing-on", *given], capsys)
        assert ("sysctl -w kernel.numa_balancing=0" in page, "note   run it as root\n" in page) == (True, True)
    row = fix_rows(SYSCTL, Planned(), "dell", Asker(root=True))
    assert list(row) == [("fix", "sysctl -w vm.swappiness=10")]
    row = fix_rows(SYSCTL, Planned(), "dell", Asker())
    assert list(row) == [("fix", "as root: sysctl -w vm.swappiness=10")]


def test_who_asks_is_known_from_user_options_and_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's hosts take the place of A,B; not of another machine, and not where the list of them cannot be read."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    here = asker()
    assert (here.root, here.live, here.hosts) == (True, True, ("n1", "n2", "n3"))
    assert here.filled("advisor measure network --hosts A,B --per numa") == "advisor measure network --hosts n1,n2 --per numa"
    assert (asker(("--from", "x")).hosts, asker(("--from", "x")).live) == ((), False)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-")
    assert asker().hosts == ()


def test_a_number_is_that_of_the_screen_whatever_topics_it_shows(given: list[str], capsys: Capture) -> None:
    """A screen of one topic renumbers nothing: explain, which knows no topics, takes the same number."""
    screen = printed(capsys, "audit", "--topic", "os", *given)
    number = re.findall(r"\((\d+)\) vm.swappiness", screen)[0]
    assert int(number) > 1
    assert "vm.swappiness" in explained([number, *given], capsys).splitlines()[0]


def test_the_next_command_sees_the_same(given: list[str], capsys: Capture) -> None:
    """What the screen says to type next names the rules, scope and BIOS that it was given: numbers stay the same."""
    words = " ".join(printed(capsys, "audit", "--scope", "hpl", *given).replace("\\\n", " ").split())
    assert f"advisor checklist --only 1 --as racadm --from {given[1]} --scope hpl --rules {given[3]}" in words


@pytest.mark.parametrize("width", ["40", "80", "120"])
def test_the_list_of_rules_fits_the_terminal(width: str, capsys: Capture) -> None:
    """Every rule with its severity, topic and title, on one line or two; none is wider than asked."""
    lines = printed(capsys, "rules", "list", "--topic", "numa", "--width", width).splitlines()
    text = " ".join(" ".join(lines).split())
    assert [line for line in lines if len(line) > max(int(width), 48)] == []
    assert "numa-nps-below-best" in text
    assert "NUMA nodes per socket (NPS) below the best value for this workload" in text


def test_a_source_that_pages_name_is_explained_by_its_title_its_address_and_what_rests_on_it(capsys: Capture) -> None:
    """Rules, choices of --for and names of settings; no machine is read for it."""
    page = printed(capsys, "explain", "dell-rome-2019", "--width", "110")
    assert "https://www.dell.com/support/kbdoc/en-us/000137696" in page.splitlines()[2]
    assert "--for mpi: cpu.smt = off: off for HPC" in page
    told = json.loads(printed(capsys, "explain", "hpe-emulator-registries", "--json"))
    assert (told["schema"], told["by"], told["rules"], len(told["names"])) == ("advisor-source/1", "HPE", {}, 4)
