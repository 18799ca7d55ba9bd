"""Measure many nodes at once, and say who is slow beside the others.

Every node must have been captured into DIR first: its plan is made from its capture. The kernels are built here and sent with
the plan; nothing is installed on nodes and nothing left there. Each has an idle gate of its own: one that is busy is not
measured. Who is slow is measured a second time before being named. The results are kept as DIR/NODE.measured.json, which
advisor fleet audit reads. Takes about as long as advisor measure on one node. Exit status is 1 where some are slow, 2 where
none was measured.

Group: Many servers
Example: advisor fleet measure -o fleet
Example: advisor fleet measure -w 'n[001-040]' -o fleet
"""

from pathlib import Path

from advisor.cli import node_options as nodes
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show


def run(
    *,
    where: nodes.Where = None,
    hosts: nodes.HostsFile = None,
    slurm: nodes.Slurm = None,
    folder: nodes.Folder = Path("fleet"),
    busy_ok: opt.BusyOk = False,
    timeout: nodes.Timeout = 60.0,
    fan_out: nodes.FanOut = 64,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Measure many nodes."""
    from advisor.host.errands import Way
    from advisor.render.fleet.answers import measured_page
    from advisor.work.fleet.measure import measure_fleet

    way = Way(slurm, fan_out, timeout)
    done = measure_fleet(nodes.named(where, hosts), folder, way, busy_ok=busy_ok, observer=Terminal())
    show(Form(None, json, width, not no_color), done.document, lambda: measured_page(done.document(), done.slow, width))
    return done.status
