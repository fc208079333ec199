"""Run libraries' own tests on PyTorch, and on this package in its place.

``python -m tools.third_party.suites einops`` runs the suite of that name, without names all of
`suites.toml`. Tests that pass on PyTorch are run here. What has a result is not run again, so that
a stopped run goes on; `--again` runs again what has not passed. The tests are fetched into the
cache folder, where a folder that is there already is taken. The table is in
`docs/third_party.md`. The exit code is 1 if less passes than the page promises, or if a suite that
was to be run has no results.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.environments import PROJECT
from tools.third_party.__main__ import prepare
from tools.third_party.libraries import FOLDER, Library, read_libraries
from tools.third_party.page import write_part
from tools.torch_tests.processes import forget, run_to_the_end
from tools.torch_tests.results import Results, results_of

#: What the page promises: of all tests that pass on PyTorch.
_SHARE = 0.95


@dataclass(frozen=True)
class Suite:
    """The tests of a library.

    Attributes:
        name: its name.
        library: the name of the library in `libraries.toml`.
        repository: where the tests are.
        revision: the version of them: a tag, or a commit where a version has no tag.
        paths: files and folders with tests.
        packages: what the tests need beside the library.
        options: of pytest.
        variables: of the environment.
        every: one of so many tests is run, the same ones each time.
    """

    name: str
    library: str
    repository: str
    revision: str
    paths: list[str]
    packages: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    every: int = 1

    def results(self, cache: Path, framework: str) -> Results:
        """Its results on a library."""
        return results_of(cache, framework, f"suite_{self.name}")


def read_suites() -> list[Suite]:
    """Return the suites of ``suites.toml``."""
    table = tomllib.loads((FOLDER / "suites.toml").read_text())
    return [Suite(name, **values) for name, values in table.items()]


def _fetch(suite: Suite, cache: Path) -> None:
    folder = cache / "suites" / suite.name
    # A fetch that was stopped left no `HEAD`. Unlike a clone, it takes commits, too.
    git = ["git", "-C", str(folder)]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*git, "init", "--quiet"], check=True)
    head = [*git, "rev-parse", "--quiet", "--verify", "HEAD"]
    if subprocess.run(head, check=False).returncode == 0:
        return
    subprocess.run([*git, "fetch", "--depth", "1", suite.repository, suite.revision], check=True)
    subprocess.run([*git, "checkout", "--quiet", "FETCH_HEAD"], check=True)


def _run(suite: Suite, cache: Path, limit: int, again: str | None) -> None:
    libraries = {library.name: library for library in read_libraries()}
    environment = prepare(cache, libraries[suite.library])
    if suite.packages:
        prepare(cache, Library(f"suite_{suite.name}", tuple(suite.packages)))
    _fetch(suite, cache)
    variables = {
        **os.environ,
        **suite.variables,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}",
    }
    for framework in ("torch", "oneflow"):
        results = suite.results(cache, framework)
        if again is not None and framework == "oneflow":
            forget(results, again, passed=False)
        arguments = ["-m", "tools.third_party.suite_child", framework, suite.name, str(cache)]
        run_to_the_end([str(environment.python), *arguments], variables, results.file, limit)


def write_table(cache: Path, demanded: Collection[str]) -> bool:
    """Write the page's table; returns whether as much passes as it promises.

    What has no result here counts as a failure.

    Args:
        cache: the folder with the results.
        demanded: names of suites that must have results.
    """
    rows = ["| tests of | pass on PyTorch | pass here | share |", "| --- |" + " ---: |" * 3]
    shares = {}
    for suite in read_suites():
        counted = suite.results(cache, "torch").passed()
        numbers = "not run | | "
        if counted:
            passed = len(counted & suite.results(cache, "oneflow").passed())
            shares[suite.name] = passed / len(counted)
            numbers = f"{len(counted)} | {passed} | {shares[suite.name]:.1%}"
        chosen = f", one in {suite.every}" if suite.every > 1 else ""
        rows.append(f"| {suite.name} {suite.revision[:12]}{chosen} | {numbers} |")
    written = f"Written by `python -m tools.third_party.suites` on {time.strftime('%Y-%m-%d')}."
    write_part("suites", "\n".join([written, "", *rows]))
    enough = all(share >= _SHARE for share in shares.values())
    return enough and shares.keys() >= set(demanded)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.third_party.suites", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("suites", nargs="*", help="names of suites; default: all")
    parser.add_argument("--again", help="run again what has not passed here and holds this")
    parser.add_argument("--limit", type=int, default=180, help="seconds for a test")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder("oneflow-third-party"), help="the cache folder"
    )
    options = parser.parse_args()
    suites = read_suites()
    if unknown := set(options.suites) - {suite.name for suite in suites}:
        parser.error(f"no suite is called {', '.join(unknown)}")
    chosen = [suite for suite in suites if not options.suites or suite.name in options.suites]
    for suite in chosen:
        _run(suite, options.cache, options.limit, options.again)
    return 0 if write_table(options.cache, {suite.name for suite in chosen}) else 1


if __name__ == "__main__":
    sys.exit(main())
