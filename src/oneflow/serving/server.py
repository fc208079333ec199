"""The server: both protocols over one repository, from start to drain."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oneflow.base.extras import extra
from oneflow.serving.daemon_thread import is_working
from oneflow.serving.grpc_server import GrpcServer
from oneflow.serving.http_server import HttpServer
from oneflow.serving.repository import Repository
from oneflow.serving.tensors import Limits

with extra("serving", "`oneflow.serving`"):
    import grpc
    import grpc.aio
    from aiohttp import web

logger = logging.getLogger("oneflow.serving")
# Seconds between requests on one connection, and until the first one has come.
_KEEP_ALIVE = 75.0
# Seconds between two lines of the log that say the same of connections that cannot be accepted.
_LOG_INTERVAL = 10.0
# Turns of the event loop until asyncio has made a connection of a socket that it has accepted.
_EVENT_LOOP_CYCLES = 3
_CLOSED_SOCKET = "Invalid file descriptor: -1"


@dataclass(frozen=True)
class ServerOptions:
    """The options of a server.

    Attributes:
        host: the address to listen at; other machines reach the default one not at all.
        http: the port of HTTP, 0 for any free one; None for no HTTP.
        grpc: the port of gRPC, likewise.
        http_socket: one that listens already, which takes the place of the port of HTTP.
        supervisor_pipe: the reading end of a pipe; the server is stopped when nobody holds the
            other end any more.
        certificate: the file of the TLS certificate chain; None for no TLS.
        private_key: the file of its key.
        token: what clients have to send as bearer token; None for nothing.
        poll_seconds: the time between two looks for new versions; 0 for never.
        shutdown_timeout: the seconds that requests have to end when the server is stopped.
        limits: what a request may ask for.

    Example:
        >>> from oneflow.serving.server import ServerOptions
        >>> ServerOptions(http=0, grpc=None).host
        '127.0.0.1'
    """

    host: str = "127.0.0.1"
    http: int | None = 8000
    grpc: int | None = 8001
    http_socket: socket.socket | None = None
    supervisor_pipe: int | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    token: str | None = None
    poll_seconds: float = 1.0
    shutdown_timeout: float = 30.0
    limits: Limits = field(default_factory=Limits)


class Server:
    """A server for a saved graph or a repository of them.

    Args:
        path: the folder, see `oneflow.serving.model_files`.
        options: ports, limits and the like.

    Attributes:
        http_port: the port of HTTP once it listens; None for no HTTP.
        grpc_port: the port of gRPC.

    Raises:
        ValueError: there is a certificate without its key, or a key without its certificate.

    Example:
        >>> import asyncio, pathlib, tempfile
        >>> from oneflow.serving.server import Server, ServerOptions
        >>> async def start_and_stop(folder):
        ...     stop, started = asyncio.Event(), asyncio.Event()
        ...     server = Server(pathlib.Path(folder), ServerOptions(http=0, grpc=None))
        ...     running = asyncio.create_task(server.run(stop, started))
        ...     await started.wait()
        ...     stop.set()
        ...     await running
        ...     return server.http_port > 0
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     asyncio.run(start_and_stop(folder))
        True
    """

    def __init__(self, path: Path, options: ServerOptions | None = None) -> None:
        self._path = path
        self._options = options or ServerOptions()
        if (self._options.certificate is None) != (self._options.private_key is None):
            raise ValueError("TLS needs both a certificate and its private key")
        self.http_port: int | None = None
        self.grpc_port: int | None = None
        # Each ends one protocol, after the requests that it has.
        self._closers: list[Callable[[], Awaitable[Any]]] = []

    async def run(self, stop: asyncio.Event, started: asyncio.Event | None = None) -> None:
        """Serve until `stop` is set, then answer the requests that are there.

        Args:
            stop: set by SIGTERM, for one; also ends the loading of the models.
            started: set as soon as the ports are open and the models are loaded, or have failed.

        Raises:
            FileNotFoundError: the folder does not exist.
            OSError: a port cannot be had.
        """
        options = self._options
        repository = Repository(self._path)
        http = HttpServer(repository, options.limits, options.token)
        grpc = GrpcServer(repository, options.limits, options.token)
        try:
            # Requests that wait in a socket since another server died want an answer, which is
            # there when the models are; otherwise health is answered while they are loaded.
            has_socket = options.http_socket is not None
            if has_socket:
                await _unless(stop, repository.load_all())
            if options.http is not None:
                await self._start_http(http, options.http)
            if options.grpc is not None:
                await self._start_grpc(grpc, options.grpc)
            if not has_socket:
                await _unless(stop, repository.load_all())
            if not stop.is_set():
                details: dict[str, Any] = {"http": self.http_port, "grpc": self.grpc_port}
                details |= {"host": options.host, "pid": os.getpid()}
                if not any(repository.index()):
                    logger.warning(
                        "there is no model in `%s`; expected a saved graph, or folders "
                        "MODEL/VERSION with one in each",
                        self._path,
                    )
                logger.info("server ready", extra=details)
            if started is not None:
                started.set()
            await self._poll(repository, stop)
            # Load balancers see it, and send no more, while requests go on.
            http.is_stopping = grpc.is_stopping = True
            logger.info("server draining")
        finally:
            await self._drain(repository)
        logger.info("server stopped")

    async def _drain(self, repository: Repository) -> None:
        """Let the requests that are there end; all together have `shutdown_timeout`."""
        end = time.monotonic() + self._options.shutdown_timeout
        await asyncio.gather(*[close() for close in self._closers])
        await repository.close(max(end - time.monotonic(), 0.0))

    async def _start_http(self, server: HttpServer, port: int) -> None:
        options = self._options
        runner = web.AppRunner(
            server.make_app(),
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=_KEEP_ALIVE,
            shutdown_timeout=options.shutdown_timeout,
        )
        await runner.setup()
        factory = runner.server
        assert factory is not None  # it is set up
        self._closers.append(runner.cleanup)
        context = None
        if options.certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(options.certificate, options.private_key)
        create_server = asyncio.get_running_loop().create_server
        if options.http_socket is None:
            http_server = await create_server(factory, options.host, port, ssl=context)
        else:
            http_server = await create_server(factory, sock=options.http_socket, ssl=context)
        self._closers[-1] = lambda: _close_http(runner, http_server)
        self.http_port = http_server.sockets[0].getsockname()[1]

    async def _start_grpc(self, service: GrpcServer, port: int) -> None:
        options = self._options
        size = options.limits.request_bytes
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", size),
                ("grpc.max_send_message_length", -1),
                # Two servers on one port would share its requests unnoticed.
                ("grpc.so_reuseport", 0),
            ]
        )
        server.add_generic_rpc_handlers((service.handler(),))
        address = f"{options.host}:{port}"
        try:
            if options.certificate is None or options.private_key is None:
                self.grpc_port = server.add_insecure_port(address)
            else:
                pair = options.private_key.read_bytes(), options.certificate.read_bytes()
                self.grpc_port = server.add_secure_port(
                    address, grpc.ssl_server_credentials([pair])
                )
        except RuntimeError as error:
            raise OSError(f"gRPC cannot listen at {address}: {error}") from None
        await server.start()
        self._closers.append(lambda: server.stop(options.shutdown_timeout))

    async def _poll(self, repository: Repository, stop: asyncio.Event) -> None:
        """Look for new versions until the server is stopped."""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.poll_seconds or None):
                    await stop.wait()
                    return
            try:
                await _unless(stop, repository.update())
            except OSError as error:  # a network drive may be back soon
                logger.error("repository not read", extra={"reason": str(error)})


async def _close_http(runner: web.AppRunner, http_server: asyncio.Server) -> None:
    """Answer the requests of HTTP that are there, and close all connections.

    Two kinds would stay open otherwise: connections that asyncio has accepted, and not yet handed
    over when the listener is closed; and those whose clients do not read their answers.
    """
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows
        for sock in http_server.sockets:
            loop.remove_reader(sock.fileno())
        for _ in range(_EVENT_LOOP_CYCLES):
            await asyncio.sleep(0)
    http_server.close()
    server = runner.server
    handlers = [] if server is None else server.connections
    open_sockets = [handler.transport for handler in handlers]
    await runner.cleanup()
    for open_socket in filter(None, open_sockets):
        open_socket.abort()
    await asyncio.sleep(0)  # the event loop closes their sockets


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Wait for some work, but no longer than until the server is stopped."""
    task, stop_task = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait([task, stop_task], return_when=asyncio.FIRST_COMPLETED)
    stop_task.cancel()
    if task.done():
        task.result()
    task.cancel()


class _AcceptErrors:
    """Handles errors of an event loop: of connections that find no descriptor, one in a while.

    The event loop tells of each attempt to accept one, thousands in a second. It plans to listen
    again for each of them a second later; where the socket has been closed by then, because the
    server stops, that is an error of its own, which nobody needs to see.
    """

    def __init__(self) -> None:
        self._logged_at = -_LOG_INTERVAL

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, ValueError) and str(error) == _CLOSED_SOCKET:
            pass
        elif getattr(error, "errno", None) not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif time.monotonic() - self._logged_at > _LOG_INTERVAL:
            self._logged_at = time.monotonic()
            reason = f"{error}; allow the process more open files (`ulimit -n`)"
            logger.error("connections wait", extra={"reason": reason})


def serve(path: Path, options: ServerOptions) -> None:
    """Serve a folder until SIGTERM or SIGINT.

    Raises:
        FileNotFoundError: the folder does not exist.
        OSError: a port cannot be had.

    Example:
        >>> import pathlib
        >>> from oneflow.serving.server import ServerOptions, serve
        >>> serve(pathlib.Path("no_such_folder"), ServerOptions(http=0, grpc=None))
        Traceback (most recent call last):
            ...
        FileNotFoundError: `no_such_folder` is no folder with a saved graph or with ...
    """

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.set_exception_handler(_AcceptErrors())
        pipe = options.supervisor_pipe
        if pipe is not None:
            loop.add_reader(pipe, lambda: (loop.remove_reader(pipe), stop.set()))
        await Server(path, options).run(stop)

    asyncio.run(main())
    if is_working():  # what compiles, or runs, on another thread is not waited for
        logging.shutdown()
        os._exit(0)
