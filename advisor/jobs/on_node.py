"""What goes to a node and what comes back: a script that leaves nothing behind, and the file that it wrote."""

import re
from base64 import b64decode
from binascii import Error, unhexlify
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Final

from jinja2 import Environment, StrictUndefined

from advisor.errors import one_line
from advisor.machine.hosts.errands import Ended, Errand, Outcome, Reply
from advisor.paths import template

_LONGEST: Final = 300
_SSH: Final = 255
_SIGNALS: Final = 128
_KILLED: Final = (128 + 9, 128 + 15)
_LOGIN: Final = "the login did not start sh -s; look for a restricted shell, a forced command, an exit in .bashrc"
_PROGRESS: Final = re.compile(r"(?:capture|measure)\.sh: (?:looking|copying|running|wrote)|\s*$")
_REASONS: Final = (
    (r"host key verification failed|remote host identification has changed|no .*host key is known", Outcome.HOST_KEY),
    (r"permission denied|too many authentication failures", Outcome.PERMISSION),
    (r"account is (?:locked|expired|(?:currently )?not available)", Outcome.PERMISSION),
    (r"no space left on device|disk quota exceeded", Outcome.NO_SPACE),
    (r"no route to host|network is unreachable|could not resolve hostname|name or service not known", Outcome.NO_ROUTE),
    (r"invalid node name|invalid host|node name .*invalid", Outcome.NO_ROUTE),
    (r"connection refused", Outcome.REFUSED),
    (r"connection timed out|operation timed out|connection to .* timed out|timed out during banner exchange", Outcome.TIMED_OUT),
)
"""What ssh, srun and the shell say; of ssh.c, sshconnect.c, readconf.c and strerror(3)."""


@dataclass(frozen=True)
class Brought:
    """What one node answered: the file that the script wrote, or why there is none."""

    outcome: Outcome
    why: str | None = None
    file: bytes = b""


def new_mark() -> str:
    """Return the mark of one run, by which an answer is known among what else is printed on a node."""
    return f"advisor-{token_hex(8)}"


def measure_script(text: str, values: Mapping[str, object]) -> str:
    """Return what runs kernels on another node, from a template; ``values`` are quoted where they are made."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - a shell script
    return environment.from_string(text).render(values)


def errand(script: str, mark: str) -> Errand:
    """Return what runs a script on a node, with ``-o FILE``, and brings the file that it writes.

    ``mark`` is one word that the script has nowhere.
    """
    values = {"mark": re.sub(r"[^\w-]", "_", mark), "script": script.rstrip("\n")}
    return Errand(measure_script(template("on_node.sh.j2"), values).encode(), f"{mark} end ".encode())


def brought(reply: Reply, mark: str) -> Brought:
    """Return what a node's reply is: told by its mark, so that what a login shell prints does no harm."""
    said = reply.err.decode("utf-8", "replace")
    if reply.ended is Ended.TOO_MUCH:
        return Brought(Outcome.FAILED, f"printed more than {len(reply.out) >> 20} MiB, and was cut off")
    _, begun, body = _marked(reply.out, mark, b"begin")
    file, ended, rest = _marked(body if begun else reply.out, mark, b"end")
    if not ended and reply.ended is Ended.TIMED_OUT:
        return Brought(Outcome.TIMED_OUT, _last(said, "srun:") or "no whole answer in time; try a longer --timeout")
    if not ended:
        return _without_end(reply, said, begun=bool(begun))
    status, size = _numbers(rest)
    if status:
        return _unwell(status, said)
    data = _decoded(begun, file)
    if data is None:
        return Brought(
            Outcome.TRUNCATED, "something else was printed into the answer; stop what login files run in the background"
        )
    if len(data) != size:
        return Brought(Outcome.TRUNCATED, f"the answer has {len(data)} bytes of {size}")
    if not data:
        return Brought(Outcome.FAILED, _last(said) or "the script ended with status 0 but wrote no file")
    return Brought(Outcome.ANSWERED, None, data)


def _marked(out: bytes, mark: str, word: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what is before a line of ours, the word behind it, and what comes after."""
    match = re.search(rb"(?:^|\n)%s %s ([^\n]{1,40})\n" % (mark.encode(), word), out)
    return (
        (out[: match.start()], match[1].strip(), out[match.end() :] if word == b"begin" else match[1])
        if match
        else (out, b"", b"")
    )


def _numbers(rest: bytes) -> tuple[int, int]:
    words = rest.split()
    good = len(words) == 2 and all(word.isdigit() and len(word) < 12 for word in words)
    return (int(words[0]), int(words[1])) if good else (1, 0)


def _decoded(form: bytes, text: bytes) -> bytes | None:
    try:
        if form == b"base64":
            return b64decode(b"".join(text.split()), validate=True)
        return unhexlify(b"".join(text.split())) if form == b"od" else b""
    except (Error, ValueError):
        return None


def _unwell(status: int, said: str) -> Brought:
    """Return what a script's own failure is: ssh let it in, so that of all complaints only a full disk has a name."""
    outcome = Outcome.NO_SPACE if _reason(said) is Outcome.NO_SPACE else Outcome.FAILED
    if status > _SIGNALS:
        killed = Outcome.KILLED if outcome is Outcome.FAILED else outcome
        return Brought(killed, f"the script was ended by signal {status - _SIGNALS} on the node")
    words = _last(said) if outcome is Outcome.FAILED else _words(said)
    return Brought(outcome, words or f"the script ended with status {status} on the node and printed no error")


def _without_end(reply: Reply, said: str, *, begun: bool) -> Brought:
    """Return what an answer is that has no end: ssh's own failure, a shell that was killed, a line that was cut, or junk."""
    if begun:
        return Brought(Outcome.TRUNCATED, _words(said) or "the connection ended in the middle of the answer")
    if not said.strip():
        said = reply.out[:400].decode("utf-8", "replace")
    reason, words, status = _reason(said), _words(said), reply.status
    if reason is not None:
        return Brought(reason, words)
    if status in _KILLED or (status is not None and status < 0) or (status == _SSH and not words):
        return Brought(Outcome.KILLED, words or "the shell on the node was killed")  # ssh has no status for a signal
    if status == _SSH:
        return Brought(Outcome.FAILED, words)
    return Brought(Outcome.FAILED, f"{_LOGIN}: {(words or 'it printed nothing')[:120]} (status {status})")


def _reason(said: str) -> Outcome | None:
    """Return what ssh or the shell complained of; the last complaint counts, for a banner may be before it."""
    for line in reversed(said.splitlines()):
        for pattern, outcome in _REASONS:
            if re.search(pattern, line, re.IGNORECASE):
                return outcome
    return None


def _words(said: str) -> str | None:
    """Return the line that tells why, as one that steers no terminal."""
    lines = [line for line in said.splitlines() if not _PROGRESS.match(line)]
    telling = [line for line in lines if any(re.search(pattern, line, re.IGNORECASE) for pattern, _ in _REASONS)]
    return one_line((telling or lines)[-1])[:_LONGEST] if lines else None


def _last(said: str, begins: str = "") -> str | None:
    lines = [line for line in said.splitlines() if line.startswith(begins) and not _PROGRESS.match(line)]
    return one_line(lines[-1])[:_LONGEST] if lines else None
