"""Rule files with one mistake each: every one is refused when it is read, in one line that names file, line and cure."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from advisor.advice.judge.rulebook import load_rules, rule_files
from advisor.advice.judgement import words
from advisor.cli.main import status
from advisor.errors import BadSheet

RULE = """\
- id: site-example
  title: An example
  severity: low
  where: os
  each: socket in sockets
  let: {most: 2}
  only: environment.virtual == "none"
  when: socket.nodes > most
  say: "socket {socket.index} has {socket.nodes} nodes"
  why: It is an example. It has two sentences.
  want: two nodes a socket
  fix: set it
  check: lscpu
  undo: set it back
  refs: [site]
  tests:
    - {given: {environment.virtual: none, sockets: [{index: 0, nodes: 4}]}, expect: finding, say: has 4 nodes}
    - {given: {environment.virtual: none, sockets: [{index: 0, nodes: 2}]}, expect: pass}
    - {given: {environment.virtual: none}, expect: unknown}
"""


class Wrong(NamedTuple):
    """What is put in place of what in the rule above, and the line and the words that the refusal must have."""

    old: str
    new: str
    line: int
    says: str


WHEN = "socket.nodes > most"
TABLE = {
    "a key": Wrong("severity:", "sevrity:", 3, "sevrity is not a key of this sheet; did you mean severity?"),
    "a key of another place": Wrong("refs: [site]", "ref: [site]", 15, "did you mean refs?"),
    "a key missing": Wrong("  check: lscpu\n", "", 1, "check is missing; how to check that it is fixed"),
    "severity": Wrong("severity: low", "severity: hihg", 3, "did you mean high?"),
    "where": Wrong("where: os", "where: bois", 4, "did you mean bios?"),
    "verdict": Wrong("expect: unknown", "expect: unknwon", 19, "did you mean unknown?"),
    "id": Wrong("id: site-example", "id: Site Example", 1, "id: Site Example is not in the required form"),
    "fact": Wrong(WHEN, "socket.nodse > most", 8, "did you mean nodes?"),
    "first fact": Wrong(WHEN, "kernl.thp == 'x'", 8, "there is no fact kernl; did you mean kernel?"),
    "unit": Wrong(WHEN, "socket.size < 16 * GHz", 8, "socket.size is in bytes, but GHz is not; write GiB, KiB, MiB, TiB, GB"),
    "unit of a speed": Wrong(WHEN, "3 * GiB > socket.rated", 8, "socket.rated is in transfers/s, but GiB is not; write"),
    "no unit": Wrong(WHEN, "socket.size < 16", 8, "socket.size is in bytes, but 16 has no unit; write 16 * GiB"),
    "word": Wrong(WHEN, 'layout.numbering.name == "roundrobin"', 8, "is never 'roundrobin'; did you mean round-robin?"),
    "verb": Wrong(WHEN, 'optoin(kernel.cmdline, "x") != []', 8, "did you mean option?"),
    "setting": Wrong(WHEN, "setting.numa.nsp == 1", 8, "setting.numa has no fact nsp; did you mean nps?"),
    "number and text": Wrong(WHEN, 'socket.nodes == "4"', 8, "they cannot be compared"),
    "no truth": Wrong(WHEN, "socket.nodes", 8, "when: socket.nodes must be a truth value"),
    "arithmetic on text": Wrong(WHEN, "kernel.thp + 1 > 2", 8, "arithmetic needs numbers"),
    "assignment": Wrong(WHEN, "most = 3", 8, "write == for ="),
    "walrus": Wrong(WHEN, "(most := 3) > 2", 8, "is not part of the rule language"),
    "lambda": Wrong(WHEN, '"(lambda: True)()"', 8, "there is no verb"),
    "subscript": Wrong(WHEN, "sockets[0].nodes > 1", 8, "facts are names joined by dots"),
    "attribute tricks": Wrong(WHEN, "kernel.__class__ == 1", 8, "Kernel has no fact __class__"),
    "attribute tricks on text": Wrong(WHEN, 'kernel.thp.__class__ == "x"', 8, "contains no facts"),
    "f-string": Wrong(WHEN, "f'{kernel.thp}' == 'x'", 8, "is not part of the rule language"),
    "joined texts": Wrong(WHEN, "kernel.thp + 'x' == 'x'", 8, "arithmetic needs numbers"),
    "method": Wrong(WHEN, "kernel.thp.upper() == 'X'", 8, "there is no verb kernel.thp.upper"),
    "import": Wrong(WHEN, "__import__('os').system('true') == 0", 8, "there is no verb"),
    "builtins": Wrong(WHEN, "__builtins__ == 1", 8, "there is no fact __builtins__"),
    "list comprehension": Wrong(WHEN, '"[s for s in sockets] == []"', 8, "is not part of the rule language"),
    "four comprehensions": Wrong(
        WHEN, "any(any(any(any(True for a in sockets) for b in sockets) for c in sockets) for d in sockets)", 8, "more than 3"
    ),
    "a tower": Wrong(WHEN, "10**10**10 > 1", 8, "numbers take + - * / // %"),
    "a long expression": Wrong(WHEN, "most > 1 and " * 60 + "most > 1", 8, "the expression has"),
    "a deep expression": Wrong(WHEN, "not " * 40 + "True", 8, "nested too deeply"),
    "brackets without end": Wrong(WHEN, '"' + "(" * 250 + 'most"', 8, "not an expression"),
    "anchor": Wrong(
        "title: An example", "title: &a An example", 2, "anchors and aliases are not allowed; write the value in full"
    ),
    "alias": Wrong("title: An example", "title: *a", 2, "anchors and aliases are not allowed"),
    "tag": Wrong("title: An example", 'title: !!python/object/apply:os.system ["true"]', 2, "is not allowed; write plain values"),
    "key twice": Wrong("severity: low", "severity: low\n  title: Again", 4, "key title occurs twice"),
    "id twice": Wrong("- id", RULE.replace("expect: unknown}", "expect: unknown}") + "- id", 20, "appears twice"),
    "tab": Wrong("  severity", "\tseverity", 3, "indent with spaces"),
    "colon": Wrong("why: It is", "why: So: it is", 10, "needs quotes"),
    "let before it is defined": Wrong("{most: 2}", "{most: twice / 2, twice: 4}", 6, "let.most: column 1: there is no fact"),
    "let names a fact": Wrong("{most: 2}", "{kernel: 2, most: 2}", 6, "kernel is already the name of a fact; use another name"),
    "let names a word": Wrong("{most: 2}", "{unknown: 2, most: 2}", 6, "unknown is a reserved word of the language"),
    "let names work left": Wrong("{most: 2}", "{_steps: 2, most: 2}", 6, "_steps is not a name"),
    "each over one thing": Wrong("socket in sockets", "socket in kernel", 5, "kernel is a Kernel, not a list to iterate over"),
    "each without in": Wrong("socket in sockets", "sockets", 5, "is not of the form NAME in LIST; for example each"),
    "each names a fact": Wrong("socket in sockets", "cpu in sockets", 5, "cpu is already the name of a fact"),
    "fact of an example": Wrong("{environment.virtual: none}, expect: unknown", "{enviroment.virtual: x}, expect: unknown", 19,
                                "there is no fact enviroment.virtual; did you mean environment?"),
    "field of an example": Wrong("{index: 0, nodes: 4}", "{index: 0, nodse: 4}", 17, "did you mean nodes?"),
    "kind of an example": Wrong("{index: 0, nodes: 2}", "{index: 0, nodes: many}", 18, "must be a number, not 'many'"),
    "list of an example": Wrong("{environment.virtual: none}, expect: u", "{sockets.nodes: 1}, expect: u", 19, "the whole list"),
    "no refs": Wrong("  refs: [site]\n", "", 1, "refs is missing"),
    "publication": Wrong("refs: [site]", "refs: [dell-rome-2091]", 15, "did you mean dell-rome-2019?"),
    "setting to set": Wrong("want: two nodes a socket", "set: {numa.nsp: 4}", 11, "no setting numa.nsp; did you mean numa.nps?"),
    "number never so": Wrong("want: two nodes a socket", "set: {numa.nps: 3}", 11, "numa.nps is never 3; it takes 0, 1, 2, 4"),
    "word never so": Wrong("want: two nodes a socket", "set: {numa.l3_as_node: maybe}", 11, "numa.l3_as_node is never maybe"),
    "number in a choice": Wrong("want: two nodes a socket", 'set: {numa.nps: "3 if most > 1 else 4"}', 11, "is never 3"),
    "format": Wrong("{socket.nodes} nodes", "{socket.nodes:sise} nodes", 9, "there is no format sise; did you mean size?"),
    "format of a text": Wrong("{socket.nodes} nodes", "{kernel.thp:size} nodes", 9, "size needs a number"),
    "a record in a sentence": Wrong("{socket.nodes} nodes", "{socket} nodes", 9, "name a fact of socket"),
    "one brace": Wrong("{socket.nodes} nodes", "{socket.nodes nodes", 9, "an unmatched brace"),
    "nowhere to mend it": Wrong("  where: os\n", "", 1, "a rule without 'set' needs 'where'"),
    "no way back": Wrong("  undo: set it back\n", "", 4, "a rule without 'set' needs 'undo'"),
    "cost without source": Wrong("refs: [site]", "refs: [site]\n  cost: {gain: 0.1, of: HPL, basis: published}", 16, "needs ref"),
    "basis of a cost": Wrong("refs: [site]", "refs: [site]\n  cost: {of: HPL, basis: mesured}", 16, "did you mean measured?"),
    "measured cost": Wrong("refs: [site]", "refs: [site]\n  cost: {of: HPL, basis: measured, measured: measured.when}", 16,
                           "measured: measured.when must be a number"),
    "measured fact": Wrong(WHEN, "measured.nodes_slow > 1", 8, "MeasuredFacts has no fact nodes_slow; did you mean nodes?"),
}  # fmt: skip


def refusal(path: Path) -> str:
    """Return what load_rules says of a file that it refuses."""
    with pytest.raises(BadSheet) as error:
        load_rules((), rule_files(path), words())
    return str(error.value)


def written(folder: Path, text: str | bytes) -> Path:
    """Return a rule file with a text."""
    path = folder / "site.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_rule_without_a_mistake_is_taken(tmp_path: Path) -> None:
    """What all wrong rules are made from is right."""
    assert [rule.id for rule in load_rules((), [written(tmp_path, RULE)], words()).rules] == ["site-example"]


@pytest.mark.parametrize("name", TABLE)
def test_a_wrong_rule_is_refused(name: str, tmp_path: Path) -> None:
    """The refusal names the file, the line, what is wrong and the cure."""
    wrong = TABLE[name]
    assert wrong.old in RULE
    path = written(tmp_path, RULE.replace(wrong.old, wrong.new, 1))
    said = refusal(path)
    assert said.startswith(f"{path}: line {wrong.line}: ")
    assert wrong.says in said


SITES = {
    "let of no rule": ("let: {site-exampel: {most: 3}}", 1, "there is no rule site-exampel; did you mean site-example?"),
    "let of no name": ("let:\n  site-example:\n    mots: 3", 3, "has no mots to override; did you mean most?"),
    "let of another kind": ("let:\n  site-example:\n    most: '\"x\"'", 3, "must be a number"),
    "let that is not an expression": ("let:\n  site-example:\n    most: 3 +", 3, "not an expression"),
    "waiver of no rule": ("waivers:\n- {id: site-exampel, reason: x, until: 2027-01-01}", 2, "did you mean site-example?"),
    "waiver until no day": ("waivers:\n- id: site-example\n  reason: x\n  until: 2027-02-30", 4, "2027-02-30 is not a date"),
    "waiver without end": ("waivers:\n- {id: site-example, reason: x}", 2, "until is missing; ISO date"),
    "waiver without reason": ("waivers:\n- {id: site-example, until: 2027-01-01}", 2, "reason is missing"),
    "a key": ("waiver: []", 1, "waiver is not a key of this sheet; did you mean waivers?"),
    "a text": ("nothing to see", 1, "its keys are rules, let, waivers"),
    "rules that are none": ("rules: 3", 1, "rules: "),
    "two documents": ("rules: []\n---\nrules: []", 2, "a second document begins"),
}


@pytest.mark.parametrize("name", SITES)
def test_a_wrong_site_file_is_refused(name: str, tmp_path: Path) -> None:
    """What a site overrides or waives is looked at in its own file, where the mistake is."""
    text, line, says = SITES[name]
    (tmp_path / "a.yaml").write_text(RULE)
    site = tmp_path / "b.yaml"
    site.write_text(text)
    said = refusal(tmp_path)
    assert said.startswith(f"{site}: line {line}: ")
    assert says in said


BYTES = {
    "not UTF-8": (b"- id: caf\xe9", "not UTF-8 text; save it as UTF-8"),
    "two MiB": (b"# " + b"x" * (2 << 20), "too large for a sheet; at most 1 MiB"),
    "a null byte": (b"- id: a\x00b", "not YAML"),
    "a billion laughs": (b"a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]", "line 1: anchors and aliases are not allowed"),
    "deep lists": (b"[" * 50, "line 1: nested too deeply; at most 24 levels"),
    "many values": (b"- a\n" * 200_000, "more than 100000 values"),
    "a long text": (b"a: " + b"x" * 9000, "line 1: a text of 9000 characters is too long; at most 8000"),
    "a list as a key": (b"? [a]\n: 1", "line 1: a key must be one word"),
}


@pytest.mark.parametrize("name", BYTES)
def test_hostile_bytes_are_refused(name: str, tmp_path: Path) -> None:
    """No file takes more than it is worth, and none makes objects."""
    data, says = BYTES[name]
    assert says in refusal(written(tmp_path, data))


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A pipe, a device, a folder, a link to them and a missing file are refused at once; nothing hangs."""
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to("/nowhere")
    says: dict[str, Any] = {path.name: refusal(path) for path in sorted(tmp_path.iterdir()) if path.name != "folder.yaml"}
    assert "regular file" in says["pipe.yaml"]
    assert "regular file" in says["zero.yaml"]
    assert "no such file" in says["gone.yaml"]
    assert "no such file" in refusal(tmp_path / "none.yaml")


def test_a_folder_gives_its_rule_files(tmp_path: Path) -> None:
    """Files end in .yaml or .yml; what an editor leaves, settings and sources are passed over."""
    for name in ("b.yaml", "a.yml", ".#c.yaml", "sources.yaml", "notes.txt", "settings.yaml"):
        (tmp_path / name).write_text("")
    assert [path.name for path in rule_files(tmp_path)] == ["a.yml", "b.yaml"]
    assert rule_files(tmp_path / "none", must=False) == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_says_so(tmp_path: Path) -> None:
    """A file without permission is named with its cure."""
    path = written(tmp_path, RULE)
    path.chmod(0)
    assert refusal(path) == f"{path}: permission denied; make it readable for this user"


@pytest.mark.parametrize("name", ["fact", "tag", "a tower", "each over one thing", "severity"])
def test_the_command_ends_with_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``advisor rules check`` ends with status 2 and one line on standard error."""
    wrong = TABLE[name]
    path = written(tmp_path, RULE.replace(wrong.old, wrong.new, 1))
    ended = status(["rules", "check", "--rules", str(path)])
    output = capsys.readouterr()
    assert (ended, output.out, output.err.count("\n"), wrong.says in output.err) == (2, "", 1, True)


def test_the_program_shows_no_traceback(tmp_path: Path) -> None:
    """The same from the shell, with a pipe in place of a file."""
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        [sys.executable, "-m", "advisor", "rules", "check", "--rules", str(tmp_path / "pipe")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
