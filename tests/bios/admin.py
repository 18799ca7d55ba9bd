"""An admin who types commands at imitated BMCs, and what these saw of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from tests.bios.imitation import PASSWORD, USER, Bmc

WISH: dict[str, tuple[str, Any]] = {
    "dell": ("SubNumaCluster", "2-Way"),
    "hpe": ("ProcSMT", "Disabled"),
    "lenovo": ("Processors_SNC", "Enabled"),
    "supermicro": ("SNC_F300", "4"),
    "ami": ("Rome0075", "NPS4"),
}
"""A change that each maker's machine allows."""


@dataclass
class Said:
    """How a command line ended, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Return what --json printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def lines(self) -> int:
        """Return how many lines went to standard error."""
        return self.err.count("\n")


class Admin:
    """Types commands in a folder of their own; the credentials are in the environment each time."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._patch, self._capsys = folder, monkeypatch, capsys
        self.said: list[str] = []
        self.password = PASSWORD

    def types(self, *words: object, bmc: Bmc | None = None) -> Said:
        """Return how ``advisor WORDS`` ends; with a BMC its address and --insecure are added."""
        if bmc or "--bmc" in words:
            self._patch.setenv("ADVISOR_BMC_USER", USER)
            self._patch.setenv("ADVISOR_BMC_PASSWORD", self.password)
        where = ["--bmc", bmc.url, "--insecure"] if bmc else []
        code = status([*(str(word) for word in words), *where])
        told = self._capsys.readouterr()
        self.said += [told.out, told.err]
        return Said(code, told.out, told.err)

    def plan(self, values: dict[str, Any], name: str = "plan.yaml", **owner: str) -> Path:
        """Write a plan by hand."""
        place = self.folder / name
        changes = "".join(f"  - {{attribute: {json.dumps(key)}, value: {json.dumps(to)}}}\n" for key, to in values.items())
        whose = "".join(f"  {key}: {json.dumps(text)}\n" for key, text in owner.items())
        place.write_text(f"format: advisor-bios-plan/1\n{'owner:' if owner else ''}\n{whose}changes:\n{changes}")
        return place

    def wish(self, maker: str) -> Path:
        """Write the plan of a change that a maker's machine allows."""
        name, value = WISH[maker]
        return self.plan({name: value})

    def stages(self, bmc: Bmc, plan: Path, record: str = "record.json", *more: object) -> Said:
        """Stage a plan without a question, and print JSON."""
        return self.types("bios", "stage", plan, "--yes", "--record", self.folder / record, "--json", *more, bmc=bmc)

    def restarts(self, bmc: Bmc, *more: object) -> Said:
        """Restart a server that is in no Slurm cluster, for the newest record of what waits; for none where nothing waits."""
        kept = [path for path in self.folder.iterdir() if path.is_file() and b"advisor-bios-record/1" in path.read_bytes()[:60]]
        newest = max(kept, key=lambda path: path.stat().st_mtime_ns, default=None)
        said = (
            ("--record", newest)
            if newest is not None and bmc.pending and "shows early" not in bmc.lies
            else ("--nothing-staged",)
        )
        return self.types("bios", "restart", "--yes", "--no-slurm", "--drained", "--json", *said, *more, bmc=bmc)

    def record(self, name: str = "record.json") -> dict[str, Any]:
        """Return a record that was saved."""
        found: dict[str, Any] = json.loads((self.folder / name).read_text())
        return found
