"""What is predicted of Open MPI is what 4.1.4 and 5.0.11 were seen to do: 410 lines on three machines, in observed.txt.

Written by running each line under the real launcher with tests/fakenode; a rank's CPUs in braces, FAIL where nothing started.
"""

import re
from pathlib import Path

import pytest

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.machine.cpuset import CpuSet
from tests.jobs.place.samples import machine

ROWS = [row.split("\t") for row in (Path(__file__).parent / "observed.txt").read_text().splitlines()]
VERSIONS = {"4": "4.1.4", "5": "5.0.11"}
NOT_OURS = ("-ppn",)
"""An option of other launchers: it is named, and nothing is guessed of it."""


@pytest.mark.parametrize("name", sorted({row[0] for row in ROWS}))
@pytest.mark.parametrize("major", VERSIONS)
def test_predictions_are_what_was_observed(name: str, major: str) -> None:
    """Where CPUs are told rank by rank they are right; where nothing starts that is said; the rest is left to words."""
    wrong, told = [], 0
    for where, version, line, seen in ROWS:
        if (where, version) != (name, major) or any(word in line for word in NOT_OURS):
            continue
        made = predict(parse(["mpirun", *line.split(), "./a"], VERSIONS[version]), machine(name), {})
        if made.unclear:
            continue
        told += 1
        everything = machine(name).topology
        assert everything is not None
        wanted = None if seen == "FAIL" else [CpuSet.parse(text) for text in re.findall(r"\{([^}]*)\}", seen)]
        ours = None if made.ranks is None else [rank.cpus or everything.pus for rank in made.ranks]
        if wanted != (ours[: len(wanted)] if ours is not None and wanted is not None else ours):
            wrong.append((line, seen[:80], made.refused))
    assert not wrong
    assert told >= 20
