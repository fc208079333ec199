"""The page with the shares that pass, and the list of failures."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tools.torch_tests.files import FILES
from tools.torch_tests.results import FAILED, PASSED, Result, results_of

_FOLDER = Path(__file__).parent
_PAGE = _FOLDER.parents[1] / "docs" / "torch_tests.md"
_BEGIN, _END = "<!-- table -->\n", "<!-- end of table -->\n"
#: What the page promises: of all tests that count, and of those of each file.
_SHARE, _SHARE_OF_FILE = 0.92, 0.8


@dataclass(frozen=True)
class Exempt:
    """Tests that are not expected to pass here.

    Attributes:
        file: the file of tests; `*` means any characters.
        test: the name of the class and the test, likewise.
        reason: why; a row of `docs/differences.md` says more.
        says: what the failure must say; other failures of these tests count. Empty: anything.
    """

    file: str
    test: str
    reason: str
    says: str | None = None

    def covers(self, file: str, failure: Result) -> bool:
        """Return whether a failure in a file is excepted."""
        named = fnmatch(file, self.file) and fnmatch(failure.test, self.test)
        return named and (self.says or "") in failure.message


def read_exempt() -> list[Exempt]:
    """The rows of ``exempt.tsv``."""
    with (_FOLDER / "exempt.tsv").open() as file:
        return [Exempt(**row) for row in csv.DictReader(file, delimiter="\t")]


def _is_exempt(file: str, failure: Result, exempt: list[Exempt]) -> bool:
    return any(row.covers(file, failure) for row in exempt)


@dataclass
class _Count:
    passed: int = 0
    expected: int = 0
    exempt: int = 0

    def share(self) -> float:
        return self.passed / self.expected if self.expected else 1.0

    def row(self, name: str) -> str:
        share = f"{self.share():.1%}" if self.expected else ""
        return f"| {name} | {self.expected} | {self.passed} | {share} | {self.exempt} |"


def _failures(cache: Path, file: str) -> Iterator[Result]:
    for result in results_of(cache, "oneflow", file).by_test.values():
        if result.outcome != PASSED:
            yield result


def _count(cache: Path, file: str, exempt: list[Exempt]) -> _Count:
    count = _Count()
    results = results_of(cache, "oneflow", file).by_test
    for test in results_of(cache, "torch", file).passed():
        result = results.get(test, Result(test, FAILED))
        passed = result.outcome == PASSED
        if not passed and _is_exempt(file, result, exempt):
            count.exempt += 1
            continue
        count.expected += 1
        count.passed += passed
    return count


def _counts_of(page: str) -> dict[str, _Count]:
    """The counts by file that a page has."""
    rows = re.findall(r"^\| `(\S+)` \| (\d+) \| (\d+) \| \S+ \| (\d+) \|$", page, re.MULTILINE)
    return {
        file: _Count(int(passed), int(expected), int(exempt))
        for file, expected, passed, exempt in rows
    }


def write_table(cache: Path) -> bool:
    """Write the page's table; returns whether as much passes as it promises.

    Args:
        cache: the folder with the results; files that have none there keep their rows.
    """
    exempt, text = read_exempt(), _PAGE.read_text()
    counted = {
        file: count
        for file in FILES
        if (count := _count(cache, file, exempt)).expected
        and results_of(cache, "oneflow", file).by_test
    }
    latest = _counts_of(text) | counted
    counts = {file: latest[file] for file in FILES if file in latest}
    total = _Count(*(sum(getattr(c, n) for c in counts.values()) for n in vars(_Count())))
    lines = ["| file | pass on PyTorch | pass here | share | exempt |", "| --- |" + " ---: |" * 4]
    lines += [count.row(f"`{file}`") for file, count in counts.items()] + [total.row("all")]
    before, _, rest = text.partition(_BEGIN)
    _PAGE.write_text(before + _BEGIN + "\n".join(lines) + "\n" + _END + rest.partition(_END)[2])
    print("\n".join(lines))
    enough = all(count.share() >= _SHARE_OF_FILE for count in counts.values())
    return enough and total.share() >= _SHARE


def write_failures(cache: Path) -> None:
    """Write the failures, grouped by the first line of what they say, the most frequent first."""
    exempt = read_exempt()
    groups = defaultdict(list)
    for file in FILES:
        for failure in _failures(cache, file):
            if failure.outcome == FAILED and not _is_exempt(file, failure, exempt):
                line, _, rest = failure.message.partition("\n")
                groups[re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "N", line)[:160]].append(
                    (file, failure, rest)
                )
    lines = []
    for kind, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        lines.append(f"{len(members)} times: {kind}")
        for file, member, rest in members:
            last = rest.rpartition("\n")[2]
            lines.append(
                f"    {file} {member.test}: {member.message.splitlines()[0][:200]} | {last}"
            )
    (cache / "failures.txt").write_text("\n".join(lines) + "\n")
