"""The check of loop variables and of the openings of comments finds what it describes."""

import runpy
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "tools" / "plain_english.py"
UNCLEAR = {
    "for each in range(3):\n    pass": 1,
    "x = 0\ny = [each for each in (1, 2)]": 2,
    "z = {key: each for key, each in {}.items()}": 1,
    "each = 1": 1,
    "def f(each):\n    return each": 1,
    "def f():\n    found = 1": 2,
    "def f(*, given=1):\n    pass": 1,
    "f(lambda kept: kept)": 1,
    '"""What a file has."""': 1,
    "def f():\n    # Of a call.\n    pass": 2,
    "x = 0\n# That of the transform.": 2,
}
CLEAR = (
    "for name in ():\n    pass",
    "# A tensor of\n# What is long.",
    '"""The shape of each tensor.\n\nWhat follows is text.\n"""',
    "def f(founder):\n    return founder",
    "f(found=1)",
    "x.given = 1",
)


def lines_of(source: str) -> list[int]:
    """The numbers of the lines that the check describes."""
    lines = runpy.run_path(str(FILE))["unclear_lines"](Path("src/file.py"), source)
    return [int(line.split(":")[1]) for line in lines]


@pytest.mark.parametrize("source", UNCLEAR)
def test_unclear_lines_are_found(source: str) -> None:
    assert lines_of(source) == [UNCLEAR[source]]


@pytest.mark.parametrize("source", CLEAR)
def test_clear_lines_pass(source: str) -> None:
    assert not lines_of(source)
