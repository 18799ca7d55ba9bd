"""What is a credential, and what only looks like one."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.fleet.fleet import Answer
from advisor.machine.machine import Kernel
from advisor.machine.secrecy import (
    BOOT_OPTIONS,
    any_of,
    is_credential_variable,
    is_secret_name,
    keeps_variable,
    screened,
    without_secrets,
)
from advisor.paths import rules
from tests.secrecy.planted import LINES

INNOCENT = (
    "keyutils-1.6.1",
    "MONKEY=3",
    "hwloc key = 5",
    "32 tokens per second",
    "net.ipv4.tcp_syncookies = 1",
    "I_MPI_PIN_DOMAIN=omp",
    "UCX_IB_PKEY=0x7fff",
    "bypass=1",
    "without a password: ssh -o BatchMode=yes HOST true",
    "--password-file /etc/x",
    "PWD=/home",
    "user and password from ~/.netrc; write the controller's name",
    "curl -u USER:PASSWORD https://USER:PASSWORD@HOST/redfish",
    "racadm -r IP -u USER -p PASSWORD",
    "export TOKEN=$TOKEN",
    "sort --key=2",
    "https://www.dell.com/x?id=7",
    "PasswordStatus: Unlocked",
)


@pytest.mark.parametrize("line", LINES)
def test_a_credential_goes_in_every_writing(line: str) -> None:
    """However programs write it, alone and in the middle of a text."""
    text = line.replace("{0}", "zq7k0001w9pv")
    for whole in (text, f"first\n{text}\nlast", f"a b; {text}"):
        assert "zq7k0001w9pv" not in without_secrets(whole)


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_one_stays(text: str) -> None:
    """No false redaction: a sysctl, a placeholder of a manual, our own advice."""
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "name",
    [
        "OMPI_MCA_oob_secret",
        "OMPI_MCA_sec_munge_key",
        "PMIX_MCA_psec_token",
        "OMPI_MCA_sec_basic_password",
        "MV2_CRED",
        "mv2_cred",
    ],
)
def test_names_are_compared_without_case(name: str) -> None:
    """No capture and no line holds the value of such a variable."""
    assert (is_credential_variable(name), keeps_variable(name)) == (True, False)


@pytest.mark.parametrize("name", ["OMPI_MCA_btl", "UCX_TLS", "I_MPI_PIN_DOMAIN", "UCX_IB_PKEY", "SLURM_CPU_BIND"])
def test_variables_of_placement_are_kept(name: str) -> None:
    """None of them is taken for a credential."""
    assert (is_credential_variable(name), keeps_variable(name)) == (False, True)


@pytest.mark.parametrize("name", ["PasswordStatus", "keyutils", "PasswordMinLength", "HotKey", "tokens per second"])
def test_names_of_settings_about_passwords_are_no_passwords(name: str) -> None:
    """Their values are shown."""
    assert not is_secret_name(name)


def test_a_machine_cannot_hold_a_credential_of_the_boot_line() -> None:
    """Whoever makes the record: what is declared to hold credentials screens them."""
    options = (
        ("ro", None),
        ("iommu", "pt"),
        ("rd.iscsi.password", "x"),
        ("root", "iscsi:u:pw@h"),
        ("isolcpus", "1-3"),
        ("secretword", None),
    )
    assert Kernel(cmdline=options).cmdline == (
        ("ro", None),
        ("iommu", "pt"),
        ("rd.iscsi.password", "withheld"),
        ("root", "withheld"),
        ("isolcpus", "1-3"),
    )


def test_every_boot_option_that_a_rule_asks_for_is_shown() -> None:
    """A rule that asks for an option whose value is withheld would judge the word withheld."""
    texts = [file.read_text() for file in rules().glob("*.yaml")]
    asked = {name for text in texts for name in re.findall(r"option\(kernel\.cmdline, .([\w.]+).\)", text)}
    assert asked
    assert [name for name in sorted(asked) if not any_of(name, BOOT_OPTIONS)] == []


def _named(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(("SetupPassword", "bios.ApiToken", "text", "OMPI_MCA_sec_key", "a")), values)


_VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | _named(inner))


@given(_named(_VALUES), st.sampled_from((None, 1)))
def test_json_stays_json(document: Any, indent: int | None) -> None:
    """Whatever stands under the name of a credential, a document whose values are screened can be read once it is written."""
    text = json.dumps(screened(document), indent=indent)
    assert json.loads(without_secrets(text)).keys() == document.keys()


def test_a_pair_of_a_launchers_option_is_withheld() -> None:
    """A line in one piece, as journals and pages have it: name and value are words of their own."""
    line = "mpirun -genv MV2_CRED abc --mca sec_munge_key x --mca btl ^tcp -env UCX_TLS rc ./app"
    assert without_secrets(line) == line.replace("abc", "withheld").replace("key x", "key withheld")


def test_what_a_node_answered_is_kept_without_credentials() -> None:
    """Read from a file that another version wrote, too: pages break the text into lines."""
    answer = {"node": "n1", "at": "x", "outcome": "failed", "why": "ssh: Authorization: Basic abc"}
    assert Answer.model_validate(answer).why == "ssh: Authorization: withheld"
