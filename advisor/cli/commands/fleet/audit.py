"""Audit many nodes on one screen: who is wrong, who drifted, who is slow, who did not answer.

Reads a folder of captures, with answers.jsonl of who was asked where there is one, or captures, hwloc XMLs and Machine
JSONs from elsewhere; with -w the nodes are captured again first, into DIR, and all of DIR is judged. Nodes are put together by
their hardware. WRONG is a finding of the rules, INFO one that is no fault, DRIFT a fact in which at most a tenth of a kind
differs from the rest, SPLIT one that divides a kind (nobody but you knows which side is meant), SLOW a measured figure far
below those of its like. A second audit of a folder reads only what is new. Exit status is 0 whatever it finds, unless
--fail-on or --fail-on-missing says otherwise; 2 where no node answered.

Group: Many servers
Example: advisor fleet audit -w 'n[001-400]' fleet/
Example: advisor fleet audit fleet/
Example: advisor fleet audit 'captures'/*.tar.gz --json
Example: advisor fleet audit fleet/ --fail-on high --exclude odd.nodes
"""

from functools import partial
from pathlib import Path

from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.fleet.audit import audit_fleet
from advisor.fleet.page import excluded_text, fleet_page
from advisor.machine.hosts.files import write_file


@fleet_opt.captures_first
def run(
    *,
    places: list[Path],
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    fail_on: opt.AuditFailOn = "never",
    fail_on_missing: fleet_opt.FailOnMissing = False,
    exclude: fleet_opt.Exclude = None,
    verbose: fleet_opt.Verbose = False,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Audit many nodes."""
    observer = Terminal()
    found = audit_fleet(places, scope, site=rules or (), observer=observer)
    if exclude is not None:
        write_file(exclude, f"{found.fleet.exclude}\n".encode())
        observer.say(f"wrote {exclude}: {excluded_text(found.fleet)}")
    page = partial(fleet_page, found.fleet, [str(place) for place in places], verbose=verbose, width=width)
    show(Form(output, json, width, not no_color), found.document, page)
    return int((fail_on != "never" and found.fleet.reaches(fail_on)) or (fail_on_missing and bool(found.fleet.silent)))
