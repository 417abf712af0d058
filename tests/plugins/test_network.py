"""A hook without `use_network` gets no connection; one that has it does, and so does everybody else."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from plugins.world import Asks, manager, request

from coldpress.model.plugins import Capability


@pytest.fixture
def listening() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


@pytest.mark.parametrize(
    ("may", "fault", "detail"),
    [
        pytest.param((), "capability", "use_network", id="not approved"),
        pytest.param(("use_network",), None, "", id="approved"),
    ],
)
def test_a_connection_needs_the_capability(
    listening: tuple[str, int], may: tuple[Capability, ...], fault: str | None, detail: str
) -> None:
    reached: list[tuple[str, int]] = []

    def connects(view: Any) -> None:
        with socket.create_connection(listening, timeout=5) as connection:
            reached.append(connection.getpeername())

    (note,) = manager(Asks("curious", may=may, before=connects)).before_request(request()).notes
    assert (note.fault, note.detail) == (fault, detail)
    assert bool(reached) == (fault is None)


def test_a_name_is_not_even_looked_up() -> None:
    def asks(view: Any) -> None:
        socket.getaddrinfo("localhost", 80)

    (note,) = manager(Asks("curious", may=(), before=asks)).before_request(request()).notes
    assert note.fault == "capability"


def test_other_threads_of_the_process_connect_as_before(listening: tuple[str, int]) -> None:
    manager(Asks("curious", may=(), before=lambda view: None)).before_request(request())
    with socket.create_connection(listening, timeout=5) as connection:
        assert connection.getpeername() == listening


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no local sockets")
def test_a_socket_on_the_same_machine_is_no_network(tmp_path: Any) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def logs(view: Any) -> None:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)

        (note,) = manager(Asks("logs", may=(), before=logs)).before_request(request()).notes
    assert note.fault is None
