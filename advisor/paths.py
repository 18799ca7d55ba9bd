"""Where the folders beside the code lie: in a checkout next to the package, in a wheel inside it."""

from pathlib import Path

from advisor.errors import BadValue, CannotWork

SITE_TEMPLATES = (Path("~/.config/advisor/templates"), Path("/etc/advisor/templates"))
"""Where a site keeps templates of its own; the nearer wins."""

_LARGEST = 1 << 20
_PACKAGE = Path(__file__).resolve().parent


def templates() -> Path:
    """Return the folder of the templates."""
    return _folder("templates")


def rules() -> Path:
    """Return the folder of the rules, with the platforms, the vendors and the settings in it."""
    return _folder("rules")


def kernels() -> Path:
    """Return the folder of the kernels' sources."""
    return _folder("kernels")


def template(name: str) -> str:
    """Return the text of a template, such as ``capture.sh.j2``."""
    try:
        return (templates() / name).read_text(encoding="utf-8")
    except OSError as error:
        raise CannotWork(f"{templates() / name}: {error.strerror}; install advisor again, this copy is not whole") from error


def template_files(kind: str) -> dict[str, Path]:
    """Return the templates of a folder by name; a site's own come before ours."""
    found: dict[str, Path] = {}
    for folder in (templates(), *(folder.expanduser() for folder in reversed(SITE_TEMPLATES))):
        found |= {path.name.removesuffix(".j2"): path for path in sorted((folder / kind).glob("*.j2"))}
    return found


def template_text(path: Path) -> str:
    """Return a template's text; refuse what is none."""
    try:
        if path.stat().st_size > _LARGEST:
            raise BadValue(f"{path} is larger than any template")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotWork(f"{path}: cannot be read as a template; {error}") from error


def _folder(name: str) -> Path:
    """Return a wheel's folder (pyproject.toml, force-include) or the checkout's."""
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name
