"""Write the machine, its audit or a fleet in the words of another program: Prometheus, JUnit, NHC, Slurm, Ansible.

--list names every format with the tool and version that took what it writes. With --from it is of a capture, an hwloc XML,
a saved audit (advisor audit --json), which is exported as it was, or a fleet's folder. No export holds serial numbers or
hardware addresses. A template of your own in /etc/advisor/templates/export or ~/.config/advisor/templates/export is a
format too. docs/exports.md says of each how it is used.

Group: Many servers
Example: advisor export --list
Example: advisor export prometheus -o /var/lib/node_exporter/advisor.prom
Example: advisor export junit --from node.tar.gz -o advisor.xml
Example: advisor export ansible --from fleet/ -o inventory.sh
"""

from advisor.cli import export_options as own
from advisor.cli import options as opt
from advisor.cli.output import Terminal, say
from advisor.errors import BadValue


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
    listed: own.List = False,
) -> None:
    """Write an export."""
    from advisor.render.export import listing
    from advisor.work.report.exports import export, export_format, formats
    from advisor.work.values import must_be_writable

    if listed:
        return say(listing(formats().values()))
    if name is None:
        raise BadValue("no format is named", cure="advisor export --list has them")
    export_format(name)  # a format that is none, and a place that cannot be written, are refused before the machine is read
    if into is not None:
        must_be_writable(into, folder=into.is_dir())
    made = export(
        name,
        source,
        scope,
        site=rules or (),
        bios=bios or (),
        measurements=measurements or (),
        prefix=prefix,
        include=include or (),
        observer=Terminal(),
    )
    if into is None:
        return say(made.text)
    return _written(made.write(into))


def _written(paths: tuple[str, ...]) -> None:
    for path in paths:
        Terminal().say(f"wrote {path}")
