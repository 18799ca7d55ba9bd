"""Completion as a user has it: the Tab key in bash, zsh and fish, with the scripts that advisor gives them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.catalogue import write_archive

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LINES = {
    "advisor checklist --platform ro": {"rome"},
    "advisor checklist --vendor del": {"dell"},
    "advisor checklist --as kernel-c": {"kernel-cmdline"},
    "advisor bind --launcher sr": {"srun"},
    "advisor bind --strategy spread-": {"spread-numa", "spread-l3"},
    "advisor explain numa-nps-below": {"numa-nps-below-best"},
    "advisor rules show numa-nps-below": {"numa-nps-below-best"},
    "advisor checklist --only numa-nps-below": {"numa-nps-below-best"},
    "advisor measure roof": {"roofline"},
    "advisor measure --chart bandwidth-": {"bandwidth-matrix"},
    "advisor report --as ht": {"html"},
    "advisor audit --topic numa": {"numa"},
    "advisor audit --scope hp": {"hpl"},
    "advisor che": {"check", "checklist"},
    "advisor checklist --platf": {"--platform"},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with `advisor` on the path and a capture in it."""
    home = tmp_path_factory.mktemp("home")
    (home / "advisor").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m advisor "$@"\n')
    (home / "advisor").chmod(0o755)
    write_archive("b-c6525-2x7702-nps1", home / "node.tar.gz")
    return home


def shell(home: Path, *words: str, **more: str) -> str:
    """Return what a shell prints, started in that home."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]} here")
    known = {"HOME": str(home), "PATH": f"{home}:/usr/bin:/bin", "TERM": "xterm", "LC_ALL": "C.UTF-8", **more}
    done = subprocess.run(words, cwd=home, env=known, capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def scripts(home: Path) -> dict[str, Path]:
    """Return the completion script of each shell, as advisor prints it."""
    found = {}
    for name in ("bash", "zsh", "fish"):
        asked = {**os.environ, "_ADVISOR_COMPLETE": f"source_{name}"}
        text = subprocess.run([home / "advisor"], env=asked, capture_output=True, text=True, check=True).stdout
        found[name] = home / f"advisor.{name}"
        found[name].write_text(text)
    return found


BASH = """
source {script}
while read -r line; do
    COMP_WORDS=($line); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMP_LINE=$line; COMP_POINT=${{#line}}
    COMPREPLY=(); _advisor_completion advisor
    echo "${{COMPREPLY[@]}}"
done
"""


def test_bash_completes_values(home: Path, scripts: dict[str, Path]) -> None:
    """Of each line bash offers what fits, and nothing else."""
    (home / "try.bash").write_text(BASH.format(script=scripts["bash"]).replace("while", "printf '%s\\n' \"$@\" | while"))
    offered = shell(home, "bash", "--norc", "try.bash", *LINES).splitlines()
    assert dict(zip(LINES, map(set, map(str.split, offered)), strict=True)) == LINES


def test_fish_completes_values(home: Path, scripts: dict[str, Path]) -> None:
    """Of each line fish offers what fits, with what it is beside it."""
    asked = "\n".join(f"complete -C '{line}' | string join '|'; echo" for line in LINES)
    (home / "try.fish").write_text(f"source {scripts['fish']}\n{asked}\n")
    answers = [line for line in shell(home, "fish", "--no-config", "try.fish").split("\n\n") if line.strip()]
    offered = [{each.split("\t")[0] for each in answer.strip().split("|")} for answer in answers]
    assert dict(zip(LINES, offered, strict=True)) == LINES


ZSH = """
zmodload zsh/zpty
zpty asked zsh -f -i
zpty -w asked "PS1=; {before}; autoload -Uz compinit; compinit -u -D; {after}"
zpty -w asked "_shown() {{ compadd() {{ local -a got
builtin compadd -O got \\"\\$@\\"; print -r -- \\"OFFER:\\${{got[*]}}:\\" }} }}"
zpty -w asked "zle -C offers complete-word _offers; _offers() {{ _shown; _main_complete; print -r DONE; unfunction compadd }}"
zpty -w asked "bindkey '^I' offers; print REA''DY"
while zpty -r asked part; do [[ $part == *READY* ]] && break; done
for line in "$@"; do
    zpty -n -w asked "$line"$'\\t'
    all=
    while zpty -r asked part; do all+=$part; [[ $part == *DONE* ]] && break; done
    print -r -- "${{${{(M)${{(f)all}}:#*OFFER:*}}//$'\\r'/}}"
    zpty -n -w asked $'\\x15'
done
zpty -d asked
"""


@pytest.mark.parametrize("installed", [False, True])
def test_zsh_completes_values(home: Path, scripts: dict[str, Path], installed: bool) -> None:
    """On a terminal of its own zsh offers what fits where the Tab key is pressed, by the script and by the packages' file."""
    before, after = (f"fpath=({ROOT}/packaging/completions \\$fpath)", ":") if installed else (":", f"source {scripts['zsh']}")
    (home / "try.zsh").write_text(ZSH.format(before=before, after=after))
    lines = shell(home, "zsh", "-f", "try.zsh", *LINES).splitlines()
    offered = [set(" ".join(re.findall(r"OFFER:([^:]+):", line)).split()) for line in lines]
    assert dict(zip(LINES, offered, strict=True)) == LINES
