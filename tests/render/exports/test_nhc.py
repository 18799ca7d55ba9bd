"""NHC checks: what NHC would make of each line, by the rules that its source has, on the machine that was frozen."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.exports.export import ExportSubject
from advisor.exports.formats.nhc import target
from advisor.machine.hardware import Gpu
from advisor.machine.hosts.errands import expanded
from advisor.machine.machine import Environment
from tests import exports
from tests.conftest import Golden
from tests.examples import examples
from tests.exports import text_of
from tests.machines.catalogue import tree
from tests.machines.read import hosted, machine


def matches(word: str, pattern: str) -> bool:
    """Return whether a text is what a match of NHC means (scripts/common.nhc): a regular expression, a range, or a glob."""
    if pattern[0] == pattern[-1] == "/":
        return re.search(pattern[1:-1], word) is not None
    if pattern[0] + pattern[-1] == "{}":
        return any(_in_range(word, group) for group in pattern[1:-1].split(","))
    return fnmatchcase(word, pattern)


def _in_range(word: str, group: str) -> bool:
    if re.fullmatch(r"[-a-zA-Z0-9_]+[0-9]+[-.a-zA-Z0-9]*", group):
        return word == group
    found = re.fullmatch(r"([-a-zA-Z0-9_]+)\[([0-9]+)-([0-9]+)\]([-.a-zA-Z0-9]*)", group)
    assert found is not None, f"NHC says: Range not in pdsh syntax: {group}"
    prefix, first, last, suffix = found.groups()
    if not (word.startswith(prefix) and word.endswith(suffix)):
        return False
    number = word[len(prefix) : len(word) - len(suffix)]
    return number.isdigit() and int(first) <= int(number) <= int(last) and len(number) == max(len(first), len(last))


def checks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the target and the words of each check, as nhc_load_conf and the shell take them apart: a read without -r."""
    for line in re.sub(r"\\(.)", r"\1", text.replace("\\\n", "")).splitlines():
        if line.strip() and not line.startswith("#"):
            where, _, check = line.partition("||")
            yield where.strip(), shlex.split(check)


def failed(text: str, name: str) -> list[str]:
    """Return the files of a machine whose contents fail a check, those that are not there too."""
    host = hosted(tree(name), name)
    contents = [words[1:] for _, words in checks(text) if words[0] == "check_file_contents"]
    lines = {path: (host.read(path).text or "").splitlines() for path, _ in contents}
    return [path for path, pattern in contents if not any(matches(line.strip(), pattern) for line in lines[path])]


def frozen(name: str) -> str:
    """Return the checks of a machine of the catalogue, as if nothing were wrong with it."""
    audit = exports.machine().audit
    assert audit is not None
    return text_of("nhc", ExportSubject(machine(name), None, audit.model_copy(update={"settings": (), "findings": ()})))


def test_it_prints_as_it_did(golden: Golden) -> None:
    """A machine's checks and a fleet's are kept as golden texts."""
    golden("machine.nhc.conf", text_of("nhc", exports.machine()))
    golden("fleet.nhc.conf", text_of("nhc", exports.fleet()))


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("n[001-400]", "{n[001-400]}"),
        ("n[001-003,007]", "{n[001-003],n007}"),
        ("n[8-12]", "{n[8-9],n[10-12]}"),
        ("r1n[1-2]-ib,x7", "{r1n[1-2]-ib,x7}"),
        ("login,n1", "/^(login|n1)$/"),
        ("login.a,n1-b", "/^(login[.]a|n1-b)$/"),
        ("login", "login"),
    ],
)
def test_nodes_are_named_as_nhc_takes_them(names: str, wanted: str) -> None:
    """One range between brackets, of numbers that are equally long; names without numbers by an expression."""
    assert target(expanded(names)) == wanted


NAMES = st.lists(st.from_regex(r"[a-z]{1,3}[0-9]{1,3}(-ib)?", fullmatch=True), min_size=1, max_size=12, unique=True)


@examples(100)
@given(NAMES, st.from_regex(r"[a-z]{1,3}[0-9]{1,3}(-ib)?", fullmatch=True))
def test_a_target_is_these_nodes_and_no_other(names: list[str], other: str) -> None:
    """By the way in which NHC itself tells them."""
    found = target(names)
    assert ([name for name in names if not matches(name, found)], matches(other, found)) == ([], other in names)


MACHINES = ("b-c6525-2x7702-nps1", "a-r7425-2x7601-dell-portdown", "d-delftblue-2x6248r-snc2")


@pytest.mark.parametrize("name", MACHINES)
def test_the_machine_that_was_frozen_passes(name: str) -> None:
    """Every file that a check reads is there, and holds what the check wants; each NUMA node has its line."""
    text, topology = frozen(name), machine(name).topology
    assert topology is not None
    lines = [words for _, words in checks(text) if words[1].endswith("cpulist")]
    assert (failed(text, name), len(lines), "# not checked: NUMA" in text) == ([], len(topology.cpu_nodes), False)


@pytest.mark.parametrize("name", MACHINES)
def test_another_machine_fails(name: str) -> None:
    """The checks are awake: on a machine that is partitioned otherwise the NUMA nodes are not those."""
    other = MACHINES[MACHINES.index(name) - 1]
    assert [path for path in failed(frozen(name), other) if path.startswith("/sys/devices/system/node/")] != []


def test_every_check_is_one_that_nhc_has_and_targets_this_machine() -> None:
    """Three kinds of checks, none of which needs root, a daemon or a second; the names of the nodes are the target."""
    found = list(checks(text_of("nhc", exports.machine())))
    assert {words[0] for _, words in found} == {"check_hw_cpuinfo", "check_hw_physmem", "check_file_contents"}
    assert {where for where, _ in found} == {"node001"}


def test_what_is_wrong_is_named_and_not_frozen() -> None:
    """NUMA nodes that the audit finds wrong, and a setting that should have another value."""
    text = text_of("nhc", exports.machine())
    told = [line for line in text.splitlines() if line.startswith("# not checked")]
    assert told == [
        "# not checked: NUMA nodes: NUMA partitioning is NPS1; EPYC 7002 (Rome) with 8 dies offers NPS4",
        "# not checked: kernel.numa_balancing is on, wanted off",
    ]
    assert [
        line for line in text.splitlines() if not line.startswith("#") and re.search("/node[0-9/]|numa_balancing", line)
    ] == []


def test_a_kind_of_a_fleet_is_frozen_as_most_of_its_nodes_are() -> None:
    """Half of the kind has a wrong partitioning: it is frozen; where more than half has it is not."""
    whole = exports.fleet()
    assert whole.fleet is not None
    most = whole.fleet.model_copy(update={"wrong": (whole.fleet.wrong[0].model_copy(update={"count": 3}),)})
    texts = (text_of("nhc", whole), text_of("nhc", replace(whole, fleet=most)))
    assert ["{n[001-004]} || check_file_contents /sys/devices/system/node/online 0-7" in text for text in texts] == [True, False]


def test_without_a_name_no_node_is_checked() -> None:
    """A target that matches nobody, to be replaced: checks of another machine would drain nodes."""
    bare = exports.machine()
    assert bare.machine is not None
    text = text_of("nhc", replace(bare, machine=bare.machine.model_copy(update={"name": None})))
    assert {where for where, _ in checks(text)} == {"NODES"}


@pytest.mark.parametrize("name", ["n1 || reboot", "!n1", "n*", "{n1}", "n1\n*", "", "n$(id)"])
def test_what_is_no_host_name_is_no_target(name: str) -> None:
    """A fleet's folder is from anybody: a glob, a negation or a second line would check other nodes."""
    assert (target([name]), target(["n1", name])) == ("NODES", "NODES")


EVIL = ("tsc\n* || touch /tmp/evil", "$(touch /tmp/evil)", "a'; touch /tmp/evil; '", "tsc\\", "a  b", "`id`", "a;b", "[!t]sc|x")


@pytest.mark.parametrize("value", EVIL)
def test_a_fact_that_is_no_plain_text_is_not_checked(value: str) -> None:
    """NHC gives its lines to eval: no setting, adapter or GPU of a hostile capture comes there; it is named in a comment."""
    found = list(checks(text_of("nhc", frozen_with(value))))
    wanted = [words for words in checks(text_of("nhc", frozen_with(None))) if "X" not in str(words)]
    assert (found, {where for where, _ in found}) == (wanted, {"node001"})


def frozen_with(value: str | None) -> ExportSubject:
    """Return a machine whose clock, governor, SMT, adapter and GPU are called so; None stands for a word that is found again."""
    whole, word = exports.machine(), "X" if value is None else value
    made, audit = whole.machine, whole.audit
    assert made is not None
    assert made.kernel is not None
    assert made.cpu is not None
    assert made.hcas is not None
    assert audit is not None
    changes = {
        "kernel": made.kernel.model_copy(update={"clocksource": word, "thp": word}),
        "cpu": made.cpu.model_copy(update={"governors": (word,), "smt_control": word}),
        "hcas": (made.hcas[0].model_copy(update={"name": word}),),
        "gpus": (Gpu(address="0000:c1:00.0").model_copy(update={"address": word}),),
    }
    return replace(whole, machine=made.model_copy(update=changes), audit=audit.model_copy(update={"settings": ()}))


def test_a_comment_that_ends_in_a_backslash_takes_no_check_with_it() -> None:
    """NHC would join the next line to it."""
    whole = exports.machine()
    assert whole.audit is not None
    rows = tuple(row.model_copy(update={"current": "on\\", "wanted": "off\\"}) for row in whole.audit.settings)
    found = tuple(each.model_copy(update={"claim": "NPS1\\"}) for each in whole.audit.findings)
    told = text_of("nhc", replace(whole, audit=whole.audit.model_copy(update={"settings": rows, "findings": found})))
    assert list(checks(told)) == list(checks(text_of("nhc", whole)))


@pytest.mark.parametrize(("virtual", "checked"), [(None, True), ("none", True), ("kvm", False), ("vmware", False)])
def test_memory_of_a_virtual_machine_is_not_checked(virtual: str | None, checked: bool) -> None:
    """A balloon changes it, and NUMA nodes and /proc/meminfo then differ; the comment says so."""
    whole = exports.machine()
    assert whole.machine is not None
    made = whole.machine.model_copy(update={"environment": Environment(virtual=virtual)})
    text = text_of("nhc", replace(whole, machine=made))
    assert ("check_hw_physmem" in text, "# memory is not checked" in text) == (checked, not checked)


def test_hostile_words_stay_in_their_comment() -> None:
    """Nothing of them becomes a line of its own."""
    lines = text_of("nhc", exports.hostile()).splitlines()
    assert {line.partition(" ")[0] for line in lines if line} == {"#", "node001"}
