"""A console that takes credentials out of texts before it breaks them into lines, which would hide their second half."""

from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from advisor.machine.secrecy import without_secrets


class ScreenedConsole(Console):
    """A console whose texts, those in the cells of tables too, are screened as they stand, in one piece."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Any:
        """Return the segments of what is drawn."""
        if isinstance(renderable, str):
            renderable = without_secrets(renderable)
        elif isinstance(renderable, Text) and (clean := without_secrets(renderable.plain)) != renderable.plain:
            renderable = Text(clean, renderable.style, justify=renderable.justify, overflow=renderable.overflow)
        return super().render(renderable, options)
