"""The bearer token that clients must send, whichever the protocol."""

from __future__ import annotations

import hmac

from oneflow.serving.errors import ErrorKind, RequestError


class BearerToken:
    """The token of a server.

    Args:
        token: what clients have to send as ``Authorization: Bearer``; None for nothing.
    """

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else f"Bearer {token}".encode()

    def check(self, header: bytes) -> None:
        """Check the authorization that a client sent.

        Raises:
            RequestError: it is not the token.
        """
        if self._expected is not None and not hmac.compare_digest(header, self._expected):
            raise RequestError(ErrorKind.UNAUTHENTICATED, "the bearer token is missing or wrong")
