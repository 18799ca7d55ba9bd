"""What holds from the wish to the ranks, for every launcher of the folder: a job is placed, launched, and its line read back."""

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.jobs.bind import launch_or_wrap, settings
from advisor.jobs.launcher import Choice, Launch, LaunchRequest, launchers
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Placement
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from tests.examples import examples
from tests.jobs.place.test_properties import jobs, machines
from tests.jobs.plan import bindings, topologies

Bindings = Mapping[int, tuple[str | None, CpuSet | None]]

FOLDER = Path(__file__).parent / "readers"
READERS: dict[str, Any] = {
    info.name: import_module(f"tests.jobs.readers.{info.name}").parse for info in iter_modules([str(FOLDER)])
}
"""What reads the lines of each launcher back."""


def hosts_of(name: str) -> list[tuple[str, ...]]:
    """Return the hosts of which a line says by itself where every rank is; HOSTS of its reader, where not of all."""
    if name == "wrapper":
        return [()]  # it knows one only
    module = import_module(READERS[name].__module__)
    return getattr(module, "HOSTS", [(), ("a",), ("a", "b", "c")])


def evenly(name: str) -> bool:
    """Whether a launcher wants as many ranks on each host; EVEN of its reader."""
    return name != "wrapper" and getattr(import_module(READERS[name].__module__), "EVEN", False)


def test_every_launcher_has_a_reader_of_its_lines() -> None:
    """docs/adding.md, "A launcher", shows one: tests/jobs/readers/NAME.py with a function parse."""
    missing = [f"tests/jobs/readers/{name}.py" for name in launchers() if name not in READERS]
    assert missing == []


def launched(name: str, placement: Placement, machine: Machine, *, exact: bool, wrap: bool) -> Launch:
    """Return a plan as a launcher carries it out."""
    needs = settings(placement, [machine])
    wish = LaunchRequest(("./app",), exact=exact, wrap=wrap, environment=needs.variables)
    return launch_or_wrap(Choice(launchers()[name], None, "asked for"), needs.placement, wish)[0]


def read_back(name: str, made: Launch, placement: Placement, machine: Machine) -> Bindings:
    """Return where the line puts each rank."""
    parse: Any = READERS[name]
    nodes = {node.os_index: node.cpuset for node in placement.plans[0].topology.nodes}
    homes = {hca.name: hca.locality.numa_nodes for hca in machine.hcas or () if hca.locality}
    have = {
        "argv": made.argv,
        "environment": made.environment,
        "files": made.files,
        "topologies": topologies(placement),
        "devices": {hca: union(nodes[number] for number in numbers) for hca, numbers in homes.items()},
    }
    found: Bindings = parse(**{each: have[each] for each in signature(parse).parameters})
    return found


def told(made: Launch) -> tuple[Any, ...]:
    """Return all that a launch consists of, its files as texts."""
    return made.argv, made.environment, {name: list(lines()) for name, lines in made.files.items()}, made.avoided, made.notes


@pytest.mark.parametrize("name", [name for name in launchers() if name in READERS])
@examples(150)
@given(one=machines(), job=jobs(), exact=st.booleans(), wrap=st.booleans(), data=st.data())
def test_from_the_wish_to_the_ranks(
    name: str, one: Machine, job: JobShape, data: st.DataObject, *, exact: bool, wrap: bool
) -> None:
    """The line is the plan, the same one each time; no core has two ranks unasked, none leaves its socket or what is allowed."""
    hosts = data.draw(st.sampled_from(hosts_of(name)))
    try:
        placement = place(job.model_copy(update={"hosts": hosts}), [one])
    except BadValue:
        return
    if evenly(name) and len({host.ranks for host in placement.hosts}) > 1:
        return
    if placement.size > getattr(import_module(READERS[name].__module__), "MOST", placement.size):
        with pytest.raises(BadValue, match="starts one process"):
            launched(name, placement, one, exact=exact, wrap=wrap)
        return
    made = launched(name, placement, one, exact=exact, wrap=wrap)
    seen = read_back(name, made, placement, one)
    assert seen == bindings(placement)
    words = {*made.environment, *(part for word in made.argv for part in (word, word.partition("=")[0]))}
    assert {*settings(placement, [one]).variables} - words == set(), "variables that the job needs and the line lacks"
    assert told(made) == told(launched(name, placement, one.model_copy(deep=True), exact=exact, wrap=wrap))
    inside = placement.plans[0].topology.inside
    for host in topologies(placement):
        sets = [cpus for where, cpus in seen.values() if where == host and cpus is not None]
        cores = [union(core.cpuset for core in inside.cores if core.cpuset & cpus) for cpus in sets]
        assert job.smt == "use" or len(union(cores)) == sum(map(len, cores))
        assert union(sets) <= inside.pus
        assert all(any(cpus <= package.cpuset for package in inside.packages) for cpus in sets)
