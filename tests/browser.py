"""A real Chromium that opens a page: what axe and html-validate say, whether it asks for anything, how wide it is, how it prints.

`sh prepare.sh browser` installs what this needs: Chromium of the system, axe-core, html-validate and puppeteer-core from npm.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

CACHE: Final = Path(os.environ.get("ADVISOR_BROWSER_CACHE") or Path.home() / ".cache" / "advisor-browser")
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PARTS: Final = ("axe-core", "html-validate", "puppeteer-core")
_MISSING: Final = [
    *(["chromium"] if CHROMIUM is None else []),
    *(["node"] if shutil.which("node") is None else []),
    *(part for part in _PARTS if not (CACHE / "node_modules" / part).is_dir()),
]

needs_browser: Final = pytest.mark.skipif(
    bool(_MISSING), reason=f"no {', '.join(_MISSING)}: sh prepare.sh browser installs what opens pages"
)
"""For a test that opens a page: skipped, visibly, where no browser is."""


@dataclass(frozen=True)
class Look:
    """How a page is opened, and where a picture of it goes."""

    scheme: str = "light"
    width: int = 1280
    height: int = 900
    media: str | None = None
    axe: bool = False
    shot: Path | None = None
    click: str | None = None
    away: bool = False
    """Whether to go to another page and back, after the click."""
    clip: tuple[int, int, int, int] | None = None
    """A part of the page, from its left and top: without it the picture has all of it."""

    def wish(self) -> dict[str, Any]:
        """Return it as the helper takes it."""
        clip = dict(zip(("x", "y", "width", "height"), self.clip, strict=True)) if self.clip else None
        shot = str(self.shot) if self.shot else None
        return {**self.__dict__, "shot": shot, "clip": clip}


def open_page(page: Path, looks: Sequence[Look]) -> list[dict[str, Any]]:
    """Return what each look saw: violations, requests, dialogs, errors, scripts, dangling ids, widths, checked, text."""
    found: list[dict[str, Any]] = _ask({"page": str(page), "looks": [look.wish() for look in looks]})["looks"]
    return found


def invalid(page: Path) -> list[str]:
    """Return what html-validate says against a page, a line a fault."""
    found: list[str] = _ask({"page": str(page), "validate": True})["validate"]
    return found


def printed(page: Path, pdf: Path) -> int:
    """Print a page on A4 as the browser does; return how many sheets it takes."""
    _ask({"page": str(page), "pdf": str(pdf)})
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf.read_bytes()))


def _ask(wish: dict[str, Any]) -> dict[str, Any]:
    here = {**os.environ, "NODE_PATH": str(CACHE / "node_modules"), "ADVISOR_BROWSER": CHROMIUM or ""}
    script = Path(__file__).with_suffix(".js")
    done = subprocess.run(["node", script], input=json.dumps(wish), capture_output=True, text=True, env=here, check=False)
    assert done.returncode == 0, f"the browser could not: {done.stderr[-2000:]}"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
