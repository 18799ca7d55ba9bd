"""Alert rules for Prometheus on what the format ``prometheus`` writes, and promtool's tests of them.

A fixed finding and an audit that no longer runs look alike: the series is gone or stays as it was. So the age of the audit is
an alert of its own. The tests are data: each alert fires where it should, and not a sample earlier.
"""

from collections.abc import Mapping

from advisor.exports.export import ExportOptions, ExportSubject

TITLE = "Prometheus alert rules for advisor's metrics: costly finding, old audit, lost bandwidth, silent nodes"
ORDER = 21
PROVEN = "promtool 2.42.0 (check rules, test rules), Prometheus 2.42.0 (alerts)"
TAKES = ("golden",)
INCLUDES = {"tests": "promtool's tests of the rules, in a second file"}


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the rules, and their tests where they are asked for."""
    kinds = "".join(
        _KIND.replace("KIND", kind.name).replace("COUNT", str(kind.count))
        for kind in (subject.fleet.kinds if subject.fleet else ())
    )
    made = {f"{options.prefix}-rules.yml": _RULES + kinds}
    if "tests" in options.include:
        made[f"{options.prefix}-rules-test.yml"] = _TESTS
    camel = "".join(word.capitalize() for word in options.prefix.split("_"))
    return {name: text.replace("PREFIX", options.prefix).replace("CAMEL", camel) for name, text in made.items()}


_RULES = """\
# Alerts on the metrics of advisor export prometheus. Check them: promtool check rules PREFIX-rules.yml
groups:
  - name: PREFIX
    rules:
      - alert: CAMELFinding
        expr: PREFIX_finding{severity="high"} == 1
        for: 1h
        labels: {severity: warning}
        annotations:
          summary: "{{ or $labels.node $labels.instance }}: {{ $labels.rule }} {{ $labels.object }}"
          description: "advisor explain {{ $labels.rule }} says why, what it costs and how to fix it."
      - alert: CAMELAuditOld
        expr: time() - PREFIX_last_audit_timestamp_seconds > 7 * 86400
        for: 1h
        labels: {severity: info}
        annotations:
          summary: "{{ $labels.instance }}: no audit for a week; its findings may be fixed or new"
      - alert: CAMELRuleFailed
        expr: PREFIX_verdicts{verdict="error"} > 0
        for: 1h
        labels: {severity: info}
        annotations:
          summary: "{{ $labels.instance }}: {{ $value }} rules could not be evaluated"
      - alert: CAMELBandwidthLost
        # The best of 30 days is the reference: a tenth less means a DIMM, a setting or a clock has changed.
        expr: PREFIX_memory_bandwidth_bytes_per_second < 0.9 * max_over_time(PREFIX_memory_bandwidth_bytes_per_second[30d])
        for: 1h
        labels: {severity: warning}
        annotations:
          summary: "{{ $labels.instance }}: memory bandwidth of {{ $labels.per }} {{ $labels.index }} fell by a tenth or more"
      - alert: CAMELNodesSilent
        expr: PREFIX_fleet_nodes{state="asked"} - ignoring(state) PREFIX_fleet_nodes{state="answered"} > 0
        for: 1h
        labels: {severity: info}
        annotations:
          summary: "{{ $value }} nodes of the fleet did not answer"
      - alert: CAMELFleetFinding
        expr: PREFIX_fleet_finding_nodes{severity="high"} > 0
        for: 1h
        labels: {severity: warning}
        annotations:
          summary: "{{ $value }} nodes of kind {{ $labels.kind }}: {{ $labels.rule }}"
      - alert: CAMELFileBroken
        # node_exporter drops the whole file for one wrong line.
        expr: node_textfile_scrape_error == 1
        for: 1h
        labels: {severity: warning}
        annotations:
          summary: "{{ $labels.instance }}: node_exporter cannot read a file of its textfile collector"
"""

_KIND = """\
      - alert: CAMELNodesOfKind
        # The count and the kinds of hardware are those in the golden file.
        expr: PREFIX_fleet_kind_nodes{kind="KIND"} < COUNT or absent(PREFIX_fleet_kind_nodes{kind="KIND"})
        for: 1h
        labels: {severity: warning, kind: "KIND"}
        annotations:
          summary: "fewer than COUNT nodes of kind KIND match the golden file"
"""
"""Of a golden file: one for each kind."""

_TESTS = """\
# promtool test rules PREFIX-rules-test.yml
rule_files: [PREFIX-rules.yml]
evaluation_interval: 30m
tests:
  - interval: 1m
    name: a costly finding fires after an hour, a small one never
    input_series:
      - {series: 'PREFIX_finding{rule="numa-nps-below-best",object="socket 0",severity="high",instance="n1"}', values: '1x120'}
      - {series: 'PREFIX_finding{rule="os-swappiness",severity="info",instance="n1"}', values: '1x120'}
    alert_rule_test:
      - {eval_time: 59m, alertname: CAMELFinding, exp_alerts: []}
      - eval_time: 90m
        alertname: CAMELFinding
        exp_alerts:
          - exp_labels: {severity: warning, rule: numa-nps-below-best, object: socket 0, instance: n1}
            exp_annotations:
              summary: "n1: numa-nps-below-best socket 0"
              description: "advisor explain numa-nps-below-best says why, what it costs and how to fix it."
  - interval: 1m
    name: an audit is old after a week
    input_series:
      - {series: 'PREFIX_last_audit_timestamp_seconds{instance="n1"}', values: '0x12000'}
    alert_rule_test:
      - {eval_time: 7d, alertname: CAMELAuditOld, exp_alerts: []}
      - eval_time: 8d
        alertname: CAMELAuditOld
        exp_alerts:
          - exp_labels: {severity: info, instance: n1}
            exp_annotations: {summary: "n1: no audit for a week; its findings may be fixed or new"}
  - interval: 1m
    name: a rule that could not be evaluated
    input_series:
      - {series: 'PREFIX_verdicts{verdict="error",instance="n1"}', values: '2x120'}
      - {series: 'PREFIX_verdicts{verdict="pass",instance="n1"}', values: '100x120'}
    alert_rule_test:
      - eval_time: 90m
        alertname: CAMELRuleFailed
        exp_alerts:
          - exp_labels: {severity: info, verdict: error, instance: n1}
            exp_annotations: {summary: "n1: 2 rules could not be evaluated"}
  - interval: 1m
    name: bandwidth a tenth below its best, and one that only varies
    input_series:
      - {series: 'PREFIX_memory_bandwidth_bytes_per_second{per="socket",index="0",instance="n1"}', values: '150x60 130x120'}
      - {series: 'PREFIX_memory_bandwidth_bytes_per_second{per="socket",index="1",instance="n1"}', values: '150x60 140x120'}
    alert_rule_test:
      - {eval_time: 1h, alertname: CAMELBandwidthLost, exp_alerts: []}
      - eval_time: 150m
        alertname: CAMELBandwidthLost
        exp_alerts:
          - exp_labels: {severity: warning, per: socket, index: "0", instance: n1}
            exp_annotations: {summary: "n1: memory bandwidth of socket 0 fell by a tenth or more"}
  - interval: 1m
    name: nodes that did not answer, and a finding of a fleet
    input_series:
      - {series: 'PREFIX_fleet_nodes{state="asked"}', values: '400x120'}
      - {series: 'PREFIX_fleet_nodes{state="answered"}', values: '397x120'}
      - {series: 'PREFIX_fleet_finding_nodes{rule="numa-nps-below-best",severity="high",kind="A"}', values: '12x120'}
    alert_rule_test:
      - eval_time: 90m
        alertname: CAMELNodesSilent
        exp_alerts:
          - exp_labels: {severity: info}
            exp_annotations: {summary: "3 nodes of the fleet did not answer"}
      - eval_time: 90m
        alertname: CAMELFleetFinding
        exp_alerts:
          - exp_labels: {severity: warning, rule: numa-nps-below-best, kind: A}
            exp_annotations: {summary: "12 nodes of kind A: numa-nps-below-best"}
  - interval: 1m
    name: a file that node_exporter cannot read
    input_series:
      - {series: 'node_textfile_scrape_error{instance="n1"}', values: '1x120'}
    alert_rule_test:
      - eval_time: 90m
        alertname: CAMELFileBroken
        exp_alerts:
          - exp_labels: {severity: warning, instance: n1}
            exp_annotations: {summary: "n1: node_exporter cannot read a file of its textfile collector"}
"""
