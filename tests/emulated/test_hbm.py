"""HBM in flat mode on a server that QEMU makes up: the HMAT names it, lines bind it, and ranks prove that they have it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.emulated.guests import lacking, on_guest

pytestmark = [pytest.mark.emulated, pytest.mark.slow]

SCRIPT = """
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$PYTHON" -m advisor topology --json >/run/vm/topology.json
cd /tmp
for wish in auto hbm; do
    "$PYTHON" -m advisor bind --ranks 4 --launcher openmpi4 --mem $wish -o $wish -- true >/run/vm/$wish.txt
    "$PYTHON" -m advisor verify $wish --json >/run/vm/$wish.json || true
done
bare="mpirun -np 4 --map-by ppr:1:numa --bind-to core {}"
"$PYTHON" -m advisor verify --plan auto/plan.json --json -- $bare >/run/vm/bare.json || true
"""


@pytest.mark.skipif(lacking() is not None, reason=str(lacking()))
@pytest.mark.skipif(not shutil.which("mpirun") or not shutil.which("numactl"), reason="Open MPI or numactl is not installed")
def test_ranks_have_the_hbm_beside_them(tmp_path: Path) -> None:
    """Each rank observes its own HBM node: first with auto, alone with hbm; a line without numactl is found out."""
    on_guest("small-hbm", SCRIPT, tmp_path, limit=1800)
    nodes = json.loads((tmp_path / "topology.json").read_text())["nodes"]
    assert [(node["os_index"], node["kind"]) for node in nodes if not node["cpus"]] == [
        (4, "hbm"),
        (5, "hbm"),
        (6, "hbm"),
        (7, "hbm"),
    ]
    for wish in ("auto", "hbm"):
        seen = json.loads((tmp_path / f"{wish}.json").read_text())
        assert (seen["equal"], seen["planned"], seen["seen"]) == (True, 4, 4)
    assert json.loads((tmp_path / "bare.json").read_text())["counts"]["exact"] == 0
