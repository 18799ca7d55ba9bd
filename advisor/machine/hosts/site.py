"""A site's own files: where its rules and templates lie. Each is believed before it is read."""

from pathlib import Path

from advisor.errors import BadValue, CannotWork
from advisor.machine.hosts.trust import at_home, open_trusted, trusted
from advisor.paths import templates

RULES = (Path("/etc/advisor/rules.d"), Path("~/.config/advisor/rules.d"))
"""Where a site keeps its own rules, thresholds and waivers."""
TEMPLATES = (Path("~/.config/advisor/templates"), Path("/etc/advisor/templates"))
"""Where a site keeps templates of its own; the nearer wins."""
_LARGEST = 1 << 20


def template_files(kind: str) -> dict[str, Path]:
    """Return the templates of a folder by name; a site's own come before ours."""
    found = {path.name.removesuffix(".j2"): path for path in sorted((templates() / kind).glob("*.j2"))}
    for folder in reversed(TEMPLATES):
        for path in sorted((at_home(folder) / kind).glob("*.j2")):
            trusted(path)
            found[path.name.removesuffix(".j2")] = path
    return found


def template_text(path: Path) -> str:
    """Return a template's text; refuse what is none."""
    own = path.is_relative_to(templates())
    try:
        with path.open("rb") if own else open_trusted(path) as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise BadValue(f"{path} is larger than any template")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotWork(f"{path}: cannot be read as a template; {error}") from error
