"""The run of PyTorch's own tests: the modules in place of its private ones."""

from __future__ import annotations

import sys
import unittest

import numpy as np
import pytest
import torch
from tools.torch_tests import table
from tools.torch_tests.results import FAILED, PASSED, STARTED, Result, results_of
from tools.torch_tests.substitutes import loading
from tools.torch_tests.substitutes.equality import Rules, difference

FILE = """
import torch
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests, subtest
from torch.nothing import missing

def refuse():
    raise NotImplementedError

refused = refuse()

@missing(torch.missing.too)
class TestA(TestCase):
    @dtypes(torch.float32, torch.int64)
    @parametrize("n", [1, subtest(2, name="two")])
    def test_ones(self, device, dtype, n):
        self.assertEqual(torch.ones(n, dtype=dtype, device=device).sum(), n)

    def test_missing(self, device):
        missing()

instantiate_device_type_tests(TestA, globals())
"""


@pytest.fixture
def modules_of_its_own():
    before = dict(sys.modules)
    yield
    sys.modules.clear()
    sys.modules.update(before)


@pytest.mark.usefixtures("modules_of_its_own")
def test_a_file_of_tests_is_loaded_although_names_are_missing(tmp_path, monkeypatch):
    (tmp_path / "test_a.py").write_text(FILE.replace("@missing(torch.missing.too)\n", ""))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(loading.Absent, "loading", True)
    module = loading.load(tmp_path, "test_a.py")
    outcome = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(outcome)
    names = {name for name in dir(module.TestACPU) if getattr(module.TestACPU, name)}
    assert {name for name in names if name.startswith("test_")} == {
        "test_missing_cpu",
        *(f"test_ones_{n}_cpu_{dtype}" for n in ("n_1", "two") for dtype in ("float32", "int64")),
    }
    assert outcome.testsRun == 5
    assert [str(test) for test, _ in outcome.errors] == [
        "test_missing_cpu (test_a.TestACPU.test_missing_cpu)"
    ]


@pytest.mark.parametrize(
    ("x", "y", "rules"),
    [
        (torch.ones(2), torch.zeros(2), Rules()),
        (torch.ones(2), torch.ones(2, 1), Rules()),
        (torch.ones(2), torch.ones(2).double(), Rules()),
        (torch.ones(2), [1.0, 2.0], Rules()),
        (torch.tensor(float("nan")), float("nan"), Rules(equal_nan=False)),
        (torch.tensor(1.0), 1.001, Rules()),
        ([1, 2], [1], Rules()),
        ({"a": 1}, {"a": torch.tensor(2)}, Rules()),
        ("a", "b", Rules()),
        (None, torch.ones(1), Rules()),
        (2**60, 2**60 + 1, Rules()),
    ],
)
def test_differences_are_found(x, y, rules):
    assert difference(x, y, rules) is not None
    assert difference(x, x, Rules()) is None


def test_numbers_are_compared_up_to_a_tolerance():
    assert difference(torch.tensor(1.0), 1.001, Rules(atol=0.01, rtol=0)) is None
    assert difference(torch.ones(2), np.ones(2), Rules(exact_dtype=False)) is None
    assert difference(torch.tensor([1]), 1, Rules()) is None
    assert difference(torch.tensor([1, 2]), (1, 2), Rules()) is None


def test_the_table_counts_what_passes_on_pytorch(tmp_path, monkeypatch):
    file = table.FILES[0]
    for test, there, here in [
        ("A.a", PASSED, PASSED),
        ("A.b", PASSED, FAILED),
        ("A.c", FAILED, ""),
    ]:
        results_of(tmp_path, "torch", file).add(Result(test, STARTED))
        results_of(tmp_path, "torch", file).add(Result(test, there))
        if here:
            results_of(tmp_path, "oneflow", file).add(Result(test, here, "ValueError: 3 no\nline"))
    page = tmp_path / "page.md"
    earlier = f"| `{table.FILES[1]}` | 200 | 190 | 95.0% | 3 |"
    page.write_text(f"before\n<!-- table -->\n{earlier}\n<!-- end of table -->\nafter\n")
    monkeypatch.setattr(table, "_PAGE", page)
    assert not table.write_table(tmp_path)
    rows = f"| `{file}` | 2 | 1 | 50.0% | 0 |\n{earlier}\n| all | 202 | 191 | 94.6% | 3 |\n"
    assert rows in page.read_text()
    table.write_failures(tmp_path)
    assert (tmp_path / "failures.txt").read_text().startswith("1 times: ValueError: N no\n")
    exempt = table.Exempt("*", "A.b", "a reason")
    monkeypatch.setattr(table, "read_exempt", lambda: [exempt])
    assert table.write_table(tmp_path)
    assert f"| `{file}` | 1 | 1 | 100.0% | 1 |" in page.read_text()


@pytest.mark.parametrize(
    ("says", "message", "covered"),
    [
        (None, "values differ", True),
        ("is_contiguous", "False is not true\nassertTrue(x.is_contiguous())", True),
        ("is_contiguous", "mae=0.75", False),
    ],
)
def test_an_exemption_covers_what_it_says(says, message, covered):
    row = table.Exempt("test_nn.py", "*memory_format*", "a reason", says)
    assert row.covers("test_nn.py", Result("A.test_memory_format0", FAILED, message)) is covered
    assert not row.covers("test_torch.py", Result("A.test_memory_format0", FAILED, message))
