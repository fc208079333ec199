"""The classification extension of Triton's protocol: the largest elements of an output, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def top_classes(
    output: np.ndarray, count: int, labels: Sequence[str], has_rows: bool
) -> np.ndarray:
    """Return the largest elements of each row of an output, the largest first.

    Args:
        output: the scores of the classes.
        count: the number of classes; all if there are fewer.
        labels: the names of the classes; classes beyond have none.
        has_rows: the first dimension is that of the batch; otherwise all is one row.

    Returns:
        Texts ``score:index`` or ``score:index:label`` as UTF-8, ``[rows, count]`` or ``[count]``.

    Example:
        >>> from oneflow.serving.classification import top_classes
        >>> import numpy as np
        >>> top_classes(np.array([[0.25, 0.75]]), 1, ["cat", "dog"], True).tolist()
        [[b'0.750000:1:dog']]
    """
    rows = output.reshape(len(output), -1) if has_rows else output.reshape(1, -1)
    is_integer = rows.dtype.kind in "biu"
    scores = rows if is_integer else rows.astype(np.float64)
    keys = scores if is_integer else np.where(np.isnan(scores), -np.inf, scores)
    # Backwards twice: the first of several equal ones comes first.
    order_by_key = np.argsort(keys[:, ::-1], axis=1, kind="stable")
    order = (keys.shape[1] - 1 - order_by_key[:, ::-1])[:, :count]
    strings = np.empty(order.shape, np.object_)
    for row, indices in enumerate(order):
        for place, index in enumerate(indices):
            strings[row, place] = _text(scores[row, index], int(index), labels).encode()
    return strings if has_rows else strings[0]


def _text(score: np.generic, index: int, labels: Sequence[str]) -> str:
    number = f"{score:.6f}" if score.dtype.kind == "f" else str(int(score))
    return ":".join([number, str(index), *labels[index : index + 1]])
