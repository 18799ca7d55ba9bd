"""Ports for the servers that tests start."""

import random
import socket
from contextlib import suppress

_OURS = range(12_000, 32_000)
"""Below those that Linux gives to outgoing connections and to port 0 (32768 and above), which another process may be given
between our look and the server's own bind."""


def free_port() -> int:
    """Return a port on which nobody listens, on any address."""
    dice = random.SystemRandom()
    while True:
        port = dice.choice(_OURS)
        with suppress(OSError), socket.socket() as door:
            door.bind(("", port))
            return port
