"""The directive `table-of-lines`: a `list-table` each of whose cells is one line.

docutils parses each cell of a `list-table` as lists of lists of texts, which takes a fourteenth of
the time that the documentation needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst.directives.tables import ListTable

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class TableOfLines(ListTable):
    """A table whose first row is the header; rows begin with ``*``, cells with ``-``."""

    option_spec: Any = None

    def run(self) -> list[Any]:
        """Return the table."""
        rows: list[list[list[nodes.Node]]] = []
        for number, line in enumerate(self.content, self.content_offset + 1):
            if line.startswith("*"):
                rows.append([])
            rows[-1].append(self._cell(line[len("* - ") :], number))
        widths: Any = self.get_column_widths(len(rows[0]))
        return [self.build_table_from_list(rows, widths, 1, 0)]

    def _cell(self, text: str, number: int) -> list[nodes.Node]:
        parts, messages = self.state.inline_text(text, number)
        return [nodes.paragraph(text, "", *parts), *messages] if text else []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("table-of-lines", TableOfLines)
    return {"parallel_read_safe": True}
