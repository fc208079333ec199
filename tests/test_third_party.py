"""The comparison of libraries on this package and on PyTorch, and the libraries that are run."""

from __future__ import annotations

import json
import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from tools.third_party import page as written, suite_child, suites, table
from tools.third_party.comparison import difference
from tools.third_party.libraries import FOLDER, Exempt, Library, read_exempt, read_libraries
from tools.torch_tests.results import FAILED, PASSED, Result, results_of

EXPECTED = {
    "output: x": np.array([1.0, 2.0]),
    "gradient: a": np.array([100.0, np.nan]),
    "gradient: b": np.array([1e-6, 0.0]),
    "keys": np.array("text"),
    "places": np.array([1, 2]),
}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("output: x", [1.00005, 2.0], ""),
        ("output: x", [1.001, 2.0], r"1 of 2 values differ, at \(0,\) 1.001 in place of 1.0"),
        ("output: x", [1.0], r"float64\(1,\) in place of float64\(2,\)"),
        ("output: x", np.array([1.0, 2.0], np.float32), "float32"),
        ("gradient: a", [100.0, 1.0], r"at \(1,\)"),
        ("gradient: b", [1.0001e-6, -2e-10], ""),  # rounding, beside the other gradient
        ("gradient: b", [1.02e-6, 0.0], "gradient: b: 1 of 2"),
        ("keys", np.array("other text"), "other text in place of text"),
        ("places", [1, 3], r"\[1, 3\] in place of \[1, 2\]"),
    ],
)
def test_what_differs_is_said(name, value, said):
    found = difference({**EXPECTED, name: np.asarray(value)}, EXPECTED)
    assert (found == "") is (said == "")
    if said:
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(found)


def test_missing_values_are_named():
    assert difference({}, {"loss": np.ones(1)}) == "only one has ['loss']"


def test_every_library_has_a_program():
    names = [library.name for library in read_libraries()]
    assert len(set(names)) == len(names)
    for library in read_libraries():
        assert (FOLDER / "programs" / f"{library.name}.py").exists()
        assert all("==" in package for package in library.packages)
    assert {row.library for row in read_exempt()} <= set(names)


def test_the_page_counts_what_passes_on_pytorch(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- table -->\nold\n<!-- end of table -->\nAfter.\n")
    monkeypatch.setattr(written, "PAGE", page)
    monkeypatch.setattr(table, "read_exempt", lambda: [Exempt("one", "c*", "has no meaning")])
    outcomes = {"a": PASSED, "b": FAILED, "cc": FAILED, "e": FAILED}
    for case in ("a", "b", "cc", "d"):
        results_of(tmp_path, "torch", "one").add(Result(case, PASSED))
    for case, outcome in outcomes.items():
        results_of(tmp_path, "oneflow", "one").add(Result(case, outcome, "error\nplace"))
    assert not table.write_table(tmp_path, [Library("one", ("one==1",)), Library("two", ())])
    text = page.read_text()
    assert "| `one==1` | 4 | 1 | 1 | 1 |" in text
    assert "- one, b: `error`" in text
    assert "- one, cc: has no meaning" in text
    assert text.startswith("Before.")
    assert text.endswith("After.\n")


def test_suites_are_of_libraries_in_the_list():
    known = {library.name for library in read_libraries()}
    found = suites.read_suites()
    assert len({suite.name for suite in found}) == len(found)
    assert {suite.library for suite in found} <= known
    assert all(suite.repository.startswith("https://") and suite.paths for suite in found)


def test_parts_of_tests_count_with_their_test(tmp_path):
    file = tmp_path / "test_parts.py"
    file.write_text(
        "import unittest\n"
        "class TestParts(unittest.TestCase):\n"
        "    def test_wrong(self):\n"
        "        for number in (1, 2, 3):\n"
        "            with self.subTest(number=number):\n"
        "                assert number != 2\n"
        "    def test_right(self):\n"
        "        with self.subTest(number=1):\n"
        "            pass\n"
        "def test_wrong_part(subtests):\n"
        "    for number in (1, 2, 3):\n"
        "        with subtests.test(number=number):\n"
        "            assert number != 2\n"
    )
    results = results_of(tmp_path, "torch", "suite_some")
    recorder = suite_child.Recorder(results, None, 1)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(tmp_path)]
    pytest.main([str(file), *options], plugins=[recorder])
    outcomes = {name.rpartition("::")[2]: r.outcome for name, r in results.by_test.items()}
    assert outcomes == {"test_wrong": FAILED, "test_right": PASSED, "test_wrong_part": FAILED}
    wrong = [r for r in results.by_test.values() if r.outcome == FAILED]
    assert all("number != 2" in r.message and r.seconds > 0 for r in wrong)
    # While a test runs, its parts do not end it: who stops the process knows which one it was.
    lines = [Result(**json.loads(line)) for line in results.file.read_text().splitlines()]
    assert len(lines) == 2 * len(outcomes)


def test_tests_that_pass_on_pytorch_are_run_here(tmp_path, monkeypatch):
    names = ("test_some.py::test_one", "test_some.py::test_two", "test_some.py::test_three")
    seen = {}
    for framework, failing in (("torch", names[2]), ("oneflow", names[1])):
        results = results_of(tmp_path, framework, "suite_some")
        passed = results_of(tmp_path, "torch", "suite_some").passed()
        counted = passed if framework == "oneflow" else None
        recorder = suite_child.Recorder(results, counted, 1)
        items = [SimpleNamespace(nodeid=name) for name in names]
        recorder.pytest_collection_modifyitems(items)
        seen[framework] = [item.nodeid for item in items]
        for item in items:
            recorder.pytest_runtest_logstart(item.nodeid)
            for when in ("setup", "call", "teardown"):
                fails = item.nodeid == failing and when == "call"
                report = SimpleNamespace(
                    nodeid=item.nodeid,
                    when=when,
                    passed=not fails,
                    failed=fails,
                    skipped=False,
                    longreprtext="wrong" * fails,
                    duration=1.0,
                )
                recorder.pytest_runtest_logreport(report)
        again = [SimpleNamespace(nodeid=name) for name in names]
        recorder.pytest_collection_modifyitems(again)
        assert not again
    assert seen == {"torch": list(names), "oneflow": list(names[:2])}
    page = tmp_path / "page.md"
    page.write_text("<!-- suites -->\n<!-- end of suites -->\n")
    monkeypatch.setattr(written, "PAGE", page)
    some = suites.Suite("some", "one", "https://", "v1", ["."])
    monkeypatch.setattr(suites, "read_suites", lambda: [some])
    assert not suites.write_table(tmp_path, ["some"])
    assert "| some v1 | 2 | 1 | 50.0% |" in page.read_text()


@pytest.mark.parametrize(
    ("here", "row", "enough"),
    [
        (None, "not run | |  |", False),
        (0, "20 | 0 | 0.0% |", False),
        (18, "20 | 18 | 90.0% |", False),
        (19, "20 | 19 | 95.0% |", True),
    ],
)
def test_tests_of_suites_without_results_are_failures(here, row, enough, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("<!-- suites -->\n<!-- end of suites -->\n")
    monkeypatch.setattr(written, "PAGE", page)
    some = suites.Suite("some", "one", "https://", "0123456789abcdef", ["."])
    monkeypatch.setattr(suites, "read_suites", lambda: [some])
    for framework, count in (("torch", 20), ("oneflow", here or 0)) if here is not None else ():
        for number in range(count):
            results_of(tmp_path, framework, "suite_some").add(Result(f"test_{number}", PASSED))
    assert suites.write_table(tmp_path, ["some"]) is enough
    assert f"| some 0123456789ab | {row}" in page.read_text()
    assert suites.write_table(tmp_path, []) is (enough or here is None)


def test_suites_are_fetched_by_tag_or_commit(tmp_path):
    source, cache = tmp_path / "source", tmp_path / "cache"
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    git = lambda *words: subprocess.run(  # noqa: E731
        ["git", "-C", source, *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()
    source.mkdir()
    git("init", "--quiet")
    for word in ("first", "second"):
        (source / "test_some.py").write_text(word)
        git("add", ".")
        git("commit", "--quiet", "-m", word)
    git("tag", "v2")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    first = git("rev-parse", "HEAD~1")
    for name, revision, expected in (("one", first, "first"), ("two", "v2", "second")):
        suites._fetch(suites.Suite(name, "some", source.as_uri(), revision, ["."]), cache)
        assert (cache / "suites" / name / "test_some.py").read_text() == expected


def test_suites_are_of_fixed_versions_and_stand_on_the_page():
    text = written.PAGE.read_text()
    for suite in suites.read_suites():
        assert re.fullmatch(r"v\d+(\.\d+)+|[0-9a-f]{40}", suite.revision)
        assert f"| {suite.name} {suite.revision[:12]}" in text
