"""Kernel settings that race: a made sysfs whose files a race writes, and finds changed, refused, or left by a killed race."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork
from advisor.jobs.racing import race
from advisor.jobs.racing.kernel import BEFORE, KernelChange, KernelRace, change_of
from advisor.jobs.racing.lines import Asked, RaceField, RaceLine, lines_of
from advisor.jobs.racing.race import Limits, Metric, Raced, kept_race, learned, metric_of, race_lines, tuned
from advisor.jobs.racing.result import race_page
from advisor.jobs.started.hosts import Allocated, JobHosts
from advisor.machine.hosts.base import Reading
from advisor.machine.hosts.settings import KernelHost
from advisor.machine.machine import Machine
from advisor.show.lines import text_of

CPU, RAPL, THP = "/sys/devices/system/cpu/cpu{}/cpufreq/{}", "/sys/class/powercap", "/sys/kernel/mm/transparent_hugepage/enabled"
FILES = {
    **{CPU.format(cpu, "scaling_governor"): "performance\n" for cpu in (0, 1, 10)},
    **{CPU.format(cpu, "energy_performance_preference"): "performance\n" for cpu in (0, 1, 10)},
    **{CPU.format(cpu, "scaling_max_freq"): "3400000\n" for cpu in (0, 1, 10)},
    f"{RAPL}/intel-rapl:0/name": "package-0\n",
    f"{RAPL}/intel-rapl:0/energy_uj": "1000000\n",
    f"{RAPL}/intel-rapl:0/max_energy_range_uj": "50000000\n",
    f"{RAPL}/intel-rapl:0/constraint_0_power_limit_uw": "200000000\n",
    f"{RAPL}/intel-rapl:0/constraint_0_max_power_uw": "205000000\n",
    f"{RAPL}/intel-rapl:0:0/name": "core\n",
    f"{RAPL}/intel-rapl:0:0/constraint_0_power_limit_uw": "0\n",
    f"{RAPL}/intel-rapl:1/name": "psys\n",
    f"{RAPL}/intel-rapl:1/constraint_0_power_limit_uw": "900000000\n",
    THP: "always [madvise] never\n",
    "/proc/sys/kernel/random/boot_id": "11111111-2222-3333-4444-555555555555\n",
}
POWERSAVE = "os.governor=powersave"


class Kernel(KernelHost):
    """This machine with a made /sys: a governor that moves the preference, files that refuse what they do not know."""

    refuses: tuple[str, ...] = ("userspace",)
    shut: tuple[str, ...] = ()

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        for path, text in FILES.items():
            self.file(path).parent.mkdir(parents=True, exist_ok=True)
            self.file(path).write_text(text)

    def file(self, path: str) -> Path:
        """Return where a file of the kernel is kept."""
        return self.root / path[1:]

    def read(self, path: str) -> Reading:
        """Return what a file holds."""
        return super().read(str(self.file(path)))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        return super().list(str(self.file(path)))

    def may_write(self, path: str) -> bool:
        """Return whether a file is open to this user."""
        return path not in self.shut

    def write(self, path: str, text: str) -> str | None:
        """Write as the kernel does: a choice in brackets, the preference with the governor."""
        if text in self.refuses:
            return "invalid argument"
        self.file(path).write_text(
            f"{text}\n" if path != THP else FILES[THP].replace("[madvise]", "madvise").replace(text, f"[{text}]")
        )
        if path.endswith("scaling_governor"):
            preference = "performance" if text == "performance" else "balance_power"
            self.file(path.replace("scaling_governor", "energy_performance_preference")).write_text(f"{preference}\n")
        return None

    def holds(self) -> dict[str, str]:
        """Return what all files hold that do not count energy."""
        return {path: self.file(path).read_text() for path in FILES if not path.endswith("energy_uj")}


HELD = {path: text for path, text in FILES.items() if not path.endswith("energy_uj")}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Return a machine whose kernel files are made."""
    made = Kernel(tmp_path / "sys")
    monkeypatch.setattr(race, "LiveHost", lambda: made)
    monkeypatch.setattr(race, "KernelHost", lambda: made)
    return made


def change(text: str) -> KernelChange:
    """Return a setting that is asked for."""
    found = change_of(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "path", "held"),
    [
        (POWERSAVE, CPU.format(10, "scaling_governor"), "powersave"),
        ("os.epp=balance_power", CPU.format(1, "energy_performance_preference"), "balance_power"),
        ("os.clock_limit=2400", CPU.format(0, "scaling_max_freq"), "2400000"),
        ("os.power_cap=150", f"{RAPL}/intel-rapl:0/constraint_0_power_limit_uw", "150000000"),
        ("os.thp=never", THP, "always madvise [never]"),
    ],
)
def test_a_setting_is_in_effect_for_its_runs_alone(kernel: Kernel, tmp_path: Path, text: str, path: str, held: str) -> None:
    """It is written to every file that takes it, not to the cores' or the platform's, and all files are as before at the end."""
    made = KernelRace(kernel, tmp_path, [change(text)])
    with made.kept():
        assert (made.set(change(text)), kernel.file(path).read_text().strip(), made.astray()) == (None, held, None)
        others = {f"{RAPL}/intel-rapl:{zone}/constraint_0_power_limit_uw" for zone in ("0:0", "1")}
        assert {each: kernel.holds()[each] for each in others} == {each: FILES[each] for each in others}
        assert (made.set(None), kernel.holds()) == (None, HELD)
        made.set(change(text))
    assert (kernel.holds(), (tmp_path / BEFORE).exists()) == (HELD, False)


@pytest.mark.parametrize("error", [KeyboardInterrupt, CannotWork("no room"), ValueError])
def test_whatever_ends_a_race_the_kernel_is_as_before(kernel: Kernel, tmp_path: Path, error: BaseException) -> None:
    """By Ctrl-C, by an error, by a fault of ours."""

    def ended() -> None:
        with made.kept():
            made.set(change(POWERSAVE))
            raise error

    made = KernelRace(kernel, tmp_path, [change(POWERSAVE)])
    with pytest.raises(type(error) if isinstance(error, BaseException) else error):
        ended()
    assert kernel.holds() == HELD


def killed(kernel: Kernel, folder: Path) -> None:
    """Leave what a race leaves that is killed while a setting is changed."""
    made = KernelRace(kernel, folder, [change(POWERSAVE)])
    with made.kept():
        made.set(change(POWERSAVE))
        kept = (folder / BEFORE).read_bytes()
    (folder / BEFORE).write_bytes(kept)
    kernel.write(CPU.format(1, "scaling_governor"), "powersave")


@pytest.mark.parametrize("rebooted", [False, True])
def test_what_a_killed_race_left_is_put_back_first(kernel: Kernel, tmp_path: Path, *, rebooted: bool) -> None:
    """After a reboot nothing is left to put back: what is set now is somebody's own."""
    killed(kernel, tmp_path)
    if rebooted:
        kernel.file("/proc/sys/kernel/random/boot_id").write_text("another\n")
    with KernelRace(kernel, tmp_path, []).kept():
        now = kernel.file(CPU.format(1, "scaling_governor")).read_text()
    assert (now, (tmp_path / BEFORE).exists()) == ("powersave\n" if rebooted else "performance\n", False)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"boot": "x"}', '{"boot": "x", "files": {"/etc/passwd": "x"}}', '{"boot": "x", "files": {"/sys/../etc": "x"}}'],
)
def test_no_file_but_a_settings_own_is_ever_written(kernel: Kernel, tmp_path: Path, text: str) -> None:
    """What the folder says is no order: a path that no setting has is refused."""
    (tmp_path / BEFORE).write_text(text)
    made = KernelRace(kernel, tmp_path, [])
    with pytest.raises(BadInput, match="not a file of kernel settings that advisor tune saved"), made.kept():
        pass
    assert kernel.holds() == HELD


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("os.governer=powersave", "is not a setting.*os.governor"),
        ("os.governor=fast", "is not one of its values.*performance, powersave"),
        ("os.governor=mixed", "is not one of its values"),
        ("os.power_cap=much", "is not one of its values.*a number in W"),
        ("numa.nps=4", "cannot be changed on a running system.*os.governor"),
        ("os.smt=off", "cannot be restored after the race: interrupts.*advisor experiment"),
        ("os.hugepages=4", "cannot be restored after the race: which NUMA node"),
    ],
)
def test_what_cannot_race_is_refused_with_what_can(text: str, says: str) -> None:
    """Before anything runs, in one line."""
    with pytest.raises(BadValue, match=says):
        change_of(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("os.zone_reclaim_mode=1", "this machine has no /proc/sys/vm/zone_reclaim_mode"),
        ("os.power_cap=20", "the package's TDP is 205 W; give a limit between 51 and 205 W"),
        ("os.power_cap=999", "give a limit between 51 and 205 W"),
        (POWERSAVE, "scaling_governor: permission denied; run as root, or make the file writable for your group"),
    ],
)
def test_what_this_machine_does_not_take_is_refused_before_it_begins(
    kernel: Kernel, tmp_path: Path, text: str, says: str
) -> None:
    """A file that is not there, that is not this user's, or a limit that no server runs with."""
    kernel.shut = (CPU.format(0, "scaling_governor"),)
    with pytest.raises(CannotWork, match=says):
        KernelRace(kernel, tmp_path, [change(text)])
    assert list(tmp_path.iterdir()) == [kernel.root]


def test_a_value_that_the_driver_has_not_is_named_and_nothing_stays_changed(kernel: Kernel, tmp_path: Path) -> None:
    """The kernel's own answer is the reason."""
    made = KernelRace(kernel, tmp_path, [change("os.governor=userspace")])
    with made.kept():
        why = made.set(change("os.governor=userspace"))
    assert why == f"{CPU.format(0, 'scaling_governor')} does not take userspace: invalid argument"
    assert kernel.holds() == HELD


def test_a_file_that_cannot_be_put_back_is_named_and_what_it_held_is_kept(kernel: Kernel, tmp_path: Path) -> None:
    """The folder keeps the list, and the user is told."""

    def ended() -> None:
        with made.kept():
            made.set(change(POWERSAVE))
            kernel.refuses = ("performance",)

    made = KernelRace(kernel, tmp_path, [change(POWERSAVE)])
    with pytest.raises(CannotWork, match=r"scaling_governor and 5 more: not restored; .*kernel-before.json lists the original"):
        ended()
    assert (tmp_path / BEFORE).exists()


def asked_lines(kernel: Kernel, *changes: str) -> Iterator[RaceLine]:
    """Yield a program that takes 20 J, and 9 J under powersave; and one like it for each setting."""
    counter, governor = kernel.file(f"{RAPL}/intel-rapl:0/energy_uj"), kernel.file(CPU.format(0, "scaling_governor"))
    takes = f"read g < {governor}; j=20; [ $g != powersave ] || j=9; read old < {counter}; "
    words = ("sh", "-c", f"{takes} sleep 0.0$((29 - j)); echo $(( (old + j * 1000000) % 50000000 )) > {counter}")
    for each in (None, *map(change, changes)):
        yield RaceLine("yours" if each is None else f"yours {each.title}", ("env",), words, {}, change=each)


def raced_for_energy(kernel: Kernel, folder: Path, *changes: str) -> Raced:
    """Return a race for energy of a line with some settings."""
    entries = RaceField(tuple(asked_lines(kernel, *changes)), JobHosts(Allocated(), (Machine(),)))
    asked = Asked(("mpirun", "./app"), settings=changes, goal="energy").document()
    limits = Limits(seed=3, runs=40, busy_ok=True)
    return race_lines(entries, metric_of(None, None, None, "energy"), limits, folder, asked=asked, resume=False)


def test_a_governor_that_saves_energy_wins_and_how_to_set_it_is_shown(kernel: Kernel, tmp_path: Path) -> None:
    """Seconds and joules are beside each other; bind learns nothing of it, as no line carries it; the folder tells the same."""
    raced = raced_for_energy(kernel, tmp_path / "race", POWERSAVE, "os.thp=never")
    page = tuned(raced, tmp_path / "race").page
    text = [text_of(line) for line in race_page(page).lines(120)]
    assert (page.result.winner, learned(raced), kernel.holds()) == (f"yours {POWERSAVE}", None, HELD)
    assert text[2] == "cpupower frequency-set -g powersave"
    assert "# the first command needs root and lasts until the next reboot" in text
    kept = kept_race(tmp_path / "race")
    assert (kept.result.winner, list(kept.commands)) == (page.result.winner, list(page.commands))


def test_a_setting_that_somebody_changes_meanwhile_makes_no_figure(kernel: Kernel, tmp_path: Path) -> None:
    """As tuned or a thermal daemon does; a line that fails twice is left out with that reason."""
    file = kernel.file(THP)
    changes = ("sh", "-c", f"echo '[always] never' > {file}")
    lines = (
        RaceLine("yours", ("env",), ("true",), {}),
        RaceLine("yours os.thp=never", ("env",), changes, {}, change=change("os.thp=never")),
    )
    entries = RaceField(lines, JobHosts(Allocated(), (Machine(),)))
    raced = race_lines(
        entries, Metric(), Limits(runs=6, busy_ok=True), tmp_path / "race", asked=Asked(("a",)).document(), resume=False
    )
    assert raced.dropped == {1: f"{THP} was changed during the run; stop tuned or whatever changes it"}
    assert kernel.holds() == HELD


def test_a_setting_changes_this_node_alone() -> None:
    """Lines on other nodes are refused before anything runs."""
    with pytest.raises(CannotWork, match=r"--with os.governor changes this node, but the job runs on n1, n2"):
        lines_of(Asked(("mpirun", "-n", "2", "./app"), hosts="n1,n2", ranks=2, settings=(POWERSAVE,)))


@pytest.mark.parametrize("build", [lambda: change_of("a.b=c"), lambda: change_of("os.thp=")])
def test_a_name_with_a_dot_is_a_setting_or_refused(build: Callable[[], object]) -> None:
    """No variable of a shell has one."""
    with pytest.raises(AdvisorError):
        build()
