#!/bin/sh
# Ansible inventory of a fleet, written by advisor 1.2.3: ansible-inventory -i FILE --graph
case ${1:-} in
--list) cat <<'END'
{
 "_meta": {
  "hostvars": {
   "n001": {
    "advisor_kind": "A",
    "advisor_findings": []
   },
   "n002": {
    "advisor_kind": "A",
    "advisor_findings": [
     "numa-nps-below-best"
    ]
   },
   "n003": {
    "advisor_kind": "A",
    "advisor_findings": [
     "numa-nps-below-best"
    ]
   },
   "n004": {
    "advisor_kind": "A",
    "advisor_findings": []
   },
   "login": {
    "advisor_kind": "B",
    "advisor_findings": [
     "os-swappiness"
    ]
   }
  }
 },
 "advisor_kind_a": {
  "hosts": [
   "n001",
   "n002",
   "n003",
   "n004"
  ]
 },
 "advisor_kind_b": {
  "hosts": [
   "login"
  ]
 },
 "advisor_severity_high": {
  "hosts": [
   "n002",
   "n003"
  ]
 },
 "advisor_finding_numa_nps_below_best": {
  "hosts": [
   "n002",
   "n003"
  ]
 },
 "advisor_severity_info": {
  "hosts": [
   "login"
  ]
 },
 "advisor_finding_os_swappiness": {
  "hosts": [
   "login"
  ]
 },
 "advisor_incident_port_down": {
  "hosts": [
   "n001"
  ]
 },
 "advisor_action_drain": {
  "hosts": [
   "n001",
   "n006"
  ]
 },
 "advisor_incident_kernel_thp": {
  "hosts": [
   "n003",
   "n004"
  ]
 },
 "advisor_action_watch": {
  "hosts": [
   "n003",
   "n004"
  ]
 },
 "advisor_incident_silent": {
  "hosts": [
   "n006"
  ]
 },
 "advisor_slow": {
  "hosts": [
   "n001"
  ]
 },
 "advisor_silent": {
  "hosts": [
   "n006"
  ]
 }
}
END
;;
--host) echo '{}' ;; # the variables of all hosts are in _meta
*) echo "usage: $0 --list | --host NAME" >&2; exit 2 ;;
esac
