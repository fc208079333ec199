"""The command `python -m oneflow.serving`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from oneflow.serving.logs import JsonFormatter
from oneflow.serving.server import ServerOptions, serve
from oneflow.serving.tensors import Limits


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; ends the process with a message if it cannot."""
    options = _parser().parse_args(arguments)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("oneflow.serving").setLevel(logging.INFO)
    # It would write down malformed requests in full, which are answered with an error.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    try:
        serve(options.path, _server_options(options))
    except (OSError, ValueError) as error:
        sys.exit(f"python -m oneflow.serving: {error}")


def _parser() -> argparse.ArgumentParser:
    defaults = ServerOptions()
    parser = argparse.ArgumentParser(
        prog="python -m oneflow.serving",
        description="Serve saved graphs over HTTP and gRPC (Open Inference Protocol, version 2).",
    )
    parser.add_argument("path", type=Path, help="a saved graph, or a repository of models")
    parser.add_argument("--host", default=defaults.host, help="address to listen at (%(default)s)")
    parser.add_argument(
        "--http", type=int, default=defaults.http, help="port of HTTP (%(default)s; 0: any)"
    )
    parser.add_argument(
        "--grpc", type=int, default=defaults.grpc, help="port of gRPC (%(default)s; 0: any)"
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
        default=defaults.drain_seconds,
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
    """Return the options of the command as those of the server.

    Raises:
        OSError: the file of the token cannot be read.
        ValueError: it is empty.
    """
    token = None
    if options.token_file is not None:
        token = options.token_file.read_text(encoding="utf-8").strip()
        if not token:
            raise ValueError(f"there is no token in `{options.token_file}`")
    return ServerOptions(
        host=options.host,
        http=options.http,
        grpc=options.grpc,
        certificate=options.certificate,
        private_key=options.private_key,
        token=token,
        poll_seconds=options.poll,
        drain_seconds=options.drain,
        limits=Limits(request_bytes=options.max_request_bytes),
    )
