"""Functions mapped over a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.functional.shape.concat import stack
from oneflow.nn.utils.transforms import flat, unflat


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `func` for each element of a batch and stacks the results.

    The calls are recorded one after the other and run as one program.

    Args:
        func: takes and returns tensors or structures of tensors.
        in_dims: the dimension of the batch in all arguments, or one for each; None: the argument
            is the same for all.
        out_dims: where the dimension goes in all results, or one for each.
        randomness: ``"error"`` or ``"different"``: each call draws its own random numbers.
        chunk_size: accepted; the calls are separate anyway.

    Raises:
        NotImplementedError: a `randomness` of ``"same"``.
        ValueError: another one; (when called) no argument has a batch, or their sizes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.func.vmap(flow.dot)(flow.ones(3, 2), flow.ones(3, 2))
        tensor([2., 2., 2.], dtype=oneflow.float32)
    """
    if randomness == "same":
        raise NotImplementedError("vmap: `randomness` of 'same' is not implemented")
    if randomness not in ("error", "different"):
        raise ValueError(
            f"vmap: `randomness` must be 'error', 'different' or 'same', got {randomness!r}"
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple | list) else (in_dims,) * len(args)
        parts = [flat(each, "func.vmap") for each in args]
        sizes = {
            tensor.shape[dim]
            for (tensors, _), dim in zip(parts, dims, strict=True)
            if dim is not None
            for tensor in tensors
        }
        if len(sizes) != 1:
            raise ValueError(
                f"vmap: expected all mapped tensors to have one size, got {sorted(sizes)}"
            )
        results = []
        for number in range(sizes.pop()):
            chosen = [
                unflat(s, tensors if dim is None else [t.select(dim, number) for t in tensors])
                for (tensors, s), dim in zip(parts, dims, strict=True)
            ]
            results.append(flat(func(*chosen, **kwargs), "func.vmap"))
        count = len(results[0][0])
        places = out_dims if isinstance(out_dims, tuple | list) else (out_dims,) * count
        columns = zip(*(tensors for tensors, _ in results), strict=True)
        stacked = [stack(each, dim) for each, dim in zip(columns, places, strict=True)]
        return unflat(results[0][1], stacked)

    return mapped
