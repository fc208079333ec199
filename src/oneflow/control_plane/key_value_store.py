"""The key-value store of JAX's coordination service, which all processes of a job share."""

from __future__ import annotations

from typing import Any

import jax


def service_state() -> Any:
    """Return JAX's state of its coordination service."""
    return jax.distributed.shutdown.__globals__["global_state"]


def put(key: str, text: str) -> None:
    """Store a text under a key that has none yet."""
    service_state().client.key_value_set(key, text)


def get(key: str, seconds: float) -> str:
    """Return the text under a key, when some process has stored it.

    Raises:
        TimeoutError: none has, after so many seconds.
    """
    try:
        return service_state().client.blocking_key_value_get(key, int(1000 * seconds))
    except jax.errors.JaxRuntimeError as error:
        if "DEADLINE_EXCEEDED" not in str(error):
            raise
        raise TimeoutError(f"no process has stored {key!r} for {seconds:g} s") from None


def coordinator_host() -> str:
    """Return the host of rank 0, as this process reaches it."""
    return service_state().coordinator_address.rpartition(":")[0]
