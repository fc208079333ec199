"""The API reference has a page for every public name, with an example."""

from __future__ import annotations

import pydoc
import re
import sys
import textwrap
from typing import Any

import flowvision
import oneflow as flow
from flowvision.models.registry import registered_models
from oneflow.base.old_modules import OLD_MODULES
from oneflow.functional.registry import FUNCTIONS
from tests.distributed.launching import ROOT
from tests.in_place import methods_without_overrides

sys.path[:0] = [str(ROOT / "docs" / "extensions"), str(ROOT / "tools")]

from counterparts import counterpart_line, counterparts  # noqa: E402
from differences import differences, differences_table, rows_about  # noqa: E402
from entries import Entry, entries, modules  # noqa: E402
from examples_of import example_of, primitives_of_example  # noqa: E402
from reference import alias_page, constant_page, module_page, page  # noqa: E402

ENTRIES = [entry for module in modules() for entry in entries(module)]

WITHOUT_PAGES = {
    "_C": "upstream's internal builtins, other names of the functions",
    "_utils": "PyTorch's internal functions, which some programs import",
    "compatible": "earlier meanings of names: `docs/job_names.md`",
    "version": "the version alone",
}


def test_every_public_function_has_an_entry():
    paths = {entry.path for entry in ENTRIES}
    missing = [
        path
        for path in FUNCTIONS
        if f"oneflow.{path}" not in paths and path.partition(".")[0] not in WITHOUT_PAGES
    ]
    assert missing == []


def test_every_facade_has_a_list():
    files = {file.stem for file in (ROOT / "src" / "oneflow").glob("*.py")} | OLD_MODULES.keys()
    listed = {module.removeprefix("oneflow.") for module in modules()}
    assert files - listed - {"__init__", "__main__"} == set(WITHOUT_PAGES) - {"compatible"}


@methods_without_overrides()
def test_every_entry_has_an_example():
    """Examples of docstrings run in `tests/test_doctests.py`."""
    callables = [entry for entry in ENTRIES if not entry.is_constant]
    assert [entry.path for entry in callables if not example_of(entry.value)] == []


def test_models_show_how_they_are_built():
    assert all(example_of(model.factory) for model in registered_models())
    assert "model = resnet" in example_of(flowvision.models.ResNet)
    names: dict[str, Any] = {}
    for line in example_of(flowvision.models.squeezenet1_1).splitlines():
        exec(line.removeprefix(">>> "), names)
    assert names["scores"].shape == (1, 1000)


def test_forms_and_aliases_show_the_functions_example():
    expected = example_of(flow.abs)
    assert ">>> flow.abs(" in expected
    for name in ("abs_", "absolute_"):
        entry = Entry("oneflow.Tensor", name, getattr(flow.Tensor, name))
        assert textwrap.indent(expected, "   ") in page(entry, [], ())
    method = Entry("oneflow.Tensor", "absolute", flow.Tensor.absolute)
    text = alias_page(method, "oneflow.abs")
    assert ":doc:`oneflow.abs` with this tensor" in text
    assert textwrap.indent(expected, "   ") in text


def test_members_of_tensor_show_its_example():
    assert "x.retain_grad" not in example_of(flow.Tensor.retain_grad)
    for name in ("shape", "grad_fn", "item", "retain_grad"):
        assert f".{name}" in example_of(getattr(flow.Tensor, name))


def test_support_is_found_by_running_the_example():
    entry = Entry("oneflow", "abs", flow.abs)
    primitives = primitives_of_example(flow.abs)
    assert "abs" in primitives
    row = "* - ``abs``\n     - yes\n     - yes\n     - one lowering\n"
    assert row in page(entry, [], primitives)
    assert "example" not in page(entry, [], ())


def test_differences_stand_on_the_pages_of_what_they_name():
    for path, shown in {
        "oneflow.optim.AdamW": "- 0.01\n",
        "oneflow.nn.functional.avg_pool2d": "- no override\n",
        "oneflow.Tensor.sort": "- int32\n     - int64;",
        "oneflow.from_numpy": "Tensors of arrays keep no strides",
        "oneflow.nn.Module": "``keep_vars=True`` gives the parameters",
        "oneflow.nn.functional.relu": "",
    }.items():
        found = differences_table([path])
        assert shown in found
        assert bool(found) == bool(shown)


def test_pages_name_the_counterparts_in_other_packages():
    """`tools/make_counterparts.py --check` compares the table with PyTorch itself."""
    line = counterpart_line("oneflow.sum")
    assert "In PyTorch: `torch.sum <https://docs.pytorch.org/" in line
    assert "In OneFlow 0.9: `oneflow.sum <https://oneflow.readthedocs.io/" in line
    assert "`torchvision.ops.nms <" in counterpart_line("flowvision.ops.nms")
    assert "`torch.distributed.get_rank <" in counterpart_line("oneflow.env.get_rank")
    assert "PyTorch" not in counterpart_line("oneflow.sbp.split")
    assert counterpart_line("oneflow.math.acos") == ""
    assert all(map(counterpart_line, counterparts()))


def test_an_object_without_an_example_shows_where_it_is_used():
    assert "flow.data.BlobConf(" in example_of(flow.data.BlobConf)
    assert "flow.nn.OneRecReader(" in example_of(flow.data.onerec_reader)


def test_names_in_the_tables_of_differences_exist():
    """But for what only OneFlow 0.9 has, a row names an entry by its path or is about none."""
    named = rows_about({entry.path for entry in ENTRIES})
    unknown = {
        pattern
        for row in differences()
        if row.cells[1] != "exist"
        for pattern in row.patterns
        if pattern.count(".") > 1 and not pattern.startswith("oneflow.Tensor.") and row not in named
    }
    assert unknown == set()


def test_list_of_a_module():
    found = list(entries("oneflow.sbp"))
    assert [entry.name for entry in found] == ["broadcast", "partial_sum", "sbp", "split"]
    assert "| [split](oneflow.sbp.split.rst) | Split along dimension" in module_page("sbp", found)


def test_constants_show_their_values():
    pages = {entry.path: constant_page(entry) for entry in ENTRIES if entry.is_constant}
    assert ".. py:data:: oneflow.pi\n   :value: 3.14159" in pages["oneflow.pi"]
    assert ":value: (0.485, 0.456, 0.406)" in pages["flowvision.data.IMAGENET_DEFAULT_MEAN"]
    assert "| [inf](oneflow.inf.rst) | `inf` |" in module_page("oneflow", entries("oneflow"))


def test_further_names_of_values_show_no_call():
    values = [entry for entry in ENTRIES if entry.directive == "autodata" and not entry.is_constant]
    assert "oneflow.float32" in {entry.path for entry in values}
    pages = [alias_page(entry, "another") for entry in values]
    assert [
        text for text in pages if re.search(r"^\.\. py:(?!data:: [\w.]+$)", text, re.MULTILINE)
    ] == []


def test_parts_of_networks_have_no_pages():
    names = {entry.name for entry in entries("flowvision.models")}
    assert {"ResNet", "resnet50", "VisionTransformer", "ModelCreator", "InceptionOutputs"} <= names
    assert not {"Mlp", "Attention", "Conv2d", "trunc_normal_", "named_apply"} & names


def test_help_says_the_public_name():
    assert "function sum in module" in pydoc.render_doc(flow.sum)
    assert [
        path
        for path, function in FUNCTIONS.items()
        if function.__name__.endswith("_") != (path[-1] == "_")
    ] == []
