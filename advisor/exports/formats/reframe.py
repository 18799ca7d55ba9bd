"""A ReFrame test that measures what was measured, and holds it to that: references from medians, bounds from their spread.

A reference is (value, lower bound, upper bound, unit); bounds are parts of the value (reframe-hpc.readthedocs.io, "Performance
tests"). More bandwidth than the reference is never a fault, so there is no upper bound.
"""

from collections.abc import Mapping
from statistics import median

from advisor.errors import BadValue
from advisor.exports.export import TRIAD, ExportOptions, ExportSubject, best_results
from advisor.machine.units import plain
from advisor.measure.measurement import Result

TITLE = "a ReFrame test of memory bandwidth, with measured references (--measurements)"
ORDER = 60
PROVEN = "ReFrame 4.10.4 (run, pass and fail)"

_LEAST = 0.05
"""The least that a figure may be below its reference: bandwidth varies by some percent from boot to boot."""
_MOST = 0.5
_SIGMA = 1.4826
"""Times the median absolute deviation: the standard deviation of what is normally distributed."""


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file; refuse where nothing was measured that can be measured again the same way."""
    machine, _ = subject.audited()
    best = best_results(subject.measurements, TRIAD) if subject.measurements else {}
    if not best or subject.measurements is None:
        cure = "measure first: advisor measure membw --save node.json, then add --measurements node.json"
        raise BadValue("no valid triad result for a machine, socket or NUMA node was given", cure=cure)
    told = "\n".join(
        f'        "{part}{index}": ({each.median / 1e9:.4g}, -{spare(each):.3g}, None, "GB/s"),'
        for (part, index), each in sorted(best.items())
    )
    parts = sorted({part for part, _ in best})
    name = "".join(word.capitalize() for word in options.prefix.split("_"))
    about = f"{machine.name or 'a machine'}, measured {subject.measurements.conditions.when}"
    patterns = {each.variant for each in subject.measurements.of("part", "bytes/s") if each.variant.startswith("triad")}
    given = {
        "PATTERNS": ",".join(sorted(patterns)),
        "ABOUT": plain(about, 120),
        "VERSION": options.version,
        "NAME": name,
        "REFERENCES": told,
        "PARTS": repr(parts),
    }
    text = _TEST
    for word, value in given.items():
        text = text.replace(f"@{word}@", value)
    return {f"{options.prefix}_reframe.py": text}


def spare(result: Result) -> float:
    """Return how far below its median a figure may be: three times its own deviation, at least 5 %, at most half."""
    deviation = median(abs(value - result.median) for value in result.values)
    return min(max(_LEAST, 3 * _SIGMA * deviation / result.median), _MOST)


_TEST = '''\
# Written by advisor @VERSION@ of @ABOUT@: reframe -c FILE -r
# Lower bounds are three times the spread of the repeats, at least 5 %. A busy node is not measured unless -S busy_ok=yes is set.
import json
from statistics import median

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class @NAME@Bandwidth(rfm.RunOnlyRegressionTest):
    descr = "STREAM triad of whole parts, compared with earlier measurements"
    part = parameter(@PARTS@)
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    exclusive_access = True
    executable = "advisor"
    busy_ok = variable(bool, value=False)
    references = {
@REFERENCES@
    }

    @run_before("run")
    def ask(self):
        if self.executable == "advisor":
            self.executable_opts = ["measure", "membw", "--per", self.part, "--pattern", "@PATTERNS@", "--json"]
            self.executable_opts += ["--busy-ok"] if self.busy_ok else []

    @sanity_function
    def measured(self):
        return sn.assert_found(r'"results"', self.stdout, "nothing was measured; see standard error")

    @run_before("performance")
    def figures(self):
        own = {name: each for name, each in self.references.items() if name.rstrip("0123456789") == self.part}
        self.reference = {"*": own}
        self.perf_variables = {name: sn.make_performance_function(self.figure(name), "GB/s") for name in own}

    @deferrable
    def figure(self, name):
        """Return the best median of both kinds of stores, of results that are believed, in the part's own memory."""
        with open(sn.evaluate(self.stdout)) as file:
            results = json.load(file)["results"]
        return max(
            median(each["values"]) / 1e9
            for each in results
            if f"{each['part']}{each['index'] or 0}" == name and each["purpose"] == "part" and each["refused"] is None
            and each["variant"].startswith("triad") and each["distance"] in (None, "local", "spread")
        )
'''
