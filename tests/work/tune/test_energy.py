"""Energy of runs: made counters of powercap and hwmon, that turn over, that nobody may read; a race for joules."""

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.placement import JobShape
from advisor.jobs.racing import energy, race
from advisor.jobs.racing.energy import Counter, EnergyMeter, Goal, counters
from advisor.jobs.racing.lines import Asked, RaceField, RaceLine, lines_of
from advisor.jobs.racing.race import Limits, Metric, Raced, learned, metric_of, race_lines, replayed, run_line, tuned
from advisor.jobs.racing.result import race_page
from advisor.jobs.started.hosts import Allocated, JobHosts
from advisor.machine.hosts.base import Reading, Why
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Machine
from advisor.show.lines import text_of

RAPL, HWMON = "/sys/class/powercap", "/sys/class/hwmon"
TWO_PACKAGES = {
    f"{RAPL}/intel-rapl:0/name": "package-0\n",
    f"{RAPL}/intel-rapl:0/energy_uj": "5000000\n",
    f"{RAPL}/intel-rapl:0/max_energy_range_uj": "6000000\n",
    f"{RAPL}/intel-rapl:0:0/name": "core\n",
    f"{RAPL}/intel-rapl:0:0/energy_uj": "1\n",
    f"{RAPL}/intel-rapl:0:1/name": "dram\n",
    f"{RAPL}/intel-rapl:0:1/energy_uj": "7\n",
    f"{RAPL}/intel-rapl:0:1/max_energy_range_uj": "65712999613\n",
    f"{RAPL}/intel-rapl:1/name": "psys\n",
    f"{RAPL}/intel-rapl:1/energy_uj": "9\n",
    f"{RAPL}/intel-rapl/enabled": "1\n",
    f"{RAPL}/dtpm/name": "dtpm\n",
}


class Sysfs(LiveHost):
    """This machine with a /sys/class of its own: a folder below another."""

    def __init__(self, root: Path, files: Mapping[str, str], shut: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.root, self.shut = root, shut
        for path, text in files.items():
            (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            (root / path[1:]).write_text(text)

    def read(self, path: str) -> Reading:
        """Return what a file of the folder holds; what is shut is refused, as root of a test is refused nothing."""
        return Reading(why=Why.REFUSED) if path in self.shut else super().read(str(self.root / path[1:]))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder of the folder."""
        return super().list(str(self.root / path[1:]))


def test_packages_and_dram_count_and_nothing_twice(tmp_path: Path) -> None:
    """Cores are part of their package, and psys is everything again."""
    assert counters(Sysfs(tmp_path, TWO_PACKAGES)) == (
        Counter(f"{RAPL}/intel-rapl:0/energy_uj", 6e6),
        Counter(f"{RAPL}/intel-rapl:0:1/energy_uj", 65712999613.0),
    )


def test_a_counter_that_turns_over_goes_on(tmp_path: Path) -> None:
    """From 5 J to 0.5 J of 6 J are 1.5 J, to which the DRAM's 2 J come."""
    host = Sysfs(tmp_path, TWO_PACKAGES)

    def work() -> str:
        (tmp_path / f"{RAPL}/intel-rapl:0/energy_uj"[1:]).write_text("500000\n")
        (tmp_path / f"{RAPL}/intel-rapl:0:1/energy_uj"[1:]).write_text("2000007\n")
        return "done"

    done, joules = EnergyMeter(host).measure(work)
    assert (done, joules and round(joules, 6)) == ("done", 3.5)


def test_a_long_run_is_followed_through_every_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the ends alone would show 4 J of a counter of 6 J, four looks show 16 J."""
    monkeypatch.setattr(energy, "_PERIOD", 0.0)
    host = Sysfs(tmp_path, {f"{RAPL}/intel-rapl:0/{name}": text for name, text in package("0").items()})
    seen = iter([0, 4_000_000, 2_000_000, 0, 4_000_000, 2_000_000])
    monkeypatch.setattr(energy, "read_counters", lambda *_: [float(next(seen, 2_000_000))])
    meter = EnergyMeter(host)
    assert meter.measure(lambda: time.sleep(0.3))[1] == pytest.approx(16)


def package(value: str, turns: str = "6000000") -> dict[str, str]:
    """Return the files of a package by name."""
    return {"name": "package-0\n", "energy_uj": f"{value}\n", "max_energy_range_uj": f"{turns}\n"}


def test_a_counter_that_falls_silent_gives_no_figure(tmp_path: Path) -> None:
    """No energy is better than half of it; and a counter without a range that went back is none either."""
    host = Sysfs(tmp_path, TWO_PACKAGES)
    meter = EnergyMeter(host)
    assert meter.measure((tmp_path / f"{RAPL}/intel-rapl:0:1/energy_uj"[1:]).unlink)[1] is None
    alone = Sysfs(tmp_path / "b", {f"{RAPL}/intel-rapl:0/name": "package-0", f"{RAPL}/intel-rapl:0/energy_uj": "5"})
    file = tmp_path / "b" / f"{RAPL}/intel-rapl:0/energy_uj"[1:]
    assert EnergyMeter(alone).measure(lambda: file.write_text("4"))[1] is None


def test_what_a_whole_node_takes_is_counted_and_said(tmp_path: Path) -> None:
    """The joules of a Cray EX node come before its processors'; the BMC's mean power is the last that is asked; a note tells."""
    cray = Sysfs(tmp_path / "a", {**TWO_PACKAGES, "/sys/cray/pm_counters/energy": "4242 J 1700000000000000 us\n"})
    meter = EnergyMeter(cray)
    file = tmp_path / "a/sys/cray/pm_counters/energy"
    assert meter.measure(lambda: file.write_text("4300 J 1700000001000000 us\n"))[1] == 58
    assert meter.counts == "joules cover the whole node: /sys/cray/pm_counters/energy"
    mean = {f"{HWMON}/hwmon2/name": "power_meter\n", f"{HWMON}/hwmon2/power1_average": "350000000\n"}
    assert EnergyMeter(Sysfs(tmp_path / "b", {**TWO_PACKAGES, **mean})).counts.startswith("joules cover the processors: ")
    assert [each.of for each in counters(Sysfs(tmp_path / "c", mean))] == ["whole node"]


def test_amds_drivers_are_read_where_powercap_is_shut(tmp_path: Path) -> None:
    """amd_energy counts sockets; without it the sockets' power is followed: 100 W for as long as it takes."""
    rapl = {f"{RAPL}/intel-rapl:0/{name}": text for name, text in package("5").items()}
    power = {f"{HWMON}/hwmon3/name": "amd_hsmp_hwmon\n", f"{HWMON}/hwmon3/power1_input": "100000000\n"}
    shut = frozenset({f"{RAPL}/intel-rapl:0/energy_uj"})
    host = Sysfs(tmp_path, {**rapl, **power}, shut)
    assert counters(host) == (Counter(f"{HWMON}/hwmon3/power1_input", None),)
    joules = EnergyMeter(host).measure(lambda: time.sleep(0.2))[1]
    assert joules is not None
    assert 20 <= joules < 100 * 60
    energies = {
        f"{HWMON}/hwmon1/name": "amd_energy\n",
        **{f"{HWMON}/hwmon1/energy{at}_label": f"E{name}\n" for at, name in ((1, "core000"), (65, "socket0"))},
        **{f"{HWMON}/hwmon1/energy{at}_input": "7\n" for at in (1, 65)},
    }
    found = counters(Sysfs(tmp_path, energies, shut))
    assert [each.path for each in found] == [f"{HWMON}/hwmon1/energy65_input"]


def test_where_nothing_can_be_read_it_says_what_would(tmp_path: Path) -> None:
    """Files that only root reads are named with the command that opens them, a machine without any with the driver."""
    shut = frozenset({f"{RAPL}/intel-rapl:0/energy_uj"})
    with pytest.raises(CannotWork, match=r"intel-rapl:0/energy_uj: permission denied; run as root, or let a group .*sudo chgrp"):
        counters(Sysfs(tmp_path, TWO_PACKAGES, shut))
    with pytest.raises(CannotWork, match=r"no package in /sys/class/powercap.*sudo modprobe intel_rapl_msr"):
        counters(Sysfs(tmp_path / "none", {}))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sysfs:
    """Return a host with one package whose counter is a file that programs may write."""
    files = {f"{RAPL}/intel-rapl:0/{name}": text for name, text in package("1000000", "50000000").items()}
    made = Sysfs(tmp_path / "sys", files)
    monkeypatch.setattr(race, "LiveHost", lambda: made)
    return made


def burning(host: Sysfs, name: str, joules: int, seconds: float) -> RaceLine:
    """Return a line that takes so many joules and so long; the counter turns over at 50 J."""
    file = host.root / f"{RAPL}/intel-rapl:0/energy_uj"[1:]
    words = f"sleep {seconds}; read old < {file}; echo $(( (old + {joules}000000) % 50000000 )) > {file}"
    return RaceLine(name, ("env",), ("sh", "-c", words), {}, JobShape(ranks=1))


@pytest.mark.parametrize(("goal", "figure"), [("energy", 12.0), ("edp", None)])
def test_a_run_has_its_joules_or_joules_times_seconds(host: Sysfs, goal: Goal, figure: float | None) -> None:
    """The time is known beside."""
    outcome = run_line(burning(host, "it", 12, 0.05), metric_of(None, None, None, goal), 30)
    assert (outcome.joules, outcome.figure) == (12.0, figure or 12.0 * outcome.seconds)


def race_for(host: Sysfs, goal: Goal, folder: Path) -> Raced:
    """Return a race of three lines: a quick one that takes much, a slow one that takes little, one that is worse in both."""
    lines = (burning(host, "yours", 20, 0.02), burning(host, "quick", 20, 0.0), burning(host, "lean", 9, 0.04))
    entries = RaceField(lines, JobHosts(Allocated(), (Machine(),)))
    metric = metric_of(None, None, None, goal)
    asked = Asked(("mpirun", "./app"), goal=goal).document()
    return race_lines(entries, metric, Limits(seed=3, runs=40, busy_ok=True), folder, asked=asked, resume=False)


def test_a_race_for_energy_names_the_lean_line_and_shows_both(host: Sysfs, tmp_path: Path) -> None:
    """The slowest line wins where joules count; seconds and joules are beside each other, the front is marked."""
    raced = race_for(host, "energy", tmp_path / "race")
    page = tuned(raced, tmp_path / "race").page
    text = [text_of(line) for line in race_page(page).lines(120)]
    assert (page.result.winner, page.result.goal, page.unit) == ("lean", "energy", "J")
    assert text[0].startswith("lean takes less energy than yours: 55 % less, at least")
    front = {line.split()[0]: line.endswith("front") for line in text[text.index("") + 1 :] if line.startswith(("yours", "lean"))}
    assert front["lean"]
    found = {each.name: each.joules for each in page.result.candidates}
    assert (found["yours"], found["lean"]) == (20.0, 9.0)
    proven = learned(raced)
    assert proven is not None
    assert proven.goal == "energy"
    again = tuned(replayed(tmp_path / "race"), tmp_path / "race").page
    assert (again.result.winner, again.result.goal, again.result.candidates) == ("lean", "energy", page.result.candidates)


def test_a_metric_and_energy_are_two_figures() -> None:
    """One race compares one figure."""
    with pytest.raises(BadValue, match="--for energy and --metric both define the figure"):
        metric_of("x", None, "low", "energy")


def test_energy_is_of_this_node_alone() -> None:
    """Lines on other nodes are refused before anything runs."""
    with pytest.raises(CannotWork, match=r"this node's counters, but the job runs on n1, n2"):
        lines_of(Asked(("mpirun", "-n", "2", "./app"), hosts="n1,n2", ranks=2, goal="energy"))


def test_a_journal_of_an_unknown_goal_is_damaged(host: Sysfs, tmp_path: Path) -> None:
    """What a journal says is not believed."""
    race_for(host, "energy", tmp_path / "race")
    file = tmp_path / "race" / "journal.jsonl"
    file.write_text(file.read_text().replace('"goal": "energy"', '"goal": "peace"').replace('"goal":"energy"', '"goal":"peace"'))
    with pytest.raises(BadInput, match="damaged"):
        replayed(tmp_path / "race")
    assert Metric().is_time
