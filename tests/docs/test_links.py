"""Links between pages lead to files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "src/**/*.md", ".github/**/*.md")
    for page in ROOT.glob(pattern)
)
# The folder of pages that are written when the documentation is built.
GENERATED = "api/generated/"
_CODE = re.compile(r"^(```|~~~|:::).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")


def _targets(text: str) -> list[str]:
    links = _LINK.findall(_CODE.sub("", text))
    return [link.partition("#")[0] for link in links if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    missing = [
        target
        for target in _targets(page.read_text(encoding="utf-8"))
        if target
        and not target.startswith("mailto:")
        and GENERATED not in target
        and not (page.parent / target).exists()
    ]
    assert not missing
