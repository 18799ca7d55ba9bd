"""A line of the terminal that is drawn again every second."""

import threading
from collections.abc import Callable


class Ticker:
    """Shows a line now and every second, until it is stopped; it sleeps in between, and leaves the cores to the kernels."""

    def __init__(self, show: Callable[[], None]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, args=(show,), daemon=True)
        show()
        self._thread.start()

    def _tick(self, show: Callable[[], None]) -> None:
        while not self._over.wait(1.0):
            show()

    def stop(self) -> None:
        """Show nothing more."""
        self._over.set()
        self._thread.join()
