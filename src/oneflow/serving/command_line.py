"""The command `python -m oneflow serve`."""

from __future__ import annotations

import argparse
import gc
import logging
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from oneflow.base.command_parser import CommandParser
from oneflow.serving.logs import JsonFormatter
from oneflow.serving.server import ServerOptions, serve
from oneflow.serving.supervisor import Supervisor, open_socket
from oneflow.serving.tensors import Limits
from oneflow.serving.triton.export import export_model, write_backend

_PROGRAM = "python -m oneflow serve"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; ends the process with a message if it cannot."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command = {"export": _export, "backend": _backend}.get(arguments[0] if arguments else "")
    try:
        if command is None:
            _serve(arguments)
        else:
            command(arguments[1:])
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"{_PROGRAM}: {error}")


def _export(arguments: Sequence[str]) -> None:
    """Put a saved graph into a model repository."""
    parser = CommandParser(
        prog=f"{_PROGRAM} export",
        description="Put a saved graph into a model repository of this server or of Triton.",
    )
    parser.add_argument("graph", type=Path, help="a saved graph")
    parser.add_argument("model", type=Path, help="the model's folder, such as repository/name")
    parser.add_argument("--version", type=int, help="number of the version (the next one)")
    options = parser.parse_args(arguments)
    sys.stdout.write(f"{export_model(options.graph, options.model, options.version)}\n")


def _backend(arguments: Sequence[str]) -> None:
    """Write the backend for Triton."""
    parser = CommandParser(
        prog=f"{_PROGRAM} backend", description="Write the backend `oneflow` for Triton."
    )
    parser.add_argument("folder", type=Path, help="Triton's --backend-directory")
    options = parser.parse_args(arguments)
    sys.stdout.write(f"{write_backend(options.folder)}\n")


def _serve(arguments: Sequence[str]) -> None:
    """Serve a folder."""
    options = _parser().parse_args(arguments)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("oneflow.serving").setLevel(logging.INFO)
    # It would write down malformed requests in full, which are answered with an error.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    if options.restart:
        sys.exit(_run_supervisor(arguments, options))
    # Imported modules stay; a garbage collection that visits them stops all requests for 0.3 s.
    gc.collect()
    gc.freeze()
    serve(options.path, _server_options(options))


def _run_supervisor(arguments: Sequence[str], options: argparse.Namespace) -> int:
    """Serve a folder by a process that is started again when it was killed.

    Raises:
        OSError: the port of HTTP cannot be had.
        ValueError: there is no port of gRPC that stays the same.
    """
    if not options.grpc:
        raise ValueError("--restart needs a fixed port of gRPC, so that clients find it again")
    with open_socket(options.host, options.http) as server_socket:
        worker_arguments = [argument for argument in arguments if argument != "--restart"]
        return Supervisor(worker_arguments, server_socket).run()


def _parser() -> argparse.ArgumentParser:
    defaults = ServerOptions()
    parser = CommandParser(
        prog=_PROGRAM,
        allow_abbrev=False,
        description="Serve saved graphs over HTTP and gRPC (Open Inference Protocol, version 2).",
        epilog="Further commands: `export GRAPH REPOSITORY/NAME`, `backend FOLDER`.",
    )
    parser.add_argument("path", type=Path, help="a saved graph, or a repository of models")
    parser.add_argument("--host", default=defaults.host, help="address to listen at (%(default)s)")
    parser.add_argument(
        "--http", type=int, default=defaults.http, help="port of HTTP (%(default)s; 0: any)"
    )
    parser.add_argument(
        "--grpc", type=int, default=defaults.grpc, help="port of gRPC (%(default)s; 0: any)"
    )
    parser.add_argument(
        "--http-socket", type=int, help="number of an inherited socket that listens for HTTP"
    )
    parser.add_argument(
        "--supervisor-pipe", type=int, help="number of an inherited pipe; the server ends with it"
    )
    parser.add_argument(
        "--restart", action="store_true", help="start the server again when it was killed"
    )
    parser.add_argument("--certificate", type=Path, help="file of the TLS certificate chain")
    parser.add_argument("--private-key", type=Path, help="file of its key")
    parser.add_argument("--token-file", type=Path, help="file of the bearer token clients send")
    parser.add_argument(
        "--poll",
        type=float,
        default=defaults.poll_seconds,
        help="seconds between looks for new versions (%(default)s; 0: never)",
    )
    parser.add_argument(
        "--drain",
        type=float,
        default=defaults.shutdown_timeout,
        help="seconds that requests have to end after SIGTERM (%(default)s)",
    )
    parser.add_argument(
        "--max-request-bytes",
        type=int,
        default=defaults.limits.request_bytes,
        help="length of a request (%(default)s)",
    )
    return parser


def _server_options(options: argparse.Namespace) -> ServerOptions:
    """Convert the options of the command to the server's.

    Raises:
        OSError: the file of the token cannot be read, or the socket is none.
        ValueError: it is empty.
    """
    token = None
    if options.token_file is not None:
        token = options.token_file.read_text(encoding="utf-8").strip()
        if not token:
            raise ValueError(f"there is no token in `{options.token_file}`")
    number = options.http_socket
    return ServerOptions(
        host=options.host,
        http=options.http,
        grpc=options.grpc,
        http_socket=None if number is None else socket.socket(fileno=number),
        supervisor_pipe=options.supervisor_pipe,
        certificate=options.certificate,
        private_key=options.private_key,
        token=token,
        poll_seconds=options.poll,
        shutdown_timeout=options.drain,
        limits=Limits(request_bytes=options.max_request_bytes),
    )
