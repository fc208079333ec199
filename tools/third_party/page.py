"""The parts of `docs/third_party.md` that are written by programs."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "third_party.md"


def write_part(name: str, text: str) -> None:
    """Replace a part of the page, which begins and ends with comments of its name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(before + begin + text + "\n" + end + rest.partition(end)[2])
    print(text)
