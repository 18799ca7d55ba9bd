"""Change the product at random, one place at a time, and see whether a test notices: ``make mutants``, a bounded pass.

``python -m benchmarks.mutants [CHECKOUT] [--room place --room judge] [--each 40] [--seed 13] [--list]``. The checkout is
copied to a temporary folder and only the copy is changed. The room's tests run once under a tracer that notes which
functions each test calls; a mutant is then given to the tests that call its function, the quickest first, until one
fails. What no test notices is printed with its place. A change is picked by a hash of its function's name, its text and
the seed: the same ones are tried in an older checkout, wherever the function stood there.
"""

import argparse
import ast
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = {
    "language": (
        "tests/language", "tests/model/test_amounts.py", "tests/judge/test_engine.py", "tests/judge/test_rule.py",
        "tests/judge/test_explain.py",
    ),
    "judge": ("tests/judge", "tests/test_wrong_rules.py"),
    "jobs": ("tests/jobs",),
    "model": ("tests/model", "tests/compare"),
}  # fmt: skip
"""A room and its tests, those of an older checkout too."""
CHOICE = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow and not emulated and not matrix and not corpus")
LONGEST = 60.0
"""Seconds of tests, as the tracer saw them, that a mutant is given to."""
MEMORY = 4 << 30

TRACER = """
import json, os, sys, threading, time
import pytest
ROOM, SEEN, NOW = os.environ["MUTANTS_ROOM"], {}, [set()]
def tracer(frame, event, _):
    code = frame.f_code
    if code.co_filename.startswith(ROOM):
        NOW[0].add(f"{code.co_filename}:{code.co_firstlineno}")
SEEN[""] = [0, NOW[0]]
sys.settrace(tracer)
threading.settrace(tracer)
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    NOW[0], begun = set(), time.monotonic()
    yield
    SEEN[item.nodeid] = [time.monotonic() - begun, NOW[0]]
def pytest_runtest_logreport(report):
    if report.failed:
        SEEN.setdefault("failed", [0, []])[1].append(report.nodeid)
def pytest_sessionfinish():
    sys.settrace(None)
    with open(os.environ["MUTANTS_SEEN"], "w") as file:
        json.dump({name: [seconds, sorted(lines)] for name, (seconds, lines) in SEEN.items()}, file)
"""


class Mutant(NamedTuple):
    """One change: a file, what stands there and what is put there, and the function around it."""

    path: Path
    first: int
    last: int
    old: str
    new: str
    function: str
    line: int
    starts: int | None
    """The first line of the function around it; None outside of functions and where an answer is kept between tests."""


_SWAPS: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield what may be put in place of a node, or of a part of it."""
    if isinstance(node, (ast.Compare, ast.BoolOp, ast.BinOp)):
        yield from _operators(node)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield node.test, f"not ({ast.unparse(node.test)})"
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield node.ifs[0], f"not ({ast.unparse(node.ifs[0])})"
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield node.value, "None"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "None"
    else:
        yield from _values(node)


def _operators(node: ast.Compare | ast.BoolOp | ast.BinOp) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            ops = [*node.ops[:at], _SWAPS[type(op)](), *node.ops[at + 1 :]]
            yield node, ast.unparse(ast.Compare(node.left, ops, node.comparators))
    elif isinstance(node, ast.BoolOp):
        yield node, ast.unparse(ast.BoolOp(_SWAPS[type(node.op)](), node.values))
    elif type(node.op) in _SWAPS:
        yield node, ast.unparse(ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right))


def _values(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, ast.unparse(node.operand)
    elif isinstance(node, ast.Constant) and node.value is not None and node.value is not Ellipsis:
        yield node, repr(_other(node.value))
    elif isinstance(node, ast.JoinedStr):
        yield node, ast.unparse(ast.JoinedStr([ast.Constant("XX"), *node.values]))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _NAMES:
        yield node, _NAMES[node.id]


def _other(value: object) -> object:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else b"XX" + value if isinstance(value, bytes) else f"XX{value}"


def _worth(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that do something: no annotation, docstring, decorator, description or pattern."""
    kept = {"annotation", "returns", "decorator_list", "type_comment", "pattern", "format_spec"}
    for name, value in ast.iter_fields(node):
        if name in kept or (isinstance(node, ast.JoinedStr) and name == "values"):
            continue
        for part in value if isinstance(value, list) else [value]:
            text = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
            note = isinstance(part, ast.keyword) and part.arg == "description"
            typed = isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING"
            if isinstance(part, ast.AST) and not (text or note or typed or isinstance(part, (ast.Import, ast.ImportFrom))):
                yield part


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every change of a file."""
    text = path.read_text(encoding="utf-8")
    data, begins = text.encode(), [0]
    for line in data.split(b"\n"):
        begins.append(begins[-1] + len(line) + 1)
    todo: list[tuple[ast.AST, str, int | None]] = [(ast.parse(text), "", None)]
    while todo:
        node, function, starts = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [ast.unparse(each) for each in node.decorator_list]
            kept = any("cache" in each for each in decorators)
            function = node.name
            starts = None if kept else min([node.lineno, *(each.lineno for each in node.decorator_list)])
        for where, new in changes(node):
            first = begins[where.lineno - 1] + where.col_offset  # type: ignore[attr-defined]
            last = begins[where.end_lineno - 1] + where.end_col_offset  # type: ignore[attr-defined]
            old = data[first:last].decode()
            put = new if isinstance(where, ast.Expr) else f"({new})"
            yield Mutant(path, first, last, old, put, function, where.lineno, starts)  # type: ignore[attr-defined]
        todo += [(part, function, starts) for part in _worth(node)]


def sample(room: Path, seed: int, most: int) -> list[Mutant]:
    """Return some changes of a room, the same ones for a seed wherever their functions stand."""
    found: dict[str, Mutant] = {}
    for path in sorted(room.rglob("*.py")):
        for mutant in mutants(path):
            key = f"{seed} {mutant.function} {mutant.old} {mutant.new}"
            found.setdefault(hashlib.sha256(key.encode()).hexdigest(), mutant)
    return [found[key] for key in sorted(found)[:most]]


class Copy:
    """A copy of a checkout, which may be changed."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.root = folder / "tree"
        out = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "dist")
        shutil.copytree(checkout, self.root, ignore=out, symlinks=True)
        (folder / "mutants_tracer.py").write_text(TRACER)
        self.folder = folder

    def tests(self, words: Iterable[str], limit: float, **more: str) -> int | None:
        """Return the status of some tests; None where they took too long."""
        environment = {**os.environ, "PYTHONPATH": f"{self.root}:{self.folder}", "PYTHONDONTWRITEBYTECODE": "1", **more}
        started = subprocess.Popen(
            [sys.executable, "-m", "pytest", *CHOICE, *words],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),  # noqa: PLW1509 - one thread
        )
        try:
            return started.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, 9)
            started.wait()
            return None

    def calls(self, room: str) -> dict[str, tuple[float, frozenset[str]]]:
        """Return the tests of a room that pass, with their seconds and the functions that they call."""
        seen = self.folder / f"{room}.json"
        there = [place for place in ROOMS[room] if (self.root / place).exists()]
        inside = str(self.root / "advisor" / room) + "/"
        self.tests(["-p", "mutants_tracer", *there], 1800, MUTANTS_ROOM=inside, MUTANTS_SEEN=str(seen))
        told = json.loads(seen.read_text())
        failed = set(told.pop("failed", [0, []])[1])
        return {name: (seconds, frozenset(lines)) for name, (seconds, lines) in told.items() if name not in failed}

    def killed(self, mutant: Mutant, calls: dict[str, tuple[float, frozenset[str]]]) -> bool:
        """Return whether a test notices a change; one that never ends is noticed."""
        place = f"{mutant.path}:{mutant.starts}"
        everywhere = mutant.starts is None or place in calls[""][1]
        names = sorted((seconds, name) for name, (seconds, lines) in calls.items() if name and (everywhere or place in lines))
        chosen, total = list[str](), 0.0
        for seconds, name in names:
            total += seconds
            if total < LONGEST and "\n" not in name:
                chosen.append(name)
        if not chosen:
            return False
        (self.folder / "chosen").write_text("\n".join(chosen) + "\n")
        data = mutant.path.read_bytes()
        try:
            mutant.path.write_bytes(data[: mutant.first] + mutant.new.encode() + data[mutant.last :])
            return self.tests(["-x", f"@{self.folder / 'chosen'}"], 30 + 3 * min(total, LONGEST)) != 0
        finally:
            mutant.path.write_bytes(data)


def main() -> None:
    """Print what no test noticed, and the score of each room."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("checkout", type=Path, nargs="?", default=ROOT)
    words.add_argument("--room", action="append", choices=ROOMS)
    words.add_argument("--each", type=int, default=40, help="how many changes a room")
    words.add_argument("--seed", type=int, default=13)
    words.add_argument("--list", action="store_true", help="only print the changes that would be tried")
    asked = words.parse_args()
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="advisor-mutants-") as folder:
        copy = Copy(asked.checkout.resolve(), Path(folder))
        for room in asked.room or ROOMS:
            chosen = sample(copy.root / "advisor" / room, asked.seed, asked.each)
            calls = {} if asked.list else copy.calls(room)
            left = []
            for mutant in chosen:
                if asked.list or not copy.killed(mutant, calls):
                    left.append(mutant)
                    where = f"{mutant.path.relative_to(copy.root)}:{mutant.line} {mutant.function or 'outside'}"
                    print(f"  {where}: {mutant.old[:120]!r} -> {mutant.new[:120]!r}", flush=True)
            print(f"{room}: {len(chosen) - len(left)} of {len(chosen)} noticed", flush=True)


if __name__ == "__main__":
    main()
