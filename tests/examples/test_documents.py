"""The Python blocks of pages of the documentation run one after the other, as they are written."""

import re
from pathlib import Path

import pytest

import oneflow as flow

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGES = ("autograd", "distributed", "eager", "global_tensors", "graph", "planner", "random")


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCUMENTS / f"{page}.md").read_text()
    # What a fragment about saving takes for granted.
    model = flow.nn.Linear(4, 2)
    names = {"model": model, "optimizer": flow.optim.Adam(model.parameters())}
    for match in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text.count("\n", 0, match.start()) + 1
        exec(compile("\n" * line + match[1], f"{page}.md", "exec"), names)
