"""A rack of a hundred servers, some of them broken, some somebody else's, and advisor killed by -9 at ten places."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.machine.hosts.files import FILE
from tests.bios.admin import WISH
from tests.bios.imitation import Bmc
from tests.bios.rollouts import Site
from tests.bios.wire import Fault, Rack

ROOT = Path(__file__).parents[2]


def _refuses(bmc: Bmc) -> None:
    bmc.faults.append(Fault("forbidden", "PATCH", times=10**6))


FAULTY: tuple[Callable[[Bmc], None], ...] = (
    _refuses,
    lambda bmc: bmc.faults.append(Fault("connect", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("html", "GET", "/Bios", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("garbage", "GET", "/Systems", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("unauthorised", "POST", "Sessions", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("error", "PATCH", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("empty", "GET", "/Bios", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("request line", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("half body", "GET", "/Systems", times=10**6)),
    lambda bmc: bmc.faults.append(Fault("link", "GET", "/Systems", times=10**6, value="http://10.0.0.1/")),
    lambda bmc: bmc.lies.add("drops"),
    lambda bmc: setattr(bmc, "must_change_password", True),
)
"""Twelve ways in which a BMC lets nothing be staged."""


def rack_of(site: Site, many: int) -> dict[str, set[str]]:
    """Put a rack up; return who is what."""
    names = [f"n{number:03}" for number in range(1, many + 1)]
    for name in names:
        site.add(name)
    kinds: dict[str, set[str]] = {"faulty": set(), "strangers": set(names[20:22]), "lost": {names[30]}, "not taken": {names[40]}}
    for name, spoil in zip(names[50 : 50 + len(FAULTY)], FAULTY, strict=True):
        spoil(site.bmcs[name])
        kinds["faulty"].add(name)
    wish = {WISH["lenovo"][0]}
    for name in kinds["strangers"]:
        bmc = site.bmcs[name]
        mine = wish | bmc.oracle.moved(bmc.applied, dict([WISH["lenovo"]])).keys()
        other = next(
            each for each, value in bmc.applied.items() if each not in mine and len(bmc.oracle.legal(each)) > 1 and value
        )
        bmc.pend({other: next(each for each in bmc.oracle.legal(other) if each != bmc.applied[other])})
    site.bmcs[names[30]].lies.add("power lost")
    site.bmcs[names[40]].lies.add("applies nothing")
    return kinds


def put_up(site: Site) -> None:
    """Write the files of nodes, which a restart changes."""
    for name in ("nodes", "queue"):
        (site.folder / name).mkdir()
    for name, bmc in site.bmcs.items():
        place, drained = site.folder / "nodes" / name, site.folder / "queue" / name

        def tell(bmc: Bmc, place: Path = place) -> None:
            place.write_text("" if bmc.power == "Off" else f"boot-{bmc.boots} {bmc.identity}")

        tell(bmc)
        bmc.on_restart = tell
        reset = type(bmc).reset

        def watched(body: Any, bmc: Bmc = bmc, drained: Path = drained, reset: Any = reset) -> Any:
            ours = bmc.pending.keys() - {WISH["lenovo"][0]} - bmc.oracle.moved(bmc.applied, dict([WISH["lenovo"]])).keys()
            if ours or not drained.exists():
                site.wrong.append(f"{drained.name} was restarted, drained {drained.exists()}, with {ours}")
            return reset(bmc, body)

        bmc.reset = watched  # type: ignore[method-assign]


def killed_and_resumed(site: Site, folder: Path, places: list[int]) -> int:
    """Go on in a process that is killed when its journal has so many lines, again and again; return how often it was."""
    kills = 0
    line = [sys.executable, "-m", "tests.bios.rollout_child", str(site.folder)]
    for lines in [*places, 10**9]:
        with subprocess.Popen(line, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
            while process.poll() is None:
                if (folder / FILE).read_bytes().count(b"\n") >= lines:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.01)
    return kills


@pytest.mark.slow
def test_a_hundred_servers_and_ten_kills(rack: Rack, tmp_path: Path) -> None:
    """Restarts are those of our servers that were ready, once each; nothing is twice or lost, and the summary is true."""
    site = Site(tmp_path, rack)
    kinds = rack_of(site, 100)
    put_up(site)
    site.plan()
    folder = site.begin(at_a_time=16, max_failures=20, restart_minutes=1)
    kills = killed_and_resumed(site, folder, [3, 5, 8, 13, 40, 90, 160, 300, 480, 700])
    told = json.loads((tmp_path / "done.json").read_text())
    ends = {each["node"]: each["end"] for each in told["nodes"]}
    special = set().union(*kinds.values())
    good = {name for name in site.bmcs if name not in special}
    restarted = {name for name, bmc in site.bmcs.items() if bmc.resets}
    assert (kills, site.wrong, {len(bmc.resets) for bmc in site.bmcs.values()}) == (10, [], {0, 1})
    assert restarted == good | kinds["lost"] | kinds["not taken"]
    assert {name for name, end in ends.items() if end == "done"} == good
    assert {name for name, end in ends.items() if end == "by hand"} >= kinds["lost"] | kinds["not taken"]
    assert {ends[name] for name in kinds["strangers"]} == {"as before"}
    assert {ends[name] for name in kinds["faulty"]} <= {"as before", "by hand"}
    assert all(site.bmcs[name].applied[WISH["lenovo"][0]] == WISH["lenovo"][1] for name in good)
    assert {path.name for path in (tmp_path / "queue").iterdir()} == kinds["lost"] | kinds["not taken"]
