"""Break promised features one by one, and see whether their tests fail.

``python -m tools.mutate_rows 003 004-E`` does so for the rows whose ids begin like that; `make
mutants ROWS="003 004-E"` does the same. `.mutants` remembers what was killed, which is tried again
when the mutation or the tests change. The exit code is 1 if a broken feature goes unnoticed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tools.mutate_rows.session import GOOD, VERDICTS, run
from tools.mutate_rows.table import KILLED, chosen


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutate_rows", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("rows", nargs="*", help="beginnings of ids, such as 001-1 or 004-E")
    parser.add_argument("--anew", action="store_true", help="try again what was killed before")
    parser.add_argument("--quiet", action="store_true", help="only the mutants that live")
    options = parser.parse_args()
    if options.anew:
        KILLED.unlink(missing_ok=True)
    counts: Counter[str] = Counter()
    for mutation, verdict, seconds in run(chosen(options.rows)):
        counts[verdict] += 1
        if verdict not in GOOD or not options.quiet:
            broken = " ".join(part for part in (mutation.kind, mutation.target) if part)
            line = f"{mutation.row:8} {verdict:17} {seconds:5.1f} s  {broken} {mutation.detail}"
            print(line.rstrip(), flush=True)
    for verdict, meaning in VERDICTS.items():
        if counts[verdict]:
            print(f"{counts[verdict]:4} {verdict}: {meaning}")
    return 0 if set(counts) <= GOOD else 1


if __name__ == "__main__":
    sys.exit(main())
