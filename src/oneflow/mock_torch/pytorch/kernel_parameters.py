"""``torch.sparse._triton_ops_meta``: parameters of Triton's kernels, of which none are here."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing

_REASON = "no kernels of Triton run here whose parameters could be tuned; XLA tunes its own"


def get_meta(
    op: str,
    key: tuple[Any, ...],
    device_name: str | None = None,
    version: Any = None,
    exact: bool = False,
) -> None:
    """Return None: no parameters were tuned.

    Args:
        op: the name of a kernel.
        key: sizes of its arguments.
        device_name: the name of a GPU.
        version: the version of the parameters.
        exact: whether those of similar GPUs do not count.
    """


def update(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to store parameters that nothing reads.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.sparse._triton_ops_meta.update", _REASON)


def minimize(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to look for the parameters of the fastest kernel.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.sparse._triton_ops_meta.minimize", _REASON)
