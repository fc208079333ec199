"""A plan as a page: well formed, complete, and without anything from elsewhere."""

from html.parser import HTMLParser

import pytest

import oneflow as flow
from examples import plans
from oneflow.plan import plan_graph, planning


class Page(HTMLParser):
    """Checks that elements nest, and collects text and what is loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loaded, self.texts = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.loaded += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def make_plan(compile=False):
    with planning():
        placement = flow.placement("cuda", range(4), (2, 2))
        graph, inputs = plans.mlp(placement, batch=16, width=32, strategy="2d")
        return plan_graph(graph, *inputs, compile=compile)


@pytest.mark.parametrize("compile", [False, True])
def test_page(tmp_path, compile):
    plan = make_plan(compile)
    plan.save(tmp_path / "plan.html")
    content = (tmp_path / "plan.html").read_text(encoding="utf-8")
    page = Page(content)
    assert not page.loaded
    assert "http" not in content
    text = " ".join(page.texts)
    assert "2 x 2 = 4 cuda devices" in text
    assert "model.layers.0.weight" not in text  # The numbers of layers are left out ...
    assert "model.layers.*.weight" in text
    assert "model.layers.0" in text  # ... unless every layer is listed by itself.
    assert ("XLA compiled the step" in text) == compile
    assert "<b class=S>S(0)</b>" in content


def test_other_kinds_of_files(tmp_path):
    with pytest.raises(ValueError, match="the ending"):
        make_plan().save(tmp_path / "plan.pdf")
