"""What is said above info of nodes as sites have them: nothing of healthy ones, of others what is amiss."""

from pathlib import Path

import pytest

from advisor.advice.judgement import judged
from advisor.machine.read import read_machine
from tests.examples import a_third
from tests.machines import sysfs
from tests.machines.sites import sites
from tests.machines.spec import Spec
from tests.machines.tree import write

CUT = [("low", "cpu-l3-cut"), ("low", "cpu-l3-cut")]
SAID = {
    "dual-rail-one-down": [("medium", "fabric-rail-down")],
    "job-4-of-32": CUT,
    "dimm-missing": [("medium", "memory-channel-empty"), ("medium", "memory-channel-empty")],
}
"""Above info for MPI; of nodes that are not here, nothing."""
VIRTUAL = {name: SAID[name] for name in ("job-4-of-32", "dimm-missing")}
"""The same for hosts of virtual machines."""


@pytest.mark.parametrize("made", a_third(sites()), ids=lambda made: made.host)
def test_a_node_as_sites_have_it_is_told_what_is_amiss_and_no_more(made: Spec, scratch: Path) -> None:
    """No rule fails, and only what somebody who knows such nodes would mend is above info."""
    write(sysfs.root(made), scratch)
    machine = read_machine(str(scratch))
    for scope, said in (("mpi", SAID), ("virtualisation", VIRTUAL)):
        audit = judged(machine, "mpi" if scope == "mpi" else "virtualisation").audit
        assert [(f.id, f.claim) for f in audit.findings if f.verdict == "error"] == []
        assert [(f.severity, f.id) for f in audit.found if f.severity != "info"] == said.get(made.host, [])
