"""The table of models in the docs is that of the registry."""

from __future__ import annotations

import re
from pathlib import Path

from tools.make_model_table import row

from flowvision.models.registry import registered_models
from tests.flowvision.zoo import model_facts

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_current() -> None:
    """Parameters are those of the facts, which every model is counted against elsewhere."""
    lines = [
        line
        for line in (DOCS / "models.md").read_text(encoding="utf8").splitlines()
        if line[:3] == "| `"
    ]
    expected = {
        row(model, int(model_facts()[model.name]["parameters"])) for model in registered_models()
    }
    assert set(lines) == expected, "run `make stubs`"


def test_code_in_the_page_about_flowvision_runs(capsys) -> None:
    text = (DOCS / "flowvision.md").read_text(encoding="utf8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {})
    assert "1.01 billion parameters" in capsys.readouterr().out
