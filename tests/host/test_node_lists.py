"""Names of nodes: plain ones, those of the site's groups, those of Slurm's partitions."""

import stat
from pathlib import Path

import pytest

from advisor.errors import BadValue, CannotWork
from advisor.machine.hosts.errands import checked_names, members, nodes_of_partition


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is all of PATH that is not the system's, with ClusterShell's configuration in it."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    return tmp_path


def test_each_name_is_asked_once() -> None:
    """In the order in which they were given."""
    assert checked_names(["n2", "n1", "n2"]) == ("n2", "n1")


def test_a_group_is_the_sites(site: Path) -> None:
    """As groups.conf says; a group that there is none of is refused in one line."""
    (site / "groups.conf").write_text('[Main]\ndefault: here\n[here]\nmap: [ "$GROUP" = rack1 ] && echo n[08-10]\n')
    assert members("@rack1") == ("n08", "n09", "n10")
    with pytest.raises(BadValue, match="ClusterShell says"):
        members("@rack2")


def test_the_nodes_of_a_partition_are_slurms(site: Path) -> None:
    """Each once, as sinfo says; where it says none, its reason is the line."""
    file = site / "sinfo"
    file.write_text('#!/bin/sh\ncase "$*" in *=main*) printf "n1\\nn2\\nn1\\n" ;; *) echo "sinfo: no such thing" >&2 ;; esac\n')
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    assert nodes_of_partition("main") == ("n1", "n2")
    with pytest.raises(CannotWork, match="no such thing"):
        nodes_of_partition("other")
    with pytest.raises(BadValue, match="is not a partition name"):
        nodes_of_partition("a;b")
