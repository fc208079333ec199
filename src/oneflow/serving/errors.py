"""Errors that are answers to requests."""

from __future__ import annotations

import enum


class ErrorKind(enum.Enum):
    """The reason of an error: the status of HTTP and the code of gRPC."""

    INVALID = 400, "INVALID_ARGUMENT"
    UNAUTHENTICATED = 401, "UNAUTHENTICATED"
    NOT_FOUND = 404, "NOT_FOUND"
    TIMEOUT = 408, "DEADLINE_EXCEEDED"
    TOO_LARGE = 413, "RESOURCE_EXHAUSTED"
    QUEUE_FULL = 429, "UNAVAILABLE"
    FAILED = 500, "INTERNAL"
    UNSUPPORTED = 501, "UNIMPLEMENTED"
    SHUTDOWN = 503, "UNAVAILABLE"
    EXPIRED = 504, "DEADLINE_EXCEEDED"

    def __init__(self, http_status: int, grpc_code: str) -> None:
        self.http_status = http_status
        self.grpc_code = grpc_code


# Characters of what a client reads: it knows what it has sent, and may have sent megabytes.
_MAX_MESSAGE = 500


class RequestError(Exception):
    """A request that is not answered with a result.

    Args:
        kind: the reason.
        message: what the client reads, at most its beginning.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]} ... ({len(message)} characters)"
        super().__init__(message)
        self.kind = kind


def invalid(message: str) -> RequestError:
    """An error of the request itself."""
    return RequestError(ErrorKind.INVALID, message)
