"""Where numactl and taskset put a program: as numactl 2.0.16 and taskset of util-linux 2.38 were seen to do it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.lint.command_line import Binder, read_binder
from advisor.launch.lint.outcome import Refused, Unclear
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line, Said
    from advisor.launch.lint.predict import Prediction
    from advisor.launch.lint.request import Request


def binder_cpus(binder: Binder, given: CpuSet | None, seen: Topology) -> CpuSet | None:
    """Return the CPUs of a program after numactl or taskset, None where it sets none; raise Refused or Unclear.

    ``given`` are the CPUs that it was started with. numactl's -C takes no others without --all, and counts +0-3 among them;
    its -N, and taskset, set whatever the job may have.
    """
    inside = seen.inside
    if binder.nodes is not None:
        cpus = union(node.cpuset for node in inside.nodes if node.os_index in _nodes(binder.nodes, inside)) & inside.pus
    elif binder.cpus is not None and binder.tool == "taskset":
        cpus = _strided(binder.cpus) & inside.pus
    elif binder.cpus is not None:
        return _numactl_cpus(binder, given or inside.pus, inside)
    else:
        return None
    if not cpus:
        raise Refused(f"{binder.tool} ends with an error: {(binder.nodes or binder.cpus or '')[:40]} is no CPU that it may have")
    return cpus


def _numactl_cpus(binder: Binder, given: CpuSet, inside: Topology) -> CpuSet:
    text = binder.cpus or ""
    among = inside.pus if binder.everywhere else given
    if text == "all":
        return among
    sign, plain = (text[0], text[1:]) if text[:1] in "+!" and text else ("", text)
    listed = _parsed(plain)
    if sign == "+":
        order = sorted(among)
        if listed and max(listed) >= len(order):
            raise Unclear(f"{text[:40]} counts beyond the {len(order)} CPUs that it is started with")
        return CpuSet(order[number] for number in listed)
    if not listed or not listed <= among:
        why = (
            "it takes those alone that it is started with; --all allows others" if listed <= inside.pus else "not on this machine"
        )
        raise Refused(f"numactl ends with an error: CPUs {plain[:40]}: {why}")
    return among - listed if sign else listed


def _nodes(text: str, inside: Topology) -> set[int]:
    there = sorted(node.os_index for node in inside.nodes)
    if text == "all":
        return set(there)
    sign, plain = (text[0], text[1:]) if text[:1] in "+!" and text else ("", text)
    if re.match(r"(netdev|file|ip|block|pci):", plain):
        raise Unclear(f"on which NUMA nodes {plain[:40]} is, is known to numactl on the host alone")
    listed = _parsed(plain)
    if sign == "+" and listed and max(listed) < len(there):
        return {there[number] for number in listed}
    if sign == "+" or not listed <= CpuSet(there):
        numbers = ", ".join(map(str, there[:16]))
        raise Refused(f"numactl ends with an error: {plain[:40]} is not on this machine, whose NUMA nodes are {numbers}")
    return set(there) - set(listed) if sign else set(listed)


def _parsed(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except BadValue as error:
        raise Refused(f"numactl ends with an error: {text[:40]!a} is not a list") from error


def _strided(text: str) -> CpuSet:
    """Return the CPUs of a list of taskset's: 0-6:2 is every second."""
    found: list[CpuSet] = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5})(?::(\d{1,4}))?)?", word, re.ASCII)
        if not match or int(match[3] or 1) == 0:
            raise Refused(f"taskset ends with an error: {text[:40]!a} is not a list of CPUs")
        found.append(CpuSet(range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1))))
    return union(found)


def request(_line: "Line", told: "Request") -> "Request":
    """Return what a line of numactl or taskset alone asks for: one process."""
    return replace(told, ranks=1)


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the one process of a line of numactl or taskset alone."""
    line = made.line
    if odd := next((said for said in line.options if not said.known), None):
        raise Unclear(f"{odd.written[0][:40]} is not known here")
    if not line.first.command:
        raise Refused("no program is named")
    words = [line.words.launcher, *(word for said in line.options for word in said.written), *line.first.command]
    given: CpuSet | None = None
    for binder in (*line.words.around, read_binder(words, 0, len(words))[0]):
        own = binder_cpus(binder, given, made.topology)
        given = given if own is None else own
    return (LintRank(rank=0, host=None, cpus=given),)


def mask(options: "list[Said]", words: Sequence[str], at: int) -> "tuple[list[Said], int]":
    """Take the mask of taskset, which is no option: ``taskset 0xff ./app``."""
    from advisor.launch.lint.line import Said

    listed = any(said.name in ("-c", "--cpu-list", "-C", "-N") for said in options)
    if not listed and at + 1 < len(words) and re.fullmatch(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{1,32}", words[at], re.ASCII):
        return [*options, Said("--MASK", (words[at],), (words[at],))], at + 1
    return options, at
