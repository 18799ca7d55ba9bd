"""Trees: links lead where they lead on the machine, and never out."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadCapture
from advisor.machine.hosts.base import Reading, Why, expand
from advisor.machine.hosts.capture import DiskStore, Entry, Link, MemoryStore, TreeHost, top_of
from tests.examples import examples
from tests.host.shelf import CPUS, MACHINE, PCI, is_root, lay

Maker = Callable[[dict[str, Entry]], TreeHost]


@pytest.fixture(params=["disk", "memory"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Maker:
    """Return a maker of hosts over the same tree on disk and in memory."""

    def make(nodes: dict[str, Entry]) -> TreeHost:
        if request.param == "disk":
            return TreeHost(DiskStore(str(lay(tmp_path / "tree", nodes))), "tree")
        return TreeHost(MemoryStore({f"/{path}": node for path, node in nodes.items()}), "tree")

    return make


def test_reads_files_and_links(tree: Maker) -> None:
    """A file is read by its own path and through links, relative and chained."""
    host = tree(MACHINE)
    assert host.read("/sys/devices/system/cpu/online").text == "0-3\n"
    assert host.read("/sys/bus/pci/devices/0000:61:00.0/numa_node").text == "3\n"
    assert host.read("/sys/class/infiniband/mlx5_0/device/numa_node").text == "3\n"
    assert host.read("//sys/./class/infiniband/../infiniband/mlx5_0/device/numa_node").text == "3\n"


def test_lists_in_order(tree: Maker) -> None:
    """A folder's names come sorted; a missing folder has none."""
    host = tree(MACHINE)
    assert tuple(f"policy{cpu}" for cpu in range(CPUS)) == host.list("/sys/devices/system/cpu/cpufreq")[1:]
    assert host.list("/sys/class/infiniband/mlx5_0") == ("device", "ports")
    assert host.list("/sys/class/drm") == ()
    assert host.list("/") == ("proc", "sys")


def test_real_paths(tree: Maker) -> None:
    """A path's real place is told; a link that leads nowhere has none."""
    host = tree(MACHINE)
    assert f"/{PCI}" == host.real("/sys/class/infiniband/mlx5_0/device")
    assert host.real("/sys/bus/pci/devices/0000:61:00.0/driver") == "/sys/bus/pci/drivers/mlx5_core"
    assert None is host.real("/sys/class/infiniband/gone")
    assert host.real("/") == "/"


def test_missing_is_not_kept(tree: Maker) -> None:
    """A root cannot tell what was not there from what was not kept; a folder is no file."""
    host = tree(MACHINE)
    assert Reading(why=Why.NOT_KEPT) == host.read("/sys/devices/system/cpu/offline")
    assert Reading(why=Why.FAILED) == host.read("/sys/devices")
    assert host.run(("lscpu",)).why == Why.NOT_KEPT
    assert host.environment() == {}
    assert (host.kind, host.name) == ("root", "tree")


def test_absolute_links_and_dots_stay_inside(tree: Maker, tmp_path: Path) -> None:
    """An absolute link starts at the tree's top, and above the top is the top."""
    (tmp_path / "secret").write_text("outside")
    host = tree({"sys/a": Link("/secret"), "sys/b": Link("../../../../secret"), "sys/c": Link("../../.."), "secret": b"inside"})
    assert host.read("/sys/a").text == "inside"
    assert host.read("/sys/b").text == "inside"
    assert host.read("/sys/c/secret").text == "inside"
    assert host.read("/../../secret").text == "inside"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../../../etc/passwd"])
def test_hostile_links_lead_nowhere(tree: Maker, target: str) -> None:
    """A link to this machine's own files finds the tree's, which are not there."""
    host = tree({"sys/x": Link(target), "sys/y": Link("/etc")})
    assert host.read("/sys/x").why == Why.NOT_KEPT
    assert host.read("/sys/y/passwd").why == Why.NOT_KEPT
    assert host.list("/sys/y") == ()
    assert None is host.real("/sys/x")


def test_loops_of_links_end(tree: Maker) -> None:
    """Links in a circle answer, and those that double at each step too."""
    nodes: dict[str, Entry] = {"sys/a": Link("b"), "sys/b": Link("a"), "sys/self": Link("self/self")}
    nodes |= {f"sys/l{n}": Link(f"l{n + 1}/l{n + 1}") for n in range(60)}
    host = tree(nodes)
    assert [host.read(f"/sys/{name}").why for name in ("a", "self/x", "l0/x")] == [Why.FAILED] * 3
    assert None is host.real("/sys/a")
    assert host.list("/sys/l0") == ()


def test_pattern_over_multiplying_links_ends(tree: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to their own folder multiply the paths of a pattern: it is refused, not followed for ever."""
    monkeypatch.setattr("advisor.machine.hosts.base._NAMES", 10_000)
    host = tree({f"sys/l{n}": Link(".") for n in range(20)})
    with pytest.raises(BadCapture, match="more than 10000 names"):
        list(expand(host, "/sys/*/*/*/*/*/*/nothing*"))


def test_folder_stays_inside_through_its_own_parts(tmp_path: Path) -> None:
    """A folder's own ``root`` that is a link is not entered as a tree."""
    (tmp_path / "root").symlink_to("/")
    assert DiskStore(str(tmp_path)).below("/root").names("") == ()


def test_pipes_and_closed_files_answer(tmp_path: Path) -> None:
    """A pipe does not make the tool wait; a file without permission says so."""
    lay(tmp_path, {"sys/file": b"x"})
    os.mkfifo(tmp_path / "sys" / "pipe")
    host = TreeHost(DiskStore(str(tmp_path)), "tree")
    assert host.read("/sys/pipe").why == Why.FAILED
    (tmp_path / "sys" / "file").chmod(0)
    assert (None if is_root() else Why.REFUSED) == host.read("/sys/file").why


@pytest.mark.parametrize(
    ("paths", "top"),
    [
        (["sys/a"], ""),
        (["proc/sys/kernel/hostname", "m/sys/x"], ""),
        (["m/proc/sys/kernel/hostname", "m/sys/x"], "/m"),
        (["lakefield/cpuid/pu0", "lakefield/fsroot/sys/x"], "/lakefield/fsroot"),
        (["a/b/c/d/sys/x"], None),
    ],
)
def test_top_is_the_highest_folder_with_sys_or_proc(paths: list[str], top: str | None) -> None:
    """The tree may lie in a folder or two; ``proc/sys`` is not mistaken for one."""
    assert top == top_of(MemoryStore({f"/{path}": b"" for path in paths}))


names = st.sampled_from(["a", "b", "c", "..", ".", "", "sys"])


@examples(200)
@given(
    st.dictionaries(st.sampled_from(["/sys/a", "/sys/b", "/sys/c", "/a"]), st.lists(names, min_size=1, max_size=4).map("/".join)),
    st.lists(names, max_size=6).map("/".join),
)
def test_any_links_and_any_path_give_a_place_inside(links: dict[str, str], path: str) -> None:
    """Whatever links there are, a walk ends at an absolute place without dots, or nowhere."""
    host = TreeHost(MemoryStore({place: Link(target) for place, target in links.items()}), "x")
    place = host.place(path)
    assert place is None or not {"..", "."} & set(place.split("/"))
