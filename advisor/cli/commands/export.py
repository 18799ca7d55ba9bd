"""Write the machine, its audit or a fleet in the words of another program: Prometheus, JUnit, NHC, Slurm, Ansible.

--list names every format with the tool and version that took what it writes. With --from it is of a capture, an hwloc XML,
a saved audit (advisor audit --json), which is exported as it was, or a fleet's folder. No export holds serial numbers or
hardware addresses. A template of your own in /etc/advisor/templates/export or ~/.config/advisor/templates/export is a
format too. docs/exports.md says of each how it is used.

slurm --check FILE compares a slurm.conf, with all that it includes and the gres.conf beside it, with the nodes: what differs,
what that costs, the line to write. Exit status is 0 whatever differs, unless --fail-on says otherwise.

Group: Many servers
Example: advisor export --list
Example: advisor export prometheus -o /var/lib/node_exporter/advisor.prom
Example: advisor export junit --from node.tar.gz -o advisor.xml
Example: advisor export slurm --check /etc/slurm/slurm.conf --fail-on high
Example: advisor export ansible --from fleet/ -o inventory.sh
"""

from advisor.cli import export_options as own
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, emit_json, emit_text, say
from advisor.cli.values import must_be_writable
from advisor.errors import BadValue
from advisor.exports.export import export, export_format, formats
from advisor.exports.format import listing
from advisor.exports.slurm_check import check_slurm


def run(
    name: own.Form = None,
    *,
    source: own.From = None,
    scope: own.ScopeOfExport = None,
    rules: opt.Rules = None,
    bios: opt.Bios = None,
    measurements: opt.MeasurementsOption = None,
    prefix: own.Prefix = "advisor",
    include: own.Include = None,
    into: own.Into = None,
    check: own.Check = None,
    as_json: own.CheckJson = False,
    fail_on: opt.AuditFailOn = "never",
    listed: own.List = False,
) -> int:
    """Write an export."""
    if listed:
        say(listing(formats().values()))
        return 0
    if check is not None:
        return _checked(name, check, source, Form(into, as_json), fail_on)
    if as_json:
        raise BadValue("--json is of --check; a format is what it is", cure="leave it out, or see advisor export --list")
    if name is None:
        raise BadValue("no format is named", cure="advisor export --list has them")
    export_format(name)  # a format that is none, and a place that cannot be written, are refused before the machine is read
    if into is not None:
        must_be_writable(into, folder=into.is_dir())
    audited = {"site": rules or (), "bios": bios or (), "measurements": measurements or ()}
    made = export(name, source, scope, **audited, prefix=prefix, include=include or (), observer=Terminal())
    if into is None:
        say(made.text)
    for path in made.write(into) if into is not None else ():
        Terminal().say(f"wrote {path}")
    return 0


def _checked(name: str | None, file: str, source: str | None, form: Form, fail_on: opt.AuditLimit) -> int:
    """Print or write how a slurm.conf differs from the nodes; return the exit status."""
    if name != "slurm":
        raise BadValue("--check is of slurm alone", cure=f"advisor export slurm --check {file}")
    if form.output is not None:
        must_be_writable(form.output)
    found = check_slurm(file, source, Terminal())
    if form.json:
        emit_json(found.document(), form.output)
    else:
        emit_text(found.page(), form.output)
    return int(fail_on != "never" and found.reaches(fail_on))
