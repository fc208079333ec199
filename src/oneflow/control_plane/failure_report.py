"""Files by which the processes of a machine tell the launcher why they exit."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FailureReport:
    """The reason why a process exits, as it sees it.

    Attributes:
        rank: the process that writes the report.
        root_cause: the rank whose failure ends the job, as far as the writer knows.
        reason: the failure in words.
        from_coordinator: it is the coordinator's diagnosis, or the end of the coordinator itself.
        time: the time of writing, in seconds.
    """

    rank: int
    root_cause: int
    reason: str
    from_coordinator: bool
    time: float


def write_report(folder: str, report: FailureReport) -> bool:
    """Write a report into the launcher's folder; return whether that succeeded."""
    kind = "diagnosis" if report.from_coordinator else "failure"
    path = Path(folder, f"{kind}{report.rank}.json")
    partial = path.with_suffix(".part")
    try:
        partial.write_text(json.dumps(dataclasses.asdict(report)), encoding="utf-8")
        partial.replace(path)
    except OSError:
        return False
    return True


def read_reports(folder: Path) -> list[FailureReport]:
    """Return the reports that processes have written into the launcher's folder."""
    contents = [path.read_text(encoding="utf-8") for path in folder.glob("*.json")]
    return [FailureReport(**json.loads(text)) for text in contents]
