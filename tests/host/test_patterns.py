"""Patterns: the process's own cgroups, and whether a path was looked for."""

import pytest

from advisor.machine.hosts.base import PathPatterns, concrete_patterns, example_path
from advisor.machine.hosts.capture import MemoryStore, TreeHost
from tests.host.shelf import MACHINE


def test_cgroups_are_the_process_s_own_and_those_above() -> None:
    """``{cgroup}`` stands for each folder from the process's own up to the top."""
    host = TreeHost(MemoryStore({f"/{path}": node for path, node in MACHINE.items()}), "x")
    expected = ("/a", "/c/system.slice/job 7/f", "/c/system.slice/f", "/c/f")
    assert expected == concrete_patterns(host, ("/a", "/c{cgroup}/f", "/a"))


def test_cgroup_names_are_not_patterns() -> None:
    """A star in a cgroup's name stands for itself; dots do not lead up."""
    host = TreeHost(MemoryStore({"/proc/self/cgroup": b"1:cpu:/x\n0::/../a*b\n", "/proc/self/cpuset": b"/s\n"}), "x")
    assert concrete_patterns(host, ("/c{cgroup}/f",)) == ("/c/a[*]b/f", "/c/f", "/c/s/f")
    assert concrete_patterns(TreeHost(MemoryStore({}), "x"), ("/c{cgroup}/f",)) == ("/c/f",)


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("/a/b", True),
        ("/a/c", False),
        ("/cpu0/online", True),
        ("/cpu0/x/online", False),
        ("/cpux/online", False),
        ("/n/any", True),
        ("/n", False),
        ("/a*b", True),
        ("/axb", False),
    ],
)
def test_covers(path: str, covered: bool) -> None:
    """A path is covered when it matches component by component."""
    assert covered is PathPatterns(("/a/b", "/cpu[0-9]*/online", "/n/*@", "/a[*]b")).covers(path)


@pytest.mark.parametrize("pattern", ["/a/b", "/a/*/b?@", "/a[*]b/x", "/cpu[0-9]*/y", "/a[b"])
def test_example_is_covered_by_its_pattern(pattern: str) -> None:
    """The example of a pattern is one of its paths."""
    assert PathPatterns((pattern,)).covers(example_path(pattern))
