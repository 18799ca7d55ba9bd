"""Where the folders beside the code lie: in a checkout next to the package, in a wheel inside it."""

from pathlib import Path

from advisor.errors import CannotWork

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
        raise CannotWork(f"{templates() / name}: {error.strerror}; this copy is incomplete: reinstall advisor") from error


def _folder(name: str) -> Path:
    """Return a wheel's folder (pyproject.toml, force-include) or the checkout's."""
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name
