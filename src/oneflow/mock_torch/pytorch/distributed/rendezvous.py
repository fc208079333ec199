"""``torch.distributed.rendezvous``: how processes find the store that they share, by an address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from oneflow.distributed import default_pg_timeout
from oneflow.mock_torch.pytorch.distributed.stores import FileStore, Store, TCPStore

Meeting = tuple[Store, int, int]
_handlers: dict[str, Callable[..., Iterator[Meeting]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Meeting]]) -> None:
    """Say how processes meet at addresses of a scheme.

    Args:
        scheme: what stands before ``://``.
        handler: a generator that gets the address, and yields the store, the rank of this process
            and the number of processes.

    Raises:
        RuntimeError: the scheme has a handler already.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> def alone(url, **options):
        ...     yield torch.distributed.HashStore(), 0, 1
        >>> torch.distributed.register_rendezvous_handler("alone", alone)
        >>> store, rank, count = next(torch.distributed.rendezvous("alone://"))
        >>> rank, count
        (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"`scheme` must be a new one, and {scheme}:// has a handler already")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Meeting]:
    """Return an iterator whose first value are a store, the rank and the number of processes.

    Args:
        url: ``env://``, ``tcp://host:port``, ``file:///path``, or an address of a scheme of
            `register_rendezvous_handler`; it may end with ``?rank=..&world_size=..``.
        rank: the number of this process, if the address does not say it.
        world_size: the number of processes, if the address does not say it.
        kwargs: arguments of the handler, such as `timeout`.

    Raises:
        RuntimeError: an argument has the wrong type, or there is no handler of the scheme.
        AssertionError: the address says what `rank` or `world_size` says, too.
    """
    for name, value, kind in (
        ("url", url, str | bytes),
        ("rank", rank, int),
        ("world_size", world_size, int),
    ):
        if not isinstance(value, kind):
            raise RuntimeError(f"`{name}` must be of {kind}, got {value!r}")
    address = urlsplit(url.decode() if isinstance(url, bytes) else url)
    numbers = {"rank": rank, "world_size": world_size}
    arguments = {name: number for name, number in numbers.items() if number != -1}
    if arguments:
        query = dict(parse_qsl(address.query))
        if query.keys() & numbers.keys():
            raise AssertionError(f"{url} says which rank this is, and so does an argument")
        address = address._replace(query=urlencode(query | arguments))
    if address.scheme not in _handlers:
        raise RuntimeError(f"no handler is registered for {address.scheme}://")
    return _handlers[address.scheme](address.geturl(), **kwargs)


def _parts(url: str, *names: str) -> tuple[SplitResult, list[int]]:
    """Return the parts of an address, and the numbers that it must have.

    Raises:
        ValueError: it lacks one.
    """
    address = urlsplit(url)
    query = dict(parse_qsl(address.query))
    for name in names:
        if name not in query:
            raise ValueError(f"{url} must end with `?rank=..&world_size=..`, and has no `{name}`")
    return address, [int(query[name]) for name in names]


def _meet_at_a_file(url: str, **kwargs: Any) -> Iterator[Meeting]:
    if not urlsplit(url).path:
        raise ValueError(f"{url} must be file:///path, and has no path")
    address, (rank, world_size) = _parts(url, "rank", "world_size")
    yield FileStore(address.path, world_size), rank, world_size
    raise RuntimeError("processes meet at a file once only")


def _meet_at_a_port(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Any:
    if urlsplit(url).port is None:
        raise ValueError(f"{url} must be tcp://host:port, and has no port")
    address, (rank, world_size) = _parts(url, "rank", "world_size")
    yield _store(address.hostname or "", address.port or 0, rank, world_size, timeout)
    raise RuntimeError("processes meet at a port once only")


def _meet_by_variables(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Any:
    query = dict(parse_qsl(urlsplit(url).query))
    settings = {"RANK": query.get("rank"), "WORLD_SIZE": query.get("world_size")}
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        settings[name] = settings.get(name) or os.environ.get(name)
        if not settings[name]:
            raise ValueError(f"env:// needs the environment variable {name}, which is not set")
    rank, world_size, port = (
        int(settings[name] or 0) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")
    )
    yield _store(settings["MASTER_ADDR"] or "", port, rank, world_size, timeout)
    raise RuntimeError("processes meet by environment variables once only")


def _store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Meeting:
    """Return the store that the first process serves, or torchrun's agent in its place."""
    if not 0 <= port < 1 << 16:
        raise ValueError(f"`port` must be from 0 to 65535, got {port}")
    is_served = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = TCPStore(host, port, world_size, rank == 0 and not is_served, timeout)
    return store, rank, world_size


register_rendezvous_handler("tcp", _meet_at_a_port)
register_rendezvous_handler("env", _meet_by_variables)
register_rendezvous_handler("file", _meet_at_a_file)

__all__ = ["register_rendezvous_handler", "rendezvous"]
