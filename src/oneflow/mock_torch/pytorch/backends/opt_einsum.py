"""Orders of contractions in `einsum`, which JAX always takes from the package `opt_einsum`."""


def is_available() -> bool:
    """Return True."""
    return True


enabled = True
strategy = "auto"

__all__ = ["enabled", "is_available", "strategy"]
