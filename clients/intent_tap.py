"""Listen in between a client and the gateway: pass all bytes on as they are, and keep what the client asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httptools

PIECE_BYTES = 64 * 1024


@dataclass(slots=True)
class Heard:
    """One request of the client.

    Attributes:
        method: upper case.
        target: path and query.
        headers: names in lower case, in order.
        body: as it came.
    """

    method: str = ""
    target: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    @property
    def is_inference(self) -> bool:
        """Whether it asks a model for an answer."""
        return self.method == "POST" and self.target.partition("?")[0].endswith(("/messages", "/chat/completions"))

    @property
    def tools(self) -> list[object]:
        """The tools that it offers."""
        try:
            found = json.loads(self.body).get("tools")
        except ValueError:
            return []
        return found if isinstance(found, list) else []


@dataclass(slots=True)
class Tap:
    """What was heard so far.

    Attributes:
        url: what the client is to talk to.
        requests: in the order in which they ended.
        given: all bytes that went back to the client, connections one after the other.
    """

    url: str
    requests: list[Heard] = field(default_factory=list)
    given: bytearray = field(default_factory=bytearray)


@contextmanager
def tapped(address: str) -> Iterator[Tap]:
    """Listen on a free loopback port in front of an address (`http://host:port`) until left."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_server(("127.0.0.1", 0)) as server:
        tap = Tap(f"http://127.0.0.1:{server.getsockname()[1]}")
        accepting = threading.Thread(target=_accept, args=(server, (host, int(port)), tap), name="tap", daemon=True)
        accepting.start()
        try:
            yield tap
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # wakes `accept`
            accepting.join()


def _accept(server: socket.socket, target: tuple[str, int], tap: Tap) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        there = socket.create_connection(target)
        for one in (client, there):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ear = _Ear(tap)
        parser = httptools.HttpRequestParser(ear)
        ear.parser = parser
        threading.Thread(target=_pump, args=(client, there, parser.feed_data), daemon=True).start()
        threading.Thread(target=_pump, args=(there, client, tap.given.extend), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket, hear: Callable[[bytes], object]) -> None:
    """Pass bytes on until the source ends; what is heard of them is heard first."""
    with suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            hear(piece)
            target.sendall(piece)
    for one, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):
            one.shutdown(how)


class _Ear:
    """Puts requests together from what the parser tells."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._heard = Heard()
        self.parser: httptools.HttpRequestParser | None = None

    def on_url(self, url: bytes) -> None:
        self._heard.target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._heard.headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_body(self, body: bytes) -> None:
        self._heard.body += body

    def on_message_complete(self) -> None:
        assert self.parser is not None
        self._heard.method = self.parser.get_method().decode()
        self._tap.requests.append(self._heard)
        self._heard = Heard()
