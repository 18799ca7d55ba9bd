"""Time a whole audit of a capture in CPU seconds, the interpreter's start and end with it, and the reading of the rules.

``python -m benchmarks.start_up CAPTURE [OTHER CHECKOUT] [--repeats N]``: with another checkout the two take turns, so that
what else the computer does meets both. The quickest of the repeats counts: nothing makes a program need less than it does.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOAD = """
import gc; gc.disable()
from time import process_time
from advisor.advice.judge.rulebook import load_rules, rule_files
from advisor.paths import rules
from advisor.advice.judgement import words
words()
begun = process_time()
load_rules(rule_files(rules()), (), words(), examples=False)
print(process_time() - begun)
"""


def audit_seconds(checkout: Path, capture: Path, compiled: str) -> float:
    """Return the CPU seconds of one audit by the code of a checkout, compiled beforehand as an installed one is."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "advisor", "audit", "--no-measure", "--from", str(capture)],
        cwd=checkout,
        env={**environment, "PYTHONPYCACHEPREFIX": compiled},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rule_seconds() -> float:
    """Return the CPU seconds that an audit takes to load the product's own rules."""
    ran = subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def main() -> None:
    """Print a line for each checkout, and one for the rules."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("capture", type=Path)
    words.add_argument("other", type=Path, nargs="?")
    words.add_argument("--repeats", type=int, default=7)
    asked = words.parse_args()
    places = [ROOT, *([asked.other.resolve()] if asked.other else [])]
    with tempfile.TemporaryDirectory() as compiled:
        for place in places:
            audit_seconds(place, asked.capture.resolve(), compiled)
        taken = [[audit_seconds(place, asked.capture.resolve(), compiled) for place in places] for _ in range(asked.repeats)]
    for place, seconds in zip(places, zip(*taken, strict=True), strict=True):
        print(f"{min(seconds):.3f} s  {place}: " + " ".join(f"{each:.3f}" for each in sorted(seconds)))
    print(f"{min(rule_seconds() for _ in range(asked.repeats)):.3f} s  loading the rules")


if __name__ == "__main__":
    main()
