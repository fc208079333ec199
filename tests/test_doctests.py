"""The examples in docstrings run and print what they say."""

import doctest
import inspect
import tempfile

import pytest

import flowvision
import oneflow
import oneflow_onnx
from oneflow.functional.registry import FUNCTIONS
from tests.flowvision.dataset_files import WRITERS
from tests.modules import import_modules

PACKAGES = (flowvision, oneflow, oneflow_onnx)


def documented():
    """`(name, docstring)` of every class, method and function defined in the packages."""
    found = {}
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in import_modules(PACKAGES):
        for test in finder.find(module, module.__name__):
            if test.examples:
                found[test.name] = test.docstring
    # Functions defined elsewhere are methods, and some of these are made by functions.
    for name, member in vars(oneflow.Tensor).items():
        docstring = inspect.getdoc(member) or ""
        if ">>>" in docstring and name not in FUNCTIONS:
            found.setdefault(f"oneflow.Tensor.{name}", docstring)
    return found


DOCUMENTED = documented()
# An error may carry notes after its message.
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(scope="module", autouse=True)
def _temporary_folders(tmp_path_factory):
    """Examples make theirs where pytest removes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("examples")))
        yield


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_example(name, tmp_path_factory, monkeypatch):
    if write_files := WRITERS.get(name.rpartition(".")[2]):  # the data set lies in `data`
        folder = tmp_path_factory.mktemp("data_set")
        (folder / "data").mkdir()
        write_files(folder / "data")
        monkeypatch.chdir(folder)
    if name.startswith("oneflow.legacy."):
        oneflow.clear_default_session()  # which the jobs of other examples belong to
    test = doctest.DocTestParser().get_doctest(DOCUMENTED[name], {}, name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    runner.run(test, out=report.append)
    assert not report, "".join(report)


def test_every_public_function_has_a_docstring():
    missing = [name for name, function in FUNCTIONS.items() if not inspect.getdoc(function)]
    assert missing == []
