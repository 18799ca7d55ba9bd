"""Reads a text as bash: the grammar's tree, in bounded time, and what bash says of a text that the grammar does not know."""

import re
import tempfile
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

from advisor.errors import BadInput
from advisor.machine.hosts.live import LiveHost

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

LARGEST = 1 << 20
_LONGEST = 10.0
"""Seconds that a text is read for: a script of a mebibyte takes half a second, a job's output may take minutes."""
_PATIENCE = 10.0


@cache
def parser() -> "Parser":
    """Return the parser of bash, made once; its compiled parts are loaded where a script is read, and nowhere else."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def parsed(text: bytes) -> "Tree":
    """Return the tree of a text; refuse one that is so little of a shell that the grammar does not end."""
    end = monotonic() + _LONGEST
    try:
        return parser().parse(lambda at, _: text[at : at + LARGEST], progress_callback=lambda *_: monotonic() > end)
    except ValueError:
        parser().reset()
        raise BadInput("not a shell script", cure="give the job script, not the output of a job") from None


def refused(text: str) -> tuple[int, str] | None:
    """Return the line where bash stops reading a text, and what it says; None if it reads all, or is not here.

    ``bash -n`` runs nothing, and gets no variable that could name something to run (BASH_ENV).
    """
    try:
        with tempfile.NamedTemporaryFile(prefix="advisor-check-") as file:
            file.write(text.encode(errors="surrogateescape"))
            file.flush()
            patterns = ("-O", "extglob") if "extglob" in text else ()  # bash -n does not carry shopt out
            ran = LiveHost().ask(("bash", *patterns, "-n", file.name), {"LC_ALL": "C"}, _PATIENCE)
    except OSError:  # no room for a file
        return None
    found = re.search(r"line (\d+): (?!warning)(.+)", ran.err.decode(errors="replace"))  # an open << is a warning
    return (int(found[1]), found[2]) if found and ran.status and ran.why is None else None
