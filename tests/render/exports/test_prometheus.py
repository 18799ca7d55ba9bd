"""Prometheus text: promtool takes it, and what promtool lets pass and node_exporter does not is held here."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.exports.export import ExportOptions, ExportSubject, built_in
from advisor.exports.formats.prometheus import in_braces
from tests import exports
from tests.conftest import Golden
from tests.examples import examples
from tests.exports import OPTIONS, text_of
from tests.ports import free_port

SUBJECTS = {"machine": exports.machine, "fleet": exports.fleet, "hostile": exports.hostile}


@pytest.mark.parametrize("name", ["machine", "fleet"])
def test_it_prints_as_it_did(name: str, golden: Golden) -> None:
    """The whole file is kept as a golden text."""
    golden(f"{name}.prom", text_of("prometheus", SUBJECTS[name]()))


@pytest.mark.parametrize("name", SUBJECTS)
def test_promtool_finds_nothing(name: str) -> None:
    """Neither an error nor a lint, of hostile names too."""
    assert exports.said(exports.program("promtool"), "check", "metrics", given=text_of("prometheus", SUBJECTS[name]())) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [("# HELP advisor_finding", "# HALP advisor_finding", 3), ("\n# TYPE advisor_verdicts gauge", "\nadvisor{a=} 1", 1)],
)
def test_promtool_is_awake(old: str, new: str, status: int) -> None:
    """It says so where help is missing, and where a line is broken."""
    text = text_of("prometheus", exports.machine()).replace(old, new, 1)
    assert exports.said(exports.program("promtool"), "check", "metrics", given=text)[0] == status


@contextmanager
def scraped(folder: Path) -> Iterator[Callable[[], tuple[str, str]]]:
    """Start node_exporter on a folder of texts; give what asks it: the page, and what it complained of till then."""
    port = free_port()
    only = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}")
    words = [exports.program("prometheus-node-exporter"), *only, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    log = folder / "log"

    def asked() -> tuple[str, str]:
        for _ in range(300):
            with suppress(HTTPError, URLError, ConnectionError), urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as page:
                return page.read().decode(), log.read_text()
            if "error gathering" in log.read_text():
                return "", log.read_text()
            sleep(0.1)
        return "", log.read_text()

    with log.open("w") as said:
        running = subprocess.Popen(words, stdout=said, stderr=said)
        try:
            yield asked
        finally:
            running.kill()
            running.wait()


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_node_exporter_serves_every_sample(name: str, tmp_path: Path) -> None:
    """As many samples as the file has, and no complaint; a sample twice and a timestamp it complains of."""
    file, text = tmp_path / "advisor.prom", text_of("prometheus", SUBJECTS[name]())
    file.write_text(text)
    with scraped(tmp_path) as ask:
        page, complaint = ask()
        own = [line for line in page.splitlines() if line.startswith("advisor_")]
        assert (len(own), "node_textfile_scrape_error 0" in page, complaint) == (len(samples(text)), True, "")
        line = next(line for line in text.splitlines() if not line.startswith("#"))
        file.write_text(f"{text}{line} 1763789000000\n")
        page, complaint = ask()
        assert ("node_textfile_scrape_error 1" in page, "client-side timestamps, skipping entire file" in complaint) == (
            True,
            True,
        )
        file.write_text(f"{text}{line}\n")
        assert "was collected before with the same name and label values" in ask()[1] + ask()[1]


def samples(text: str) -> list[str]:
    """Return what stands before the value of each sample."""
    return [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_sample_is_there_twice(name: str) -> None:
    """Promtool lets it pass, and node_exporter complains of it at every scrape."""
    found = samples(text_of("prometheus", SUBJECTS[name]()))
    assert sorted(set(found)) == sorted(found)


def test_a_finding_that_is_there_twice_is_one_sample() -> None:
    """The hostile audit gives several findings of a rule the same object: each label set stands once."""
    found = samples(text_of("prometheus", exports.hostile()))
    assert sum("numa-nps-below-best" in each for each in found) == 1


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_sample_has_a_timestamp_and_the_file_ends_with_a_newline(name: str) -> None:
    """node_exporter drops a file with a timestamp, and one whose last line does not end."""
    text = text_of("prometheus", SUBJECTS[name]())
    after = [re.sub(r"^\w+(\{.*\})? ", "", line) for line in text.splitlines() if not line.startswith("#")]
    assert ([each for each in after if not re.fullmatch(r"[0-9.e+-]+", each)], text.endswith("\n")) == ([], True)


@examples(300)
@given(st.text(max_size=40))
def test_a_label_reads_back_as_it_was(text: str) -> None:
    """With the three escapes of the format undone; no other letter is escaped."""
    line = in_braces((("object", text),))
    escapes = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
    value = re.sub(r"\\.", lambda each: escapes[each[0]], line.removeprefix('{object="').removesuffix('"}'))
    assert (value, "\n" in line) == (text, False)


def test_a_finding_is_a_series_and_a_fact_is_none() -> None:
    """As many series of findings as there are findings, and few of anything else."""
    subject = exports.machine()
    found = samples(text_of("prometheus", subject))
    own = [each for each in found if each.startswith("advisor_finding{")]
    assert subject.audit is not None
    assert (len(own), len(found) - len(own) < 40) == (len(subject.audit.found), True)


def test_what_is_not_known_is_no_sample() -> None:
    """Without measurements and without a time there is neither."""
    bare = ExportSubject(exports.machine().machine, None, exports.machine().audit)
    text = text_of("prometheus", bare)
    assert [word for word in ("bandwidth", "timestamp", "partitioning") if word in text] == []


def test_names_begin_with_the_prefix() -> None:
    """--prefix site gives site_finding in a file site.prom."""
    text = text_of("prometheus", exports.machine(), ExportOptions("1", 0.0, "site"))
    assert {line.split("_")[0] for line in samples(text)} == {"site"}


def test_the_rules_hold_what_their_tests_say(tmp_path: Path) -> None:
    """Promtool checks the rules and runs our tests of them: each alert fires where it should, and not before."""
    tool = exports.program("promtool")
    options = ExportOptions("1", 0.0, include=frozenset({"tests"}))
    for name, text in built_in()["prometheus-rules"].files(ExportSubject(), options).items():
        (tmp_path / name).write_text(text)
    rules, tests = tmp_path / "advisor-rules.yml", tmp_path / "advisor-rules-test.yml"
    status, checked = exports.said(tool, "check", "rules", rules)
    assert (status, "SUCCESS: 7 rules found" in checked) == (0, True)
    status, tried = exports.said(tool, "test", "rules", tests)
    assert (status, tried.split()[-1]) == (0, "SUCCESS"), tried
    rules.write_text(rules.read_text().replace('severity="high"', 'severity="low"'))
    assert exports.said(tool, "test", "rules", tests)[0] == 1


def test_every_alert_has_a_test_and_asks_for_metrics_that_are_written() -> None:
    """An alert on a name that nothing exports would never fire."""
    options = ExportOptions("1", 0.0, include=frozenset({"tests"}))
    rules, tests = built_in()["prometheus-rules"].files(ExportSubject(), options).values()
    alerts = set(re.findall(r"alert: (\w+)", rules))
    asked = set(re.findall(r"advisor_\w+", " ".join(re.findall(r"expr: (.*)", rules))))
    written = {
        each.partition("{")[0] for name in ("machine", "fleet") for each in samples(text_of("prometheus", SUBJECTS[name]()))
    }
    assert (alerts - set(re.findall(r"alertname: (\w+)", tests)), asked - written) == (set(), set())


def test_the_rules_print_as_they_did(golden: Golden) -> None:
    """The rules for a site's own prefix."""
    golden("site-rules.yml", text_of("prometheus-rules", ExportSubject(), ExportOptions(OPTIONS.version, 0.0, "site_a")))
