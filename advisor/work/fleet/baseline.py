"""Keeps what a fleet is when it is good, and tells later what left it."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from advisor.errors import BadInput
from advisor.fleet.baseline import SCHEMA, Baseline, Checked, check, freeze
from advisor.host.files import open_here
from advisor.host.source import read_json
from advisor.model.audit.platform import Scope
from advisor.work import SILENT, Observer
from advisor.work.fleet.audit import audit_fleet

_CURE = "write it with advisor fleet baseline save"
_LARGEST = 64 << 20


@dataclass(frozen=True)
class CheckedFleet:
    """A fleet held against its baseline."""

    checked: Checked

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet baseline check --json``."""
        return {"schema": "advisor-fleet-check/1", **self.checked.model_dump(mode="json")}


def saved_baseline(
    places: Sequence[Path], scope: Scope = "mpi", *, site: Sequence[Path] = (), observer: Observer = SILENT
) -> Baseline:
    """Return what a fleet is now."""
    return freeze(audit_fleet(places, scope, site=site, observer=observer).nodes, _now())


def checked_fleet(
    baseline: Path, places: Sequence[Path], scope: Scope = "mpi", *, site: Sequence[Path] = (), observer: Observer = SILENT
) -> CheckedFleet:
    """Return what left a baseline."""
    kept = baseline_in(baseline)
    return CheckedFleet(check(kept, audit_fleet(places, scope, site=site, observer=observer).nodes, _now()))


def baseline_in(file: Path) -> Baseline:
    """Return the baseline that a file holds."""
    try:
        with open_here(file) as opened:
            size = os.fstat(opened.fileno()).st_size  # room is taken for all that is asked for
            data = read_json(opened.read(min(size, _LARGEST) + 1) or b"", _CURE, room=1 << 30)
        found = Baseline.model_validate(data)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure=_CURE) from error
    except BadInput as error:
        raise error.within(str(file)) from error
    except ValidationError as error:
        raise BadInput("is no baseline of a fleet", file=str(file), cure=_CURE) from error
    if found.format != SCHEMA:
        raise BadInput(f"its format is {found.format[:40]!a}, this advisor reads {SCHEMA}", file=str(file), cure=_CURE)
    return found


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
