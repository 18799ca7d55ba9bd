"""What is written from one golden file is taken by the programs it is for, where they are: Prometheus, Slurm, Ansible, NHC.

The fleet is one of the wild, with a node to drain and one to watch. Grafana is in no package registry: its dashboard's queries
are put to the Prometheus that has scraped the fleet.
"""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from advisor.cli.main import status
from advisor.exports.export import export
from advisor.fleet.golden import golden_in
from tests import exports
from tests.fakenode import slurmctld
from tests.fleet.wild import FAULTS, Wild, wild
from tests.ports import free_port
from tests.render.exports.test_nhc_itself import ran, run

pytestmark = pytest.mark.slow
WRONG = ("cpus offline", "kernel")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Wild]:
    """Return a golden file, and the fleet of which it is."""
    folder = tmp_path_factory.mktemp("site")
    made = wild(folder / "fleet", 24, faults=tuple(each for each in FAULTS if each.name in WRONG), damaged=False)
    assert status(["fleet", "golden", "save", str(made.folder), "-o", str(folder / "golden.yaml")]) == 0
    return folder / "golden.yaml", made


@contextmanager
def prometheus(folder: Path) -> Iterator[Callable[..., Any]]:
    """Start a Prometheus that scrapes what a web server has of a folder; give what asks its interface."""
    program = exports.program("prometheus")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    address = f"127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    jobs = [{"job_name": "fleet", "metrics_path": "/advisor.prom", "static_configs": [{"targets": [address]}]}]
    often = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    conf = {"global": often, "rule_files": ["advisor-rules.yml"], "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(json.dumps(conf))
    words = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("w") as log:
        running = subprocess.Popen([*words, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)

    def asked(what: str, **values: str) -> Any:
        with urlopen(f"http://127.0.0.1:{port}/api/v1/{what}?{urlencode(values)}", timeout=20) as answer:
            return json.load(answer)["data"]

    try:
        for _ in range(300):
            try:
                if asked("query", query="advisor_finding")["result"]:
                    break
            except OSError:
                assert running.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)
        yield asked
    finally:
        running.kill()
        running.wait()
        server.shutdown()
        server.server_close()


def test_a_real_prometheus_scrapes_it_alerts_and_answers_the_dashboard(site: tuple[Path, Wild], tmp_path: Path) -> None:
    """A series for each node and incident; an alert with the node's name; every query of Grafana's panels finds something."""
    golden, made = site
    for name, source in (("prometheus", made.folder), ("prometheus-rules", golden)):
        (tmp_path / ("advisor.prom" if name == "prometheus" else "advisor-rules.yml")).write_text(export(name, str(source)).text)
    assert exports.said(exports.program("promtool"), "check", "rules", tmp_path / "advisor-rules.yml")[0] == 0
    (offline,), (kernel,) = (made.faults[name] for name in WRONG)
    with prometheus(tmp_path) as ask:
        found = {(each["metric"]["node"], each["metric"]["action"]) for each in ask("query", query="advisor_finding")["result"]}
        assert {(offline, "drain"), (kernel, "watch")} <= found
        for _ in range(100):
            alerts = {(each["labels"]["alertname"], each["labels"].get("node")) for each in ask("alerts")["alerts"]}
            if ("AdvisorFinding", offline) in alerts:
                break
            time.sleep(0.2)
        assert ("AdvisorFinding", offline) in alerts
        assert {each["health"] for group in ask("rules")["groups"] for each in group["rules"]} == {"ok"}
        empty = []
        for panel in json.loads(export("grafana").text)["panels"]:
            for target in panel["targets"]:
                query = target["expr"].replace("$node", ".*").replace("$kind", ".*")
                if not ask("query", query=query)["result"]:
                    empty.append(panel["title"])
        assert empty == []


@pytest.mark.skipif(not slurmctld.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client), or not root")
def test_slurmctld_takes_the_lines_of_nodes_and_knows_each_kind(site: tuple[Path, Wild]) -> None:
    """Both kinds, with their CPUs and GPUs, and nothing to complain of; no node has the CPUs of the one that lost two."""
    golden, made = site
    lines = export("slurm", str(golden)).files
    conf, gres = (next(text for name, text in lines.items() if part in name) for part in ("nodes", "gres"))
    shown = slurmctld.shown(conf, gres)
    cpus = {each["NodeName"]: (int(each["CPUTot"]), each["Gres"]) for each in shown.nodes}
    wanted = {name: (32, "gpu:4") if name in made.kinds["acc"] else (112, "(null)") for name in cpus}
    assert (len(cpus), {name: (count, re.sub(r":[a-z]\w*:", ":", gres)) for name, (count, gres) in cpus.items()}) == (24, wanted)
    assert [line for line in shown.logs.splitlines() if re.search(r"fatal|error.*(NodeName|gres|CPUs|RealMemory)", line)] == []


def test_ansible_has_the_nodes_by_action(site: tuple[Path, Wild], tmp_path: Path) -> None:
    """Who is to be drained is a group, as are the kinds that the golden file names."""
    golden, made = site
    file = tmp_path / "inventory.sh"
    file.write_text(export("ansible", str(made.folder)).text)
    file.chmod(0o755)
    words = (exports.program("ansible-inventory"), "-i", file, "--list")
    ended, told = exports.said(*words, HOME=str(tmp_path), ANSIBLE_NOCOLOR="1")
    groups = {name: each["hosts"] for name, each in json.loads(told).items() if name.startswith("advisor_")}
    kinds = {name for name in groups if name.startswith("advisor_kind_")}
    named = {f"advisor_kind_{name.replace('-', '_')}" for name in golden_in(golden).kinds}
    assert (ended, groups["advisor_action_drain"], kinds) == (0, made.faults["cpus offline"], named)


def test_nhc_runs_the_checks_of_the_kind_that_a_node_is_of(site: tuple[Path, Wild], tmp_path: Path) -> None:
    """Its own driver, under the name of a node of each kind: the checks of that kind and of no other; of a stranger none."""
    golden, made = site
    text = export("nhc", str(golden)).text
    counts = {}
    for name in (made.kinds["acc"][0], made.kinds["std"][0], "other01"):
        told = run(tmp_path, text, name)[1]
        counts[name] = [check for check in ran(told) if check.startswith("check_hw_cpuinfo")]
    assert list(counts.values()) == [["check_hw_cpuinfo 2 32 32"], ["check_hw_cpuinfo 2 112 112"], []]
