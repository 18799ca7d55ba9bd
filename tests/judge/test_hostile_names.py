"""Names from a stranger's capture are one word of a shell in every line that is to be copied, or do not stand in it."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from advisor.advice.expression import as_word, read_sentence
from advisor.advice.expression_tree import STEPS
from advisor.advice.judgement import judged
from advisor.advice.model.findings import Finding
from advisor.cli.main import status
from advisor.machine import value
from advisor.machine.machine import Machine
from advisor.measure.platform import Scope
from tests.examples import examples
from tests.language.words import SCOPE
from tests.machines.read import machine

HOSTILE = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
    st.sampled_from(
        [
            "mlx5_0;touch x",
            "$(touch x)",
            "`touch x`",
            "a' 'b",
            'a"b',
            "-rf",
            "--exec=x",
            "a\nb",
            "a b",
            "\x1b]0;x\x07",
            "a|b",
            "*",
            "~",
            "#",
        ]
    ),
)


def server() -> Machine:
    """Return a server with adapters and network cards about which there is something to say."""
    return machine("a-r7425-2x7601-dell-portdown")


def findings(name: str, scope: Scope = "mpi") -> tuple[Finding, ...]:
    """Return every verdict on the server whose devices are called so."""
    return judged(renamed(server(), name), scope).audit.findings


def renamed(one: Machine, name: str) -> Machine:
    """Return the machine whose devices and makers are called so."""
    firmware = one.firmware
    return one.model_copy(
        update={
            "hcas": tuple(each.model_copy(update={"name": name}) for each in one.hcas or ()),
            "nics": tuple(each.model_copy(update={"name": name}) for each in one.nics or ()),
            "firmware": firmware.model_copy(update={"product": name, "bios_version": name}) if firmware else None,
        }
    )


@given(HOSTILE)
def test_a_name_is_one_word_of_a_shell_and_no_option(name: str) -> None:
    """Whatever it holds; no letter that steers a terminal is left."""
    text = as_word(name)
    assert text.isprintable()
    assert len(shlex.split(f"ls {text}")) == 2
    assert not text.startswith("-")


@given(HOSTILE)
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=False)
def test_no_line_of_an_audit_is_told_anything_by_a_name(name: str) -> None:
    """Checks, ways back and advice of every rule: taken out as the one word it is, nothing of the name is left."""
    name = f"q7z{name}"
    lines = [line for each in findings(name) for line in (each.check, each.undo, each.advice) if line]
    assert [line for line in lines if not line.isprintable() or "q7z" in line.replace(as_word(name), "")] == []
    assert [line for line in lines if as_word(name) in line] != []


@pytest.mark.parametrize("scope", ["mpi"])
def test_each_line_with_a_hostile_name_runs_nothing_of_it(scope: Scope, tmp_path: Path) -> None:
    """Given to a shell without any program, no file appears."""
    flag = tmp_path / "caught"
    for name in (f"x;>{flag}", f"x$(>{flag})", f"x`>{flag}`", f"x\n>{flag}", f"x'>{flag}'", f"x &>{flag}", f"x|:>{flag}"):
        for finding in findings(name, scope):
            for line in (finding.check, finding.undo):
                if line and "caught" in line:
                    subprocess.run(["/bin/sh", "-c", line], env={"PATH": "/none"}, cwd=tmp_path, capture_output=True, check=False)
    assert list(tmp_path.iterdir()) == []


def test_inside_quotes_of_a_rule_a_hostile_name_does_not_stand() -> None:
    """There a quoted word would end the quotes: NAME stands for it, to be filled in; a common name stands as it is."""
    sentence = read_sentence("grep '{text}' f; ls {text}", SCOPE)
    said = [sentence.command({"text": name, "_steps": [STEPS]}) for name in ("mlx5_0", "x;y", "-rf")]
    assert said == ["grep 'mlx5_0' f; ls mlx5_0", "grep 'NAME' f; ls 'x;y'", "grep 'NAME' f; ls NAME"]


@pytest.mark.parametrize("name", ["mlx5_0;touch x", "$(touch x)", "\x1b[31mred", "a\nb", "-rf"])
@pytest.mark.parametrize("command", ["audit -v", "topology", "bind --ranks 4 --near hca -- ./app", "checklist", "audit --json"])
def test_no_page_lets_a_name_steer_the_terminal(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it let into the Machine: no control character reaches it, and in a line to copy the name is quoted."""
    monkeypatch.setattr(value, "is_name", bool)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({"machine": json.loads(renamed(server(), name).model_dump_json())}))
    first, *rest = command.split(" ")
    status([first, "--from", str(file), *rest])
    said = capsys.readouterr()
    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", said.out + said.err) == []
    for line in re.findall(r"(?:ibstat|ip link \w+|export UCX_NET_DEVICES=)[^\n]*", said.out if "--json" not in rest else ""):
        assert name not in line.replace(as_word(name), "").replace(shlex.quote(name), "") or as_word(name) == name
