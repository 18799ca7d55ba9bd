"""A few keys of Slurm's files, and nothing else of them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Slurm
from advisor.machine.sources.scheduler import CGROUP, GRES, SLURM, collect_slurm, key_query
from tests.collect.os_host import FakeHost

SEEN = "file=read\n"
MISSING = b"sed: can't read /etc/slurm/cgroup.conf: No such file or directory\n"


def told(slurm: str = "", cgroup: str = "", gres: str = "", err: bytes = MISSING) -> Slurm | None:
    """Return what is made of the printed keys."""
    texts = {SLURM: slurm, CGROUP: cgroup, GRES: gres}
    runs = {argv: Ran(out=text.encode(), err=err, status=2) for argv, text in texts.items()}
    return collect_slurm(FakeHost({}, runs)).slurm_conf


def test_the_keys_of_three_files_become_one_value() -> None:
    """Without prefixes, in small letters."""
    found = told(
        SEEN + "TaskPlugin=task/affinity,task/cgroup\nTaskPluginParam=SlurmdOffSpec\nProctrackType=proctrack/cgroup\n",
        SEEN + "ConstrainCores=yes\n",
        SEEN + "AutoDetect=nvml\n",
    )
    assert found == Slurm(
        task_plugins=("affinity", "cgroup"),
        proctrack="cgroup",
        off_spec=True,
        constrain_cores=True,
        constrain_memory=False,
        constrain_devices=False,
        autodetect="nvml",
        gres_cores=False,
    )


def test_a_file_that_includes_others_tells_only_what_it_says_itself() -> None:
    """What it lacks may stand in what it includes: not known, not the default."""
    found = told(SEEN + "include=yes\n", SEEN + "include=yes\nConstrainCores=no\n", SEEN)
    assert found is not None
    assert (found.task_plugins, found.constrain_cores, found.constrain_memory) == (None, False, None)


def test_a_whole_file_without_a_key_means_its_default() -> None:
    """No TaskPlugin is no plugin; no cgroup.conf confines nothing."""
    found = told(SEEN)
    assert found is not None
    assert (found.task_plugins, found.constrain_cores, found.autodetect) == ((), False, None)


def test_a_closed_cgroup_conf_is_not_known() -> None:
    """Permission denied is not absent."""
    found = told(SEEN, err=b"sed: can't read /etc/slurm/cgroup.conf: Permission denied\n")
    assert found is not None
    assert (found.task_plugins, found.constrain_cores) == (None, None)


def test_lines_of_other_nodes_do_not_switch_detection_off() -> None:
    """Off counts only where no line says otherwise."""
    some, none = told(SEEN, "", SEEN + "AutoDetect=off\nAutoDetect=nvml\n"), told(SEEN, "", SEEN + "AutoDetect=off\n")
    assert [each.autodetect for each in (some, none) if each] == ["nvml", "off"]


@pytest.mark.parametrize(
    ("err", "why"),
    [(MISSING, "not in any of the usual folders"), (b"sed: /etc/slurm/slurm.conf: Permission denied", "permission denied")],
)
def test_a_machine_without_slurm_conf_says_so(err: bytes, why: str) -> None:
    """Nothing is made up, and the gap tells why."""
    found = collect_slurm(FakeHost({}, dict.fromkeys((SLURM, CGROUP, GRES), Ran(err=err, status=2))))
    assert (found.slurm_conf, [gap.why for gap in found.gaps]) == (None, [f"slurm.conf: {why}"])


def test_a_capture_that_did_not_ask_is_not_known() -> None:
    """Not in this input."""
    found = collect_slurm(FakeHost({}, otherwise=Why.NOT_KEPT))
    assert (found.slurm_conf, [gap.why for gap in found.gaps]) == (None, ["not in this input"])


@pytest.mark.parametrize("program", [["sed"], ["busybox", "sed"]])
def test_no_name_and_no_secret_of_the_files_is_printed(program: list[str], tmp_path: Path) -> None:
    """Comments, hosts, people and passwords stay in the file; keys are found in any case, anywhere in gres.conf."""
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=secret\n#TaskPlugin=task/none\ntaskplugin = task/affinity # secret\nSlurmUser=secret\nJobCompPass=secret\n"
        "  ProctrackType=proctrack/pgid\nNodeName=secret[1-4] CPUs=64\ninclude secret.conf\n"
    )
    (tmp_path / "gres.conf").write_text(
        "# AutoDetect=off secret\nNodeName=secret Name=gpu File=/dev/secret Cores=0-15 AutoDetect=nvml # secret\n"
    )
    printed = {}
    for file in ("slurm.conf", "gres.conf"):
        words = [word for word in key_query(file)[1:] if not word.startswith("/")]
        done = subprocess.run([*program, *words, str(tmp_path / file)], capture_output=True, text=True, check=False)
        printed[file] = sorted(done.stdout.splitlines())
    assert printed == {
        "slurm.conf": ["ProctrackType=proctrack/pgid", "TaskPlugin=task/affinity", "file=read", "include=yes"],
        "gres.conf": ["AutoDetect=nvml", "Cores=0-15", "file=read"],
    }


@given(st.text())
def test_no_output_makes_the_reader_fail(text: str) -> None:
    """Whatever is printed, there is an answer, and no word that is no plugin's name."""
    found = told(SEEN + text, SEEN + text, SEEN + text)
    assert found is not None
    assert all(name.isascii() for name in found.task_plugins or ())
