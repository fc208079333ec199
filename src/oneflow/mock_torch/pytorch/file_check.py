"""`FileCheck`: checks of what a text contains, in order, as PyTorch's tests of graphs use them."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

_ANNOTATION = re.compile(
    r"^\s*#\s*CHECK(-NOT|-NEXT|-SAME|-DAG|-COUNT-\d+|-COUNT-EXACTLY-\d+|-SOURCE-HIGHLIGHTED|-REGEX)?"
    r":\s?(.*)$"
)


class _Check(NamedTuple):
    """One check.

    Attributes:
        kind: the end of its name in annotations, such as ``-NOT``.
        text: what is searched.
        times: how often, in order.
    """

    kind: str
    text: str
    times: int = 1


class FileCheck:
    """Checks that a text contains strings, one after the other.

    Each search starts behind what was found before. A string that must not be there is searched
    between those that are searched before and after it.
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _add(self, kind: str, text: str, count: int = 1) -> Self:
        self._checks.append(_Check(kind, text, count))
        return self

    def check(self, test_string: str) -> Self:
        """Search a string."""
        return self._add("", test_string)

    def check_not(self, test_string: str) -> Self:
        """Check that a string is not there."""
        return self._add("-NOT", test_string)

    def check_same(self, test_string: str) -> Self:
        """Search a string on the line of what was found last."""
        return self._add("-SAME", test_string)

    def check_next(self, test_string: str) -> Self:
        """Search a string on the line after that of what was found last."""
        return self._add("-NEXT", test_string)

    def check_count(self, test_string: str, count: int, exactly: bool = False) -> Self:
        """Search a string so many times; `exactly`: it is not there again."""
        self._add("-COUNT", test_string, count)
        return self.check_not(test_string) if exactly else self

    def check_dag(self, test_string: str) -> Self:
        """Search a string; those of checks like this next to each other come in any order."""
        return self._add("-DAG", test_string)

    def check_source_highlighted(self, test_string: str) -> Self:
        """Search a string below which the next line has ``~``."""
        return self._add("-SOURCE-HIGHLIGHTED", test_string)

    def check_regex(self, test_string: str) -> Self:
        """Search a regular expression."""
        return self._add("-REGEX", test_string)

    def run(self, *texts: object) -> None:
        """Check a text.

        Args:
            texts: the text; or a source whose comments ``# CHECK: string`` are further checks, and
                the text.

        Raises:
            RuntimeError: a check fails, or there is none.
        """
        *annotations, text = map(str, texts)
        for source in annotations:
            self._add_annotations(source)
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance of FileCheck")
        _TextWalk(text).run(self._checks)

    def _add_annotations(self, source: str) -> None:
        for line in source.splitlines():
            match = _ANNOTATION.match(line)
            if match is None:
                continue
            kind, string = match.group(1) or "", match.group(2).strip()
            if kind.startswith("-COUNT"):
                self.check_count(string, int(kind.rsplit("-", 1)[1]), "EXACTLY" in kind)
            else:
                self._add(kind, string)


class _TextWalk:
    """A walk through a text.

    Attributes:
        start: the start of the last match.
        end: behind it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.start = self.end = 0

    def run(self, checks: list[_Check]) -> None:
        """Make checks in order."""
        excluded: list[_Check] = []
        number = 0
        while number < len(checks):
            check = checks[number]
            number += 1
            if check.kind == "-NOT":
                excluded.append(check)
                continue
            before = self.end
            if check.kind == "-DAG":
                last = number
                while last < len(checks) and checks[last].kind == "-DAG":
                    last += 1
                self._search_all(checks[number - 1 : last])
                number = last
            else:
                self._search(check)
            self._exclude(excluded, before, self.start)
            excluded = []
        self._exclude(excluded, self.end, len(self._text))

    def _search(self, check: _Check) -> None:
        for index in range(check.times):
            before = self.end
            self.start, self.end = self._first(check, before)
            if index:
                continue
            breaks = self._text.count("\n", before, self.start)
            if check.kind in ("-SAME", "-NEXT") and breaks != (check.kind == "-NEXT"):
                raise self._error(
                    check, f"Expected to find {check.text!r} {breaks} line breaks earlier or later"
                )

    def _search_all(self, checks: list[_Check]) -> None:
        before = self.end
        places = [self._first(check, before) for check in checks]
        self.start, self.end = min(places)[0], max(end for _, end in places)

    def _first(self, check: _Check, start: int) -> tuple[int, int]:
        """The first place of a check's string from `start` on."""
        pattern = check.text if check.kind == "-REGEX" else re.escape(check.text)
        for match in re.compile(pattern).finditer(self._text, start):
            if check.kind != "-SOURCE-HIGHLIGHTED":
                return match.span()
            end = self._highlighted_to(match.start(), match.end())
            if end:
                return match.start(), end
        what = "highlighted " if check.kind == "-SOURCE-HIGHLIGHTED" else ""
        raise self._error(check, f"Expected to find {what}{check.text!r} but did not find it")

    def _highlighted_to(self, start: int, end: int) -> int:
        """The end of the marks below a part of a line; 0 if it has none."""
        text = self._text
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        if line_end < 0:
            return 0
        below = text[line_end + 1 :].split("\n", 1)[0]
        marks = below[start - line_start : end - line_start]
        return line_end + 1 + len(below) if marks and set(marks) == {"~"} else 0

    def _exclude(self, checks: list[_Check], start: int, end: int) -> None:
        for check in checks:
            if check.text in self._text[start:end]:
                raise self._error(check, f"Expected to not find {check.text!r} but found it")

    def _error(self, check: _Check, problem: str) -> RuntimeError:
        return RuntimeError(
            f"{problem}\nSearched string:\n{self._text}\nFrom CHECK{check.kind}: {check.text}"
        )
