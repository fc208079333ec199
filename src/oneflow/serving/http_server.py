"""The Open Inference Protocol over HTTP, with metrics and the status page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from oneflow.base.extras import extra
from oneflow.serving.bearer_token import BearerToken
from oneflow.serving.errors import ErrorKind, RequestError, invalid
from oneflow.serving.generation import generation_request
from oneflow.serving.http_codec import JSON_LENGTH, decode_json, decode_request, encode_response
from oneflow.serving.inference import infer
from oneflow.serving.metadata import (
    model_metadata,
    repository_index,
    server_metadata,
    statistics,
    to_json,
)
from oneflow.serving.metrics import CONTENT_TYPE, metrics_text
from oneflow.serving.repository import Repository
from oneflow.serving.status_page import status_page
from oneflow.serving.tensors import Limits

with extra("serving", "`oneflow.serving`"):
    from aiohttp import web

logger = logging.getLogger("oneflow.serving")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# Probes of an orchestrator have no token.
_OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")


class HttpServer:
    """The handlers of HTTP requests.

    Args:
        repository: the models.
        limits: what a request may ask for.
        token: what clients have to send as ``Authorization: Bearer``; None for nothing.
    """

    def __init__(self, repository: Repository, limits: Limits, token: str | None = None) -> None:
        self._repository = repository
        self._limits = limits
        self._token = BearerToken(token)
        self.is_stopping = False

    def make_app(self) -> web.Application:
        """Return the application that serves them."""
        app = web.Application(
            client_max_size=self._limits.request_bytes, middlewares=[self._answer_errors]
        )
        model = "/v2/models/{name}"
        for prefix in (model, f"{model}/versions/{{version}}"):
            app.router.add_post(f"{prefix}/infer", self._infer)
            app.router.add_post(f"{prefix}/generate", self._generate)
            app.router.add_post(f"{prefix}/generate_stream", self._generate_stream)
            app.router.add_get(f"{prefix}/ready", self._model_ready)
            app.router.add_get(f"{prefix}/config", self._config)
            app.router.add_get(f"{prefix}/stats", self._statistics)
            app.router.add_get(prefix, self._model_metadata)
        app.router.add_get("/v2/models/stats", self._statistics)
        app.router.add_get("/v2", self._server_metadata)
        app.router.add_get("/v2/health/live", self._live)
        app.router.add_get("/v2/health/ready", self._ready)
        app.router.add_post("/v2/repository/index", self._index)
        app.router.add_post("/v2/repository/models/{name}/load", self._load)
        app.router.add_post("/v2/repository/models/{name}/unload", self._unload)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/", self._status)
        return app

    @web.middleware
    async def _answer_errors(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Check the token, and answer with the errors that handlers raise."""
        try:
            self._check_token(request)
            return await handler(request)
        except RequestError as error:
            return _error(error.kind.http_status, str(error))
        except web.HTTPException as error:
            return _error(error.status, error.reason)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            logger.exception("a request failed")
            failure = RequestError(ErrorKind.FAILED, f"{type(error).__name__}: {error}")
            return _error(failure.kind.http_status, str(failure))

    def _check_token(self, request: web.Request) -> None:
        if request.path not in _OPEN_PATHS:
            header = request.headers.get("Authorization", "")
            self._token.check(header.encode(errors="surrogateescape"))

    async def _body(self, request: web.Request) -> bytes:
        """The body of a request, decompressed.

        Raises:
            RequestError: it is too long, arrives too slowly, or is damaged.
        """
        if (request.content_length or 0) > self._limits.request_bytes:
            raise self._too_long()
        try:
            if request.content.is_eof():  # most requests have arrived as a whole
                return await request.read()
            async with asyncio.timeout(self._limits.read_seconds):
                return await request.read()
        except TimeoutError:
            request.protocol.force_close()
            raise RequestError(ErrorKind.TIMEOUT, "the request arrived too slowly") from None
        except web.HTTPRequestEntityTooLarge:
            raise self._too_long() from None
        except (web.RequestPayloadError, ConnectionError) as error:
            raise RequestError(ErrorKind.INVALID, f"the body is damaged: {error}") from None

    def _too_long(self) -> RequestError:
        return RequestError(
            ErrorKind.TOO_LARGE, f"a request may have {self._limits.request_bytes} bytes"
        )

    # --- inference

    async def _infer(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        requested = decode_request(body, request.headers.get(JSON_LENGTH), self._limits)
        info = request.match_info
        response = await infer(
            self._repository, info["name"], info.get("version", ""), requested.request
        )
        content, json_length = encode_response(response, requested)
        # The header is given as text: aiohttp would parse the argument `content_type` every time.
        if json_length is None:
            return web.Response(body=content, headers={"Content-Type": "application/json"})
        headers = {"Content-Type": "application/octet-stream", JSON_LENGTH: str(json_length)}
        return web.Response(body=content, headers=headers)

    # --- generation

    async def _tokens(self, request: web.Request) -> tuple[dict[str, Any], AsyncGenerator[int]]:
        """The names of the model that answers a request, and its tokens."""
        data = decode_json(await self._body(request), self._limits)
        if not isinstance(data, dict):
            raise invalid("the request must be an object of JSON")
        model = self._repository.find(*_model_of(request))
        names = {"model_name": model.name, "model_version": str(model.version)}
        return names, model.generate(generation_request(data.get("tokens"), data))

    async def _generate(self, request: web.Request) -> web.Response:
        names, tokens = await self._tokens(request)
        async with aclosing(tokens):
            return web.json_response({**names, "tokens": [token async for token in tokens]})

    async def _generate_stream(self, request: web.Request) -> web.StreamResponse:
        """Answer with server-sent events, one for each token; an error is the last one."""
        names, tokens = await self._tokens(request)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        async with aclosing(tokens):
            # The first token shows whether there will be an answer at all.
            first = await anext(tokens)
            with contextlib.suppress(ConnectionError):  # nobody reads on
                await response.prepare(request)
                await response.write(_event({**names, "token": first}))
                try:
                    async for token in tokens:
                        await response.write(_event({**names, "token": token}))
                except RequestError as error:
                    await response.write(_event({"error": str(error)}))
                await response.write_eof()
        return response

    # --- health, metadata, statistics

    async def _live(self, _request: web.Request) -> web.Response:
        return web.Response()

    async def _ready(self, _request: web.Request) -> web.Response:
        is_ready = self._repository.is_ready and not self.is_stopping
        return web.Response(status=200 if is_ready else ErrorKind.SHUTDOWN.http_status)

    async def _model_ready(self, request: web.Request) -> web.Response:
        self._repository.find(*_model_of(request))
        return web.Response()

    async def _server_metadata(self, _request: web.Request) -> web.Response:
        return web.json_response(to_json(server_metadata()))

    async def _model_metadata(self, request: web.Request) -> web.Response:
        return web.json_response(to_json(model_metadata(self._repository, *_model_of(request))))

    async def _config(self, request: web.Request) -> web.Response:
        return web.json_response(to_json(self._repository.find(*_model_of(request)).config))

    async def _statistics(self, request: web.Request) -> web.Response:
        return web.json_response(to_json(statistics(self._repository, *_model_of(request))))

    async def _metrics(self, _request: web.Request) -> web.Response:
        text = metrics_text(self._repository)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE})

    async def _status(self, _request: web.Request) -> web.Response:
        return web.Response(text=status_page(self._repository), content_type="text/html")

    # --- the repository

    async def _index(self, request: web.Request) -> web.Response:
        body = await self._body(request)
        options = decode_json(body, self._limits) if body else {}
        is_ready = isinstance(options, dict) and options.get("ready") is True
        index = to_json(repository_index(self._repository, is_ready))
        return web.json_response(index["models"])

    async def _load(self, request: web.Request) -> web.Response:
        await self._body(request)
        await self._repository.load(request.match_info["name"])
        return web.Response()

    async def _unload(self, request: web.Request) -> web.Response:
        await self._body(request)
        await self._repository.unload(request.match_info["name"])
        return web.Response()


def _event(data: dict[str, Any]) -> bytes:
    """A server-sent event."""
    return f"data: {json.dumps(data)}\n\n".encode()


def _model_of(request: web.Request) -> tuple[str, str]:
    """The name and the version in the path of a request."""
    return request.match_info.get("name", ""), request.match_info.get("version", "")


def _error(status: int, message: str) -> web.Response:
    data: dict[str, Any] = {"error": message}
    return web.json_response(data, status=status)
