"""Streams of gRPC: many requests, and to each one answer or many."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from oneflow.base.extras import extra
from oneflow.serving.errors import RequestError, invalid
from oneflow.serving.grpc_codec import decode_generation, encode_end, encode_token
from oneflow.serving.model_version import ModelVersion
from oneflow.serving.protocol.messages import messages
from oneflow.serving.repository import Repository
from oneflow.serving.tensors import Limits

with extra("serving", "`oneflow.serving`"):
    from google.protobuf.message import DecodeError

logger = logging.getLogger("oneflow.serving")
# Answers that wait for a slow client; its sequences wait with them.
_BUFFER = 64
# Sequences of one stream that wait or are continued: with all that it asks for in the queue, other
# clients would have to wait for the last of them.
_MAX_SEQUENCES = 32


def parse_message(name: str, content: bytes) -> Any:
    """Return the message of a request.

    Raises:
        RequestError: it is malformed.
    """
    try:
        return messages[name].FromString(content)
    except DecodeError as error:
        raise invalid(f"the request is no `{name}`: {error}") from None


class InferStream:
    """One stream. Requests to models that generate are answered side by side, others in order.

    Args:
        repository: the models.
        limits: what a request may ask for.
        answer: returns the answer to a request that has one.
    """

    def __init__(
        self, repository: Repository, limits: Limits, answer: Callable[[Any], Awaitable[Any]]
    ) -> None:
        self._repository = repository
        self._limits = limits
        self._answer = answer
        self._responses: asyncio.Queue[Any] = asyncio.Queue(_BUFFER)
        self._places = asyncio.Semaphore(_MAX_SEQUENCES)

    async def answer_all(self, requests: AsyncIterator[bytes]) -> AsyncGenerator[Any]:
        """Return the answers to the requests of the stream; an error ends none but its own."""
        reader = asyncio.create_task(self._read(requests))
        try:
            while (response := await self._responses.get()) is not None:
                yield response
        finally:
            reader.cancel()

    async def _read(self, requests: AsyncIterator[bytes]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                async for content in requests:
                    await self._begin(content, group)
        except Exception:
            logger.exception("a stream failed")
        await self._responses.put(None)

    async def _begin(self, content: bytes, group: asyncio.TaskGroup) -> None:
        """Answer a request, or begin with it."""
        identifier = ""
        try:
            message = parse_message("ModelInferRequest", content)
            identifier = message.id
            model = self._repository.find(message.model_name, message.model_version)
            if model.config.model_transaction_policy.decoupled:
                await self._places.acquire()
                task = group.create_task(self._generate(model, message))
                task.add_done_callback(lambda _: self._places.release())
                return
            await self._put(infer_response=await self._answer(message))
        except RequestError as error:
            await self._put_error(error, identifier)

    async def _generate(self, model: ModelVersion, message: Any) -> None:
        """Answer with the tokens that continue a sequence."""
        names = model.name, model.version, message.id
        try:
            tokens = model.generate(decode_generation(message, self._limits))
            async with aclosing(tokens):
                async for token in tokens:
                    await self._put(infer_response=encode_token(*names, token))
            if message.parameters["triton_enable_empty_final_response"].bool_param:
                await self._put(infer_response=encode_end(*names))
        except RequestError as error:
            await self._put_error(error, message.id)

    async def _put(self, **fields: Any) -> None:
        await self._responses.put(messages["ModelStreamInferResponse"](**fields))

    async def _put_error(self, error: RequestError, identifier: str) -> None:
        response = messages["ModelInferResponse"](id=identifier)
        await self._put(error_message=str(error), infer_response=response)
