"""What every test may ask for."""

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tests.examples  # noqa: F401  how often a law is tried where its test does not say

Golden = Callable[[str, str], None]


os.environ.setdefault("ADVISOR_TRACEBACK", "1")  # a fault shows itself whole, and no test takes it for a line that was meant


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that accepts what is printed now as what shall be printed."""
    parser.addoption("--accept", action="store_true", help="write golden texts anew instead of comparing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests of real launchers as the matrix that CI has no time for."""
    for item in items:
        if item.path.name.startswith("test_binding_") and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.matrix)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failed test at once: where pytest-xdist itself ends early, nothing else would (its ValueError, list.remove)."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stderr.write(f"\n{report.nodeid} failed ({report.when})\n")


def pytest_collection_finish() -> None:
    """Let Python look for garbage rarely, and not among what was collected: that is a tenth of the suite's seconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with the file of that name in ``golden/`` beside the test; --accept writes the file."""
    folder = request.path.parent / "golden"

    def check(name: str, text: str) -> None:
        file = folder / name
        if request.config.getoption("--accept"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        page = request.node.nodeid.partition("::")[0]
        assert file.exists(), (
            f"no golden text {name}: run pytest {page} --accept, and read {page.rpartition('/')[0]}/golden/{name}"
        )
        assert file.read_text(encoding="utf-8") == text

    return check


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Return a folder in memory where there is one: a root has thousands of files, and disks are slow to forget them."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="advisor-test-") as folder:
        yield Path(folder)
