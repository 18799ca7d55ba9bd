"""What is exported: this machine, a capture, a saved audit as it was, a fleet's folder."""

import gzip
import json
from pathlib import Path

import pytest

from advisor.advice.audit import audit
from advisor.errors import BadInput, BadValue
from advisor.exports import export as exports
from advisor.exports.export import built_in, export, formats, is_fleet, read_at, saved_audit, usual_node
from advisor.fleet.fold import OWN_NAME
from tests.fleet.planted import shape
from tests.machines.catalogue import write_archive

NODE = "b-c6525-2x7702-nps1"
ABOUT = b"advisor: 1.0\ntime: 2026-01-31T06:10:00Z\n"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a capture."""
    place = tmp_path_factory.mktemp("export") / "node.tar.gz"
    write_archive(NODE, place)
    return str(place)


@pytest.fixture(scope="module")
def saved(node: str) -> str:
    """Return an audit of it, saved for HPL."""
    place = Path(node).with_name("audit.json")
    place.write_text(json.dumps(audit(node, "hpl").document()))
    return str(place)


@pytest.fixture(scope="module")
def fleet(node: str) -> str:
    """Return a fleet's folder with two nodes of a kind."""
    place = Path(node).with_name("fleet")
    place.mkdir()
    for name in ("n001", "n002"):
        (place / f"{name}.tar.gz").write_bytes(Path(node).read_bytes())
    return str(place)


def test_a_saved_audit_is_exported_as_it_was(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own scope and findings: nothing is judged again."""
    monkeypatch.setattr("advisor.advice.audit.audit", None)
    found = json.loads(export("ansible", saved).text)
    assert (found["scope"], found["findings"]["high"]) == ("hpl", ["numa-nps-below-best"])


def test_a_saved_audit_is_judged_again_where_that_is_asked(saved: str) -> None:
    """Another scope is another audit."""
    assert json.loads(export("ansible", saved, "latency").text)["scope"] == "latency"


def test_what_a_saved_audit_holds_is_what_the_audit_says(node: str, saved: str) -> None:
    """Every verdict and every setting."""
    kept, fresh = saved_audit(saved), audit(node, "hpl").audit
    assert kept is not None
    order = sorted(kept.findings, key=repr), sorted(fresh.findings, key=repr)
    assert (order[0], kept.settings, kept.platform) == (order[1], fresh.settings, fresh.platform)


def test_an_audit_saved_by_an_older_version_is_read_back(saved: str, tmp_path: Path) -> None:
    """The findings of version 1 were all verdicts."""
    data = json.loads(Path(saved).read_text())
    data |= {"schema": "advisor-audit/1", "findings": data.pop("verdicts")}
    del data["totals"]
    (tmp_path / "old.json").write_text(json.dumps(data))
    assert saved_audit(str(tmp_path / "old.json")) == saved_audit(saved)


def test_a_damaged_audit_is_refused_in_one_line(saved: str, tmp_path: Path) -> None:
    """A verdict that is none."""
    file = tmp_path / "audit.json"
    file.write_text(Path(saved).read_text().replace('"verdict": "pass"', '"verdict": "passed"', 1))
    with pytest.raises(
        BadInput, match=r"^\S+audit.json: not an audit that this version of advisor can read; write it again with advisor audit"
    ):
        export("junit", str(file))


def test_a_fleet_is_exported_with_a_machine_of_each_kind(fleet: str) -> None:
    """NHC's checks of two nodes, by the machine of one."""
    assert (is_fleet(Path(fleet)), "{n[001-002]} || check_hw_cpuinfo 2 128 128" in export("nhc", fleet).text) == (True, True)


@pytest.mark.parametrize(("odd", "wanted"), [((), "n1"), (("n1",), "n2"), (("n1", "n2", "n3"), "n1"), (("x", "n2"), "n1")])
def test_a_kind_is_told_by_a_node_that_is_like_the_rest(odd: tuple[str, ...], wanted: str) -> None:
    """Not by one that drifted, that has what few have, or that is slow."""
    assert usual_node("n[1-3]", odd) == wanted


@pytest.mark.parametrize(
    ("name", "place", "said"), [("junit", "fleet", "junit cannot be made from a fleet; name one node's capture")]
)
def test_what_a_format_is_not_made_of_is_refused(name: str, place: str, said: str, request: pytest.FixtureRequest) -> None:
    """With what to name instead."""
    with pytest.raises(BadValue, match=said):
        export(name, request.getfixturevalue(place))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "prometeus"}, "there is no export prometeus; did you mean prometheus?"),
        ({"name": "junit", "include": ["tests"]}, "there is no --include value tests; junit has none"),
        ({"name": "prometheus-rules", "include": ["test"]}, "there is no --include value test; did you mean tests?"),
        (
            {"name": "junit", "prefix": "9 lives"},
            "--prefix '9 lives' is not a valid prefix; use lower-case letters, digits and _: advisor, site_a",
        ),
    ],
)
def test_a_word_that_is_none_is_refused_before_a_machine_is_read(given: dict[str, str], said: str) -> None:
    """With the one that was meant."""
    with pytest.raises(BadValue) as caught:
        export(**given, source="/nowhere")  # type: ignore[arg-type]
    assert str(caught.value) == said


def test_rules_are_made_of_nothing() -> None:
    """No machine is read for them."""
    assert export("prometheus-rules").text.startswith("# Alerts on the metrics")
    with pytest.raises(BadValue, match="prometheus-rules cannot be made from a machine; leave out --from, or"):
        export("prometheus-rules", "/nowhere")


def test_several_files_need_a_folder() -> None:
    """Nothing is printed where one file could not be told from the next."""
    with pytest.raises(BadValue, match=r"prometheus-rules is 2 files: advisor-rules.yml, advisor-rules-test.yml; name a folder"):
        _ = export("prometheus-rules", include=["tests"]).text


@pytest.mark.parametrize("name", [name for name, each in built_in().items() if "machine" in each.takes and name != "reframe"])
def test_no_export_holds_what_names_the_hardware(name: str, node: str) -> None:
    """Neither hardware addresses nor UUIDs or GUIDs; serial numbers no Machine has."""
    assert OWN_NAME.search("".join(export(name, node).files.values())) is None


def test_the_time_is_that_of_the_capture(node: str, saved: str, tmp_path: Path) -> None:
    """As the capture says; of a JSON when it was written; where nothing says it nobody knows."""
    (tmp_path / "told.tar.gz").write_bytes(gzip.compress(shape("haswell").copy({"advisor-capture/about": ABOUT}), 1, mtime=0))
    places = (str(tmp_path / "told.tar.gz"), saved, node, str(tmp_path))
    assert [read_at(place) for place in places] == [1769839800.0, Path(saved).stat().st_mtime, None, None]


def test_a_program_is_written_as_one(fleet: str, tmp_path: Path) -> None:
    """An inventory can be started; facts cannot, for Ansible would start them."""
    paths = (*export("ansible", fleet).write(tmp_path / "i.sh"), *export("ansible", f"{fleet}/n001.tar.gz").write(tmp_path))
    assert [(Path(path).name, Path(path).stat().st_mode & 0o111 != 0) for path in paths] == [
        ("i.sh", True),
        ("advisor.fact", False),
    ]


def test_a_site_s_template_is_a_format_and_takes_no_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str
) -> None:
    """Of the folder export among its templates."""
    (tmp_path / "export").mkdir()
    for name in ("site", "junit"):
        (tmp_path / "export" / f"{name}.j2").write_text("{#- the name -#}\n{{ machine.name }}\n")
    monkeypatch.setattr("advisor.machine.jinja.TEMPLATES", (tmp_path,))
    assert (export("site", node).text, formats()["junit"] is built_in()["junit"]) == ("c6525\n", True)
    assert exports.export_format("site").proven == "your own template"
