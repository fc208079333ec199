"""Test cases and small modules for tests of layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tools.torch_tests.substitutes.decorators import freeze_rng_state as freeze_rng_state
from tools.torch_tests.substitutes.test_case import TestCase


class NNTestCase(TestCase):
    """A test case of layers."""


class NewModuleTest:
    """Checks a module's first and second derivatives, and what it is compared with."""

    extra_args: tuple = ()

    def __init__(
        self,
        constructor: Callable,
        input_size: tuple[int, ...],
        fullname: str,
        reference_fn: Callable | None = None,
        check_gradgrad: bool = True,
        **_: Any,
    ) -> None:
        self._constructor = constructor
        self._shape = input_size
        self._name = fullname
        self._reference = reference_fn
        self._second = check_gradgrad

    def get_name(self) -> str:
        """The name of the test."""
        return f"test_{self._name}"

    def __call__(self, case: TestCase) -> None:
        """Run it."""
        module = self._constructor().double()
        operand = torch.randn(self._shape, dtype=torch.float64, requires_grad=True)
        if self._reference is not None:
            expected = self._reference(operand, list(module.parameters()), module)
            case.assertEqual(module(operand), expected)
        case.assertTrue(torch.autograd.gradcheck(module, (operand,)))
        if self._second:
            case.assertTrue(torch.autograd.gradgradcheck(module, (operand,)))

    def test_cuda(self, case: TestCase) -> None:
        """Skip what needs a GPU."""
        case.skipTest("needs a GPU")


CriterionTest = NewModuleTest


def single_batch_reference_fn(operand: Any, parameters: Any, module: Any) -> Any:
    """The result of a module for a batch of one."""
    return module(operand.unsqueeze(0)).squeeze(0)


def _test_module_empty_input(
    test_case: TestCase,
    module: Any,
    inp: Any,
    check_size: bool = True,
    inference: bool = False,
) -> None:
    """An operand without elements gives a result without elements, and gradients of 0."""
    if not inference:
        inp.requires_grad_(True)
    result = module(inp)
    if not inference:
        gradient = torch.rand_like(result)
        result.backward(gradient)
    if check_size:
        test_case.assertEqual(result.size(), inp.size())
    if not inference:
        for parameter in module.parameters():
            if parameter.requires_grad and parameter.grad is not None:
                test_case.assertEqual(parameter.grad, torch.zeros_like(parameter.grad))
        test_case.assertEqual(inp.grad, torch.zeros_like(inp))


def _create_basic_net() -> tuple:
    """A layer, a network that holds it, and a sequence that holds the network twice."""

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer_dummy_param = torch.nn.Parameter(torch.empty(3, 5))
            self.register_buffer("layer_dummy_buf", torch.zeros(1, 3, 3, 7))

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1 = Layer()
            self.dummy_param = torch.nn.Parameter(torch.empty(3, 5))
            self.register_buffer("dummy_buf", torch.zeros(7, 3, 3, 1))

    layer, net = Layer(), Net()
    return layer, net, torch.nn.Sequential(net, net)


def _test_bfloat16_ops(
    test_case: TestCase,
    op: Callable,
    device: Any,
    inp_dims: Any = (),
    prec: float = 1e-2,
    scale_factor: Any = None,
) -> None:
    """Values and gradients in bfloat16 are those in float32, rounded."""
    single = torch.randn(inp_dims, device=device).bfloat16().float().requires_grad_()
    half = single.detach().bfloat16().requires_grad_()
    results = op(single), op(half)
    gradient = torch.randn_like(results[1], device=device)
    results[0].backward(gradient.float())
    results[1].backward(gradient)
    test_case.assertEqual(results[0], results[1], atol=prec, rtol=0, exact_dtype=False)
    test_case.assertEqual(single.grad, half.grad, atol=prec, rtol=0, exact_dtype=False)
