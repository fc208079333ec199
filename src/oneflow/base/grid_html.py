"""A grid of devices as an HTML table, for notebooks."""

from __future__ import annotations

from html import escape

import numpy as np

_CELL = "border:1px solid #89a;padding:4px 10px;text-align:center"


def grid_html(title: str, ranks: np.ndarray, notes: dict[int, str]) -> str:
    """Return a table of the devices of a grid.

    Args:
        title: the line above it.
        ranks: the grid; all dimensions but the last are rows of the table.
        notes: a text for each rank.

    Example:
        >>> import numpy as np
        >>> from oneflow.base.grid_html import grid_html
        >>> table = grid_html("pair", np.array([0, 1]), {0: "rows 0 and 1", 1: "row 2"})
        >>> "rank 1<br>row 2" in table
        True
    """
    rows = "".join(
        "<tr>" + "".join(_cell(rank, notes.get(rank, "")) for rank in row) + "</tr>"
        for row in ranks.reshape(-1, ranks.shape[-1]).tolist()
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def _cell(rank: int, note: str) -> str:
    text = f"rank {rank}<br>{escape(note)}" if note else f"rank {rank}"
    return f'<td style="{_CELL}">{text}</td>'
