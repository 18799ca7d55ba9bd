"""Names of hosts and devices, folders and arguments in launch lines, scripts and files: one word each, or refused."""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import AdvisorError, BadValue
from advisor.jobs.launcher import JOB_SCRIPTS, Launch, LaunchRequest, launchers
from advisor.jobs.observe import probe_script, probe_words
from advisor.jobs.placement import Placement
from advisor.jobs.started.folder import job_templates, located
from advisor.jobs.started.hosts import expand, hostfile
from advisor.machine.jinja import fill
from advisor.paths import template
from advisor.show.commandline import HERE, BenchmarkStep, benchmark_script, exports, folded, launch_script
from tests.examples import examples
from tests.jobs.plan import node, planned
from tests.jobs.strategies import SHAPES, placements

HOSTILE = st.sampled_from(
    (
        "n1;touch caught",
        "$(touch caught)",
        "`touch caught`",
        "a'b",
        'a"b',
        "a b",
        "a\nb",
        "-rf",
        "--exec=x",
        "a|b",
        "a,b",
        "a:b",
        "*",
        "../a",
        "a/b",
        "\x1b[2J",
        "a\u2028b",
        "é",
    )
)
ANY = st.one_of(HOSTILE, st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
FEW = examples(20)


def read(lines: str, shell: str = "bash") -> list[str]:
    """Return the words that a shell makes of a line."""
    script = f"set -- {lines}\nfor word; do printf '%s\\0' \"$word\"; done"
    done = subprocess.run([str(shutil.which(shell)), "-c", script], capture_output=True, check=True, env={"PATH": "/none"})
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


def checked(text: str) -> None:
    """Let sh read a script without running it."""
    done = subprocess.run(["sh", "-n"], input=text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", launchers())
@given(host=HOSTILE.filter(lambda name: name != "é"))
@FEW
def test_every_launcher_refuses_a_host_that_is_no_host_name(name: str, host: str) -> None:
    """In one line, whatever form the plan takes: short, listed, by a file, by the wrapper."""
    shape = SHAPES[0]
    for hosts in ((host, "n2"), (*(f"n{at}" for at in range(70)), host)):
        plan = planned((node(shape, "0", "1"),), *((each, 0, 2) for each in hosts))
        for wish in (LaunchRequest(("./app",)), LaunchRequest(("./app",), exact=True), LaunchRequest(("./app",), wrap=True)):
            with pytest.raises(BadValue) as error:
                launchers()[name].launch(plan, wish)
            assert str(error.value).isprintable()


@given(ANY)
def test_a_list_of_hosts_and_a_file_of_hosts_hold_names_of_hosts_or_are_refused(text: str) -> None:
    """What comes out of them is letters, digits, dots, dashes and underscores."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hosts"
        file.write_text(text)
        names: list[str] = []
        with suppress(AdvisorError):
            names += expand(text)
        with suppress(AdvisorError):
            names += hostfile(file).names
        assert [each for each in names if shlex.quote(each) != each or each.startswith("-") or "/" in each] == []


@given(st.lists(ANY, min_size=1, max_size=6), st.integers(1, 120))
@FEW
def test_a_line_on_a_page_is_read_by_a_shell_as_the_words_that_it_was_made_of(words: list[str], width: int) -> None:
    """Folded or not, whatever the words hold; and it is printable."""
    lines = folded(words, width)
    assert all(line.isprintable() for line in lines)
    assert read("\n".join(lines)) == words


@given(st.dictionaries(st.sampled_from(["A", "UCX_NET_DEVICES"]), ANY), st.booleans())
@FEW
def test_a_variable_is_exported_with_its_very_value(variables: dict[str, str], script: bool) -> None:
    """On a page for bash, in a script for every shell."""
    lines = "\n".join(exports(variables, '"$here"' if script else ""))
    told = "".join(f"printf '%s\\0' \"${name}\"\n" for name in sorted(variables))
    shell = "sh" if script else "bash"
    done = subprocess.run(
        [str(shutil.which(shell)), "-c", f"{lines}\n{told}"], capture_output=True, check=True, env={"PATH": "/none"}
    )
    assert done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1] == [variables[name] for name in sorted(variables)]


@pytest.mark.parametrize("name", launchers())
@given(plan=placements(), argument=ANY, about=ANY)
@FEW
def test_the_script_of_a_job_starts_the_launcher_with_the_very_words(
    name: str, plan: Placement, argument: str, about: str
) -> None:
    """Its files and its folder are one word each, its title stays a comment, and nothing else is run."""
    try:
        made = launchers()[name].launch(plan, LaunchRequest(("./app", argument), environment={"OMP_PLACES": "cores"}))
    except BadValue:
        return
    own = located(made, HERE, ["./app", argument])
    text = "\n".join(launch_script(own.argv, own.environment, about)) + "\n"
    checked(text)
    words, caught = _started(text, made.argv[0])
    assert words[-1] == argument
    assert len(words) == len(made.argv) - 1
    assert caught == []


def _started(text: str, program: str) -> tuple[list[str], list[str]]:
    """Run a script with a launcher that only tells its words, in a folder with an odd name; return these and what it made."""
    with tempfile.TemporaryDirectory() as top:
        place = Path(top) / "a b;touch caught"
        (place / "bin").mkdir(parents=True)
        (place / "work").mkdir()
        (place / "bin" / program).write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n')
        (place / "bin" / program).chmod(0o755)
        (place / "launch.sh").write_text(text)
        done = subprocess.run(
            ["sh", place / "launch.sh"],
            env={"PATH": f"{place}/bin:/usr/bin:/bin"},
            cwd=place / "work",
            capture_output=True,
            check=True,
        )
        made = sorted(each.name for each in (place / "work").iterdir())
        return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1], made


@given(placements())
@FEW
def test_every_file_of_a_launch_holds_names_and_numbers_alone(plan: Placement) -> None:
    """Rankfiles, host files, configuration files; the wrapper is a script that sh reads."""
    for launcher in launchers().values():
        try:
            made = launcher.launch(plan, LaunchRequest(("./app",), exact=True))
        except BadValue:
            continue
        for name, lines in made.files.items():
            text = "\n".join(lines()) + "\n"
            if name.endswith(".sh"):
                checked(text)
            assert text.replace("\n", "").isprintable() or name.endswith(".sh")


@pytest.mark.parametrize("name", sorted(job_templates()))
@given(folder=ANY, strategy=ANY, many=st.booleans(), placeholder=st.sampled_from([None, "NODE"]))
@FEW
def test_a_job_script_is_read_by_sh_and_what_was_named_stays_in_its_place(
    name: str,
    folder: str,
    strategy: str,
    many: bool,
    placeholder: str | None,
) -> None:
    """The folder is one word where it is a word, and a comment where it is told."""
    hosts = [f"n{at}" for at in range(70 if many else 2)]
    run = {"nodes": 2, "ranks": 2, "cpus": 4, "gpus": 1, "slots": 4}
    values: dict[str, Any] = {
        "name": "app", "folder": f"/{folder}", "script": "launch.sh", "files": ["launch.sh", "plan.json"], "hosts": hosts,
        "listed": [] if many else hosts, "nodefile": f"/{folder}/nodes" if many else None, "placeholder": placeholder,
        "nodes": len(hosts), "ranks": 4, "ranks_per_node": 2, "threads": 1, "cores": 1, "gpus": int(many),
        "runs": [{**run, "nodes": len(hosts)}], "chunk": [run] * 2,
        "launcher": "openmpi5", "before": {**dict.fromkeys(JOB_SCRIPTS, ()), "slurm": ("unset A",)}, "strategy": strategy,
    }  # fmt: skip
    text = fill(job_templates()[name], values, name)
    checked(text)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    usual = fill(job_templates()[name], {**values, "folder": "/job", "strategy": "", "nodefile": "/nodes"}, name).splitlines()
    assert len(lines) == len([line for line in usual if line and not line.startswith("#")])
    assert [line for line in lines if "touch" in line and "'" not in line] == []


@given(st.lists(st.tuples(ANY, st.lists(ANY, min_size=1, max_size=3)), min_size=1, max_size=3))
@FEW
def test_the_script_of_a_benchmark_tells_what_it_measures_and_runs_the_very_words(lines: list[tuple[str, list[str]]]) -> None:
    """A title is printed as it stands: no backslash in it, no line break."""
    none: Mapping[str, Any] = {}
    text = "\n".join(benchmark_script([BenchmarkStep(about, ["tell", *words], none, none) for about, words in lines])) + "\n"
    checked(text)
    words, caught = _started(text.replace("printf '%s\\n'", "printf '%s\\0'"), "tell")
    shown = ["".join(letter if letter.isprintable() else "?" for letter in about) for about, _ in lines]
    assert words == [each for (_, argv), about in zip(lines, shown, strict=True) for each in (f"# {about}", *argv)]
    assert caught == []


def test_the_probe_is_a_script_that_sh_reads_and_words_that_stay_apart() -> None:
    """As a file, and as one word behind sh -c."""
    text = template("probe.sh.j2")
    checked(probe_script(text))
    checked(shlex.join(probe_words(text)))
    assert read(shlex.join(probe_words(text))) == list(probe_words(text))


def test_a_launch_without_hosts_has_no_name_to_quote() -> None:
    """The one host of a plan may have no name at all."""
    made: Launch = launchers()["openmpi5"].launch(planned((node(SHAPES[0], "0"),), (None, 0, 1)), LaunchRequest(("./app",)))
    assert "--host" not in made.argv
