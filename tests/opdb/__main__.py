"""Run PyTorch's operator database and say how much agrees: ``python -m tests.opdb [entry ...]``.

``--record`` writes the list of expected failures anew; the reasons of those that are new are left
to whoever asked for it.
"""

from __future__ import annotations

import argparse
import sys

from tests.opdb.checks import DTYPES
from tests.opdb.expected import ERRORS, LIST, by_entry, read_list, surprises, write_list
from tests.opdb.running import recorded, run

_ALLOWED = 0.02


def main() -> int:
    """Run what the command line asks for; 1 if a sample surprises or too many are expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="entries; default: all")
    parser.add_argument("--dtypes", default=",".join((*DTYPES, ERRORS)))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    dtypes = tuple(options.dtypes.split(","))
    before = read_list()
    expected = by_entry(before)
    results, wrong, failing = [], 0, 0
    for result in run(options.names, dtypes, options.processes):
        results.append(result)
        found = surprises(
            result.entry, result.dtype, result.outcomes, expected[result.entry, result.dtype]
        )
        failing += sum(outcome.problem is not None for outcome in result.outcomes)
        wrong += len(found)
        for line in found:
            print(line, flush=True)
    total = sum(len(result.outcomes) for result in results)
    names = {result.entry for result in results}
    print(
        f"{len(names)} entries, {total} checks: {total - failing} agree, "
        f"{failing} ({failing / max(total, 1):.2%}) differ, {wrong} surprises"
    )
    if options.record:
        tried = {(result.entry, result.dtype) for result in results}
        kept = [row for row in before if (row.entry, row.dtype) not in tried]
        write_list([*kept, *recorded(results, before)])
        print(f"wrote {LIST}")
        return 0
    return int(wrong > 0 or (not options.names and failing > _ALLOWED * total))


if __name__ == "__main__":
    sys.exit(main())
