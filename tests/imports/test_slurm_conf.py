"""Files slurm.conf as Slurm reads them: includes, lines that go on, defaults, names, and what is refused with its line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.machine.slurm import ConfLine, SlurmConf, names_of, read_slurm_conf, said_node
from tests.examples import examples


def conf(text: str, **files: str) -> SlurmConf:
    """Return what /etc/slurm/slurm.conf says, with other files beside it: gres_conf is gres.conf."""
    there = {"/etc/slurm/slurm.conf": text, **{f"/etc/slurm/{name.replace('_', '.')}": each for name, each in files.items()}}

    def opened(path: str) -> str:
        if path not in there:
            raise BadInput("no such file or directory", file=path)
        return there[path]

    return read_slurm_conf("/etc/slurm/slurm.conf", opened)


def test_lines_go_on_after_a_backslash_and_end_at_a_comment() -> None:
    """A line is named by its first number; names of keys are read in any case, with blanks around the sign."""
    read = conf('# x\nselecttype = select/cons_tres # why\nNodeName=n1 \\\n  CPUs=4 \\\n  Feature="a b"\nNodename=n2 Procs=8\n')
    assert read.settings == {"selecttype": "select/cons_tres"}
    assert [(line.place, line.nodes, dict(line.said)) for line in read.nodes] == [
        ("slurm.conf line 3", "n1", {"nodename": "n1", "cpus": "4", "feature": "a b"}),
        ("slurm.conf line 6", "n2", {"nodename": "n2", "procs": "8"}),
    ]


def test_defaults_hold_for_lines_after_them_and_add_up() -> None:
    """A later NodeName=DEFAULT adds to the earlier, and a line's own word counts more."""
    read = conf(
        "NodeName=a CPUs=1\nNodeName=DEFAULT CPUs=2 RealMemory=5\nNodeName=b\nNodeName=DEFAULT RealMemory=7\nNodeName=c CPUs=3\n"
    )
    assert [(line.nodes, line.number("cpus"), line.number("realmemory")) for line in read.nodes] == [
        ("a", 1, None),
        ("b", 2, 5),
        ("c", 3, 7),
    ]


def test_included_files_are_read_where_they_stand() -> None:
    """Relative to slurm.conf, with the cluster's name for %c; those that cannot be read are named."""
    text = "ClusterName=x\nNodeName=DEFAULT CPUs=2\nInclude nodes.%c\ninclude /gone\nNodeName=b\n"
    read = conf(
        text, nodes_x="NodeName=a\nNodeName=DEFAULT CPUs=9\n", gres_conf="AutoDetect=nvml\nNodeName=a Name=gpu File=/dev/x\n"
    )
    assert [(line.place, line.nodes, line.number("cpus")) for line in read.nodes] == [
        ("nodes.x line 1", "a", 2),
        ("slurm.conf line 5", "b", 9),
    ]
    assert read.unread == ("/gone: no such file or directory",)
    assert [(line.place, line.nodes) for line in read.gres or ()] == [("gres.conf line 1", None), ("gres.conf line 2", "a")]


def test_files_that_include_each_other_end() -> None:
    """In one line that names the file."""
    with pytest.raises(BadInput, match=r"slurm.conf: line 1: include lines are nested more than 8 deep"):
        conf("Include slurm.conf\n")


def refused(text: str) -> str | None:
    """Return what is said against a slurm.conf, without what to do; None where it is read."""
    try:
        read = conf(text)
        names = [names_of(line) for line in read.nodes]
    except BadInput as error:
        return str(error).partition(";")[0]
    assert len(names) == len(read.nodes)
    return None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NodeName=n1 CPUs\n", "slurm.conf line 1: 'CPUs' is not KEY=value"),
        ("\n<html>\n", "slurm.conf line 2: '<html>' is not KEY=value"),
        ("NodeName=n[1-99999999] CPUs=1\n", "slurm.conf line 1: 'n[1-99999999]' has more than 65536 nodes"),
        ("NodeName=n[1- CPUs=1\n", "slurm.conf line 1: 'n[1-' is not a set of nodes"),
        ("NodeName=n[1-9_999_999_999] CPUs=1\n", "slurm.conf line 1: [1-9_999_999_999] is not a set of nodes"),
        ("NodeName=n[1-300]r[1-300] CPUs=1\n", "slurm.conf line 1: 'n[1-300]r[1-300]' has more than 65536 nodes"),
        ("NodeName=n1 RealMemory=255G\n", "slurm.conf line 1: realmemory='255G' is not a number"),
    ],
)
def test_what_slurm_would_not_take_is_refused_with_its_line(text: str, message: str) -> None:
    """One line, and what to do."""
    assert refused(text) == message


def test_keys_may_have_digits() -> None:
    """As Slurm has it."""
    assert conf("X11Parameters=home_xauthority\nNodeName=n1\n").settings == {"x11parameters": "home_xauthority"}


def test_a_count_may_be_in_thousands_of_1024() -> None:
    """As slurmctld 22.05.8 took RealMemory=4K."""
    assert conf("NodeName=n1 RealMemory=4K\n").nodes[0].number("realmemory") == 4096


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("CPUs=256", (256, 256, 1, 1, None)),
        ("CPUs=128 Sockets=2 CoresPerSocket=64 ThreadsPerCore=2", (128, 2, 64, 2, None)),
        ("CPUs=100 Sockets=2 CoresPerSocket=64 ThreadsPerCore=2", (256, 2, 64, 2, 100)),
        ("CPUs=128 Boards=2 Sockets=2 CoresPerSocket=32", (64, 2, 32, 1, 128)),
        ("Boards=2 SocketsPerBoard=1 CoresPerSocket=64", (128, 2, 64, 1, None)),
        ("Sockets=8 CoresPerSocket=16 ThreadsPerCore=2", (256, 8, 16, 2, None)),
        ("", (1, 1, 1, 1, None)),
    ],
)
def test_the_node_of_a_line_is_what_slurmctld_made_of_it(line: str, node: tuple[int, ...]) -> None:
    """As scontrol show node said of slurmctld 22.05.8; CPUs that no product gives are reset."""
    said = said_node(conf(f"NodeName=n {line}\n").nodes[0])
    assert (said.cpus, said.sockets, said.cores, said.threads, said.reset) == node


@pytest.mark.skipif(not shutil.which("scontrol"), reason="Slurm's scontrol is not installed")
@pytest.mark.parametrize(
    "text", ["n[1-3,7]", "n[008-011],login", "rack[0-1]_blade[0-2]", "a,b,c[1-2]", "n[1-300,400-700],m[1-300]"]
)
def test_names_are_those_of_scontrol(text: str, tmp_path: Path) -> None:
    """Its ``show hostnames`` is Slurm's own reading."""
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nSlurmctldHost=localhost\n")
    variables = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    command = ["scontrol", "show", "hostnames", text]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=30, check=True)
    assert names_of(ConfLine("", text, {})) == frozenset(done.stdout.split())


@examples(200)
@given(st.text(alphabet='NodeName=n[1-],\\ \n#"CPUs Include%c\t\0é', max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    """A refusal is one line."""
    assert "\n" not in (refused(text) or "")
