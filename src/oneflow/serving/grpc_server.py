"""The Open Inference Protocol over gRPC."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from oneflow.base.extras import extra
from oneflow.serving.bearer_token import BearerToken
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.grpc_codec import decode_request, encode_response
from oneflow.serving.grpc_stream import InferStream, parse_message
from oneflow.serving.inference import infer
from oneflow.serving.metadata import (
    model_metadata,
    repository_index,
    server_metadata,
    statistics,
)
from oneflow.serving.protocol.messages import SERVICE, messages
from oneflow.serving.repository import Repository
from oneflow.serving.tensors import Limits

with extra("serving", "`oneflow.serving`"):
    import grpc
    import grpc.aio

logger = logging.getLogger("oneflow.serving")
# Probes of an orchestrator have no token.
_OPEN = ("ServerLive", "ServerReady")
_Answer = Callable[[Any], Awaitable[Any]]


class GrpcServer:
    """The handlers of the service.

    Args:
        repository: the models.
        limits: what a request may ask for.
        token: what clients have to send as ``authorization: Bearer``; None for nothing.
    """

    def __init__(self, repository: Repository, limits: Limits, token: str | None = None) -> None:
        self._repository = repository
        self._limits = limits
        self._token = BearerToken(token)
        self.is_stopping = False

    def handler(self) -> grpc.GenericRpcHandler:
        """Return the handler of all methods of the service."""
        unary: dict[str, _Answer] = {
            "ServerLive": self._live,
            "ServerReady": self._ready,
            "ModelReady": self._model_ready,
            "ServerMetadata": self._server_metadata,
            "ModelMetadata": self._model_metadata,
            "ModelConfig": self._config,
            "ModelStatistics": self._statistics,
            "RepositoryIndex": self._index,
            "RepositoryModelLoad": self._load,
            "RepositoryModelUnload": self._unload,
        }
        handlers = {name: self._unary(name, answer) for name, answer in unary.items()}
        # Requests stay bytes until a handler reads them, which answers to malformed ones, too.
        handlers["ModelInfer"] = grpc.unary_unary_rpc_method_handler(
            self._infer, None, messages["ModelInferResponse"].SerializeToString
        )
        handlers["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
            self._stream, None, messages["ModelStreamInferResponse"].SerializeToString
        )
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    def _unary(self, name: str, answer: _Answer) -> grpc.RpcMethodHandler:
        async def handle(content: bytes, context: grpc.aio.ServicerContext) -> Any:
            try:
                if name not in _OPEN:
                    self._check_token(context)
                return await answer(parse_message(f"{name}Request", content))
            except RequestError as error:
                await _fail(context, error)

        return grpc.unary_unary_rpc_method_handler(
            handle, None, messages[f"{name}Response"].SerializeToString
        )

    def _check_token(self, context: grpc.aio.ServicerContext) -> None:
        header = b""
        for key, value in context.invocation_metadata() or ():
            if key == "authorization":
                header = value.encode(errors="replace") if isinstance(value, str) else value
        self._token.check(header)

    # --- inference

    async def _infer(self, content: bytes, context: grpc.aio.ServicerContext) -> Any:
        try:
            self._check_token(context)
            return await self._answer(parse_message("ModelInferRequest", content), context)
        except RequestError as error:
            await _fail(context, error)
        except Exception as error:
            logger.exception("a request failed")
            await _fail(context, RequestError(ErrorKind.FAILED, f"{error!r}"))

    async def _answer(self, message: Any, context: grpc.aio.ServicerContext) -> Any:
        request = decode_request(message, self._limits)
        remaining = context.time_remaining()
        if remaining is not None:
            timeout = min(remaining, request.timeout or remaining)
            request = request._replace(timeout=max(timeout, 1e-6))
        response = await infer(self._repository, message.model_name, message.model_version, request)
        return encode_response(response, message.id)

    async def _stream(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[Any]:
        """Answer the requests of a stream."""
        try:
            self._check_token(context)
        except RequestError as error:
            await _fail(context, error)
        stream = InferStream(
            self._repository, self._limits, lambda message: self._answer(message, context)
        )
        async with aclosing(stream.answer_all(requests)) as generator:
            async for response in generator:
                yield response

    # --- health, metadata, statistics

    async def _live(self, _request: Any) -> Any:
        return messages["ServerLiveResponse"](live=True)

    async def _ready(self, _request: Any) -> Any:
        is_ready = self._repository.is_ready and not self.is_stopping
        return messages["ServerReadyResponse"](ready=is_ready)

    async def _model_ready(self, request: Any) -> Any:
        try:
            self._repository.find(request.name, request.version)
        except RequestError:
            return messages["ModelReadyResponse"](ready=False)
        return messages["ModelReadyResponse"](ready=True)

    async def _server_metadata(self, _request: Any) -> Any:
        return server_metadata()

    async def _model_metadata(self, request: Any) -> Any:
        return model_metadata(self._repository, request.name, request.version)

    async def _config(self, request: Any) -> Any:
        config = self._repository.find(request.name, request.version).config
        return messages["ModelConfigResponse"](config=config)

    async def _statistics(self, request: Any) -> Any:
        return statistics(self._repository, request.name, request.version)

    # --- the repository

    async def _index(self, request: Any) -> Any:
        return repository_index(self._repository, request.ready)

    async def _load(self, request: Any) -> Any:
        await self._repository.load(request.model_name)
        return messages["RepositoryModelLoadResponse"]()

    async def _unload(self, request: Any) -> Any:
        await self._repository.unload(request.model_name)
        return messages["RepositoryModelUnloadResponse"]()


async def _fail(context: grpc.aio.ServicerContext, error: RequestError) -> None:
    await context.abort(grpc.StatusCode[error.kind.grpc_code], str(error))
