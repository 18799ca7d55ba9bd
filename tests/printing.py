"""What a page looks like on a terminal."""

from io import BytesIO, TextIOWrapper

from rich.console import Console, RenderableType


def printed(page: RenderableType, width: int = 100, encoding: str = "utf-8", *, crop: bool = False) -> str:
    """Return what a terminal of that width and encoding shows, without colours; lines that are too long are cut if so asked."""
    file = TextIOWrapper(BytesIO(), encoding=encoding)
    Console(file=file, width=width, color_system=None).print(page, crop=crop)
    file.seek(0)
    return file.read()
