"""Factorizations that fail raise at once in PyTorch's place: programs try them, and go on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
FACTORIZATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda library, x: library.linalg.cholesky(x),
    "cholesky, upper": lambda library, x: library.linalg.cholesky(x, upper=True),
    "cholesky_ex": lambda library, x: library.linalg.cholesky_ex(x, check_errors=True),
    "inv": lambda library, x: library.linalg.inv(x),
    "inverse": lambda library, x: x.inverse(),
    "inv_ex": lambda library, x: library.linalg.inv_ex(x, check_errors=True),
    "solve": lambda library, x: library.linalg.solve(x, library.ones(3)),
    "solve from the right": lambda library, x: library.linalg.solve(x, x, left=False),
    "solve_ex": lambda library, x: library.linalg.solve_ex(x, x, check_errors=True),
    "lu_factor": lambda library, x: library.linalg.lu_factor(x),
    "ldl_factor": lambda library, x: library.linalg.ldl_factor(x * 0),
    "tensorinv": lambda library, x: library.linalg.tensorinv(x, ind=1),
    "matrix_power": lambda library, x: library.linalg.matrix_power(x, -2),
}


def _in_its_place(library: Any) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if library is torch else enabled()


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_failure_is_raised_where_it_happens(name: str, requires_grad: bool) -> None:
    for library in (torch, OURS):
        with _in_its_place(library):
            for _ in range(2):
                matrix = library.ones(3, 3, requires_grad=requires_grad)
                with pytest.raises(RuntimeError):
                    FACTORIZATIONS[name](library, matrix)
                # Nothing of it is left behind.
                assert library.ones(2).sum().item() == 2


def test_programs_try_again_with_a_larger_diagonal() -> None:
    def factor(library: Any) -> list[Any]:
        matrix, jitter = library.ones(2, 2) - library.eye(2) * 0.01, 1e-3
        while jitter < 1:
            try:
                return library.linalg.cholesky(matrix + jitter * library.eye(2)).tolist()
            except RuntimeError:
                jitter *= 10
        return []

    expected = torch.tensor(factor(torch))
    with enabled():
        values = factor(OURS)
    torch.testing.assert_close(torch.tensor(values), expected, rtol=1e-3, atol=1e-3)


def test_transforms_and_shapes_without_values_read_nothing() -> None:
    with enabled():
        values = OURS.eye(3).expand(2, 3, 3) * OURS.tensor([1.0, 4.0]).reshape(2, 1, 1)
        mapped = OURS.func.vmap(OURS.linalg.cholesky)(values)
        assert mapped[1, 0, 0].item() == 2
        gradient = OURS.func.jacrev(lambda x: OURS.linalg.inv(x).sum())(values[1])
        assert gradient[0, 0].item() == pytest.approx(-1 / 16)
        _, tangent = OURS.func.jvp(OURS.linalg.inv, (values[1],), (values[1],))
        assert tangent[0, 0].item() == pytest.approx(-0.25)
        assert OURS.linalg.inv(OURS.ones(3, 3, device="meta")).shape == (3, 3)
