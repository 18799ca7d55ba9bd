"""Ansible: the local facts of a machine, and of a fleet a dynamic inventory with groups by kind and by finding.

Facts: a JSON file that is not executable, /etc/ansible/facts.d/advisor.fact, is read as ansible_local.advisor. An inventory
is a program that answers --list with JSON, in which _meta saves a call for each host. Names of groups are letters, digits
and underscores (docs.ansible.com, "Developing dynamic inventory", "Discovering variables: facts.d").
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from advisor.advice.model.sheets import SEVERITIES
from advisor.exports.export import ExportOptions, ExportSubject
from advisor.fleet.fleet import Fleet
from advisor.machine.hosts.errands import expanded
from advisor.machine.topology import counts
from advisor.machine.units import plain

TITLE = "Ansible: local facts for a machine; for a fleet, an inventory grouped by kind, finding, incident and action"
ORDER = 40
PROVEN = "ansible-core 2.14.18 and 2.19.14 (setup, ansible-inventory)"
TAKES = ("machine", "fleet")


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the facts of a machine, or the inventory of a fleet, which is a program."""
    if subject.fleet is not None:
        return {f"{options.prefix}-inventory.sh": _program(inventory(subject.fleet, options.prefix), options.version)}
    return {f"{options.prefix}.fact": _json(facts(subject, options)) + "\n"}


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True)


_TEMPLATE = re.compile(r"\{[{%#]")


def _unsafe(value: Any) -> Any:
    """Return a value of the inventory in which texts that Ansible would take for a template are marked as none.

    An inventory's JSON is read by AnsibleJSONDecoder, which knows this mark (lib/ansible/parsing/ajson.py, 2.4 and later); facts
    of a machine come back from a module, whose results Ansible never takes for templates.
    """
    if isinstance(value, dict):
        return {key: _unsafe(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unsafe(inner) for inner in value]
    return {"__ansible_unsafe": value} if isinstance(value, str) and _TEMPLATE.search(value) else value


def facts(subject: ExportSubject, options: ExportOptions) -> dict[str, Any]:
    """Return what playbooks may ask of a machine; None where it is not known."""
    machine, audit = subject.audited()
    layout, topology, seen = subject.layout, machine.topology, counts(machine.topology) if machine.topology else None
    nodes = None
    if topology is not None and topology.numa_known:  # those with CPUs, of each socket
        nodes = [sum(node.cpuset <= package.cpuset for node in topology.cpu_nodes) for package in topology.packages]
    hcas = [
        {"name": hca.name, "numa_nodes": list(hca.locality.numa_nodes) if hca.locality else None} for hca in machine.hcas or ()
    ]
    return {
        "version": options.version,
        "audited": datetime.fromtimestamp(subject.read, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if subject.read else None,
        "scope": audit.scope,
        "platform": audit.platform_id,
        "vendor": audit.vendor,
        "partitioning": layout.cut.name if layout else None,
        "smt": layout.smt.state if layout else None,
        "sockets": seen.packages if seen else None,
        "cores": seen.cores if seen else None,
        "cpus": seen.pus if seen else None,
        "numa_nodes_per_socket": nodes,
        "adapters": None if machine.hcas is None else hcas,
        "gpus": None if machine.gpus is None else len(machine.gpus),
        # the rules that found something, each once, on however many things
        "findings": {word: list(dict.fromkeys(f.id for f in audit.found if f.severity == word)) for word in SEVERITIES},
        "settings": {row.name: plain(row.current) for row in audit.settings if row.current is not None},
        "wanted": {row.name: plain(row.wanted) for row in audit.settings if row.met is False and row.wanted is not None},
    }


def inventory(fleet: Fleet, prefix: str) -> dict[str, Any]:
    """Return what --list answers: groups of nodes, and of each node its kind and findings."""
    groups: dict[str, set[str]] = {}
    variables: dict[str, dict[str, Any]] = {}

    def put(group: str, nodes: str | tuple[str, ...]) -> tuple[str, ...]:
        names = expanded(nodes) if isinstance(nodes, str) else nodes
        groups.setdefault(group_name(prefix, group), set()).update(names)
        return names

    for kind in fleet.kinds:
        for node in put(f"kind_{kind.name.lower()}", kind.nodes):
            variables[node] = {f"{prefix}_kind": kind.name, f"{prefix}_findings": []}
    for wrong in fleet.wrong:
        put(f"severity_{wrong.severity}", wrong.nodes)
        for node in put(f"finding_{wrong.rule}", wrong.nodes):
            variables.setdefault(node, {}).setdefault(f"{prefix}_findings", []).append(wrong.rule)
    for each in fleet.incidents:
        if each.action != "ignore" and each.nodes:
            put(f"incident_{each.rule}", each.nodes)
            put(f"action_{each.action}", each.nodes)
    put("slow", tuple(each.node for each in fleet.slow))
    put("silent", tuple(each.node for each in fleet.silent))
    members = {name: {"hosts": sorted(nodes)} for name, nodes in groups.items() if nodes}
    return {"_meta": {"hostvars": _unsafe(variables)}, **members}


def group_name(prefix: str, text: str) -> str:
    """Return a name that Ansible takes for a group.

    >>> group_name("advisor", "finding_numa-nps-below-best")
    'advisor_finding_numa_nps_below_best'
    """
    return f"{prefix}_{re.sub(r'[^A-Za-z0-9_]', '_', text)}"


def _program(found: dict[str, Any], version: str) -> str:
    """Return the inventory as a program that needs nothing but a shell."""
    return f"""#!/bin/sh
# Ansible inventory of a fleet, written by advisor {version}: ansible-inventory -i FILE --graph
case ${{1:-}} in
--list) cat <<'END'
{_json(found)}
END
;;
--host) echo '{{}}' ;; # the variables of all hosts are in _meta
*) echo "usage: $0 --list | --host NAME" >&2; exit 2 ;;
esac
"""
