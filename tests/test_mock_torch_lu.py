"""`torch.lu` and `Tensor.lu`, the older names of LU factorizations, beside PyTorch's."""

from __future__ import annotations

import pytest
import torch

from tests.in_place import in_place_of

MATRICES = {
    "square": [[1.0, 2.0], [3.0, 5.0]],
    "wide": [[1.0, 2.0, 4.0], [3.0, 5.0, 1.0]],
    "several": [[[1.0, 2.0], [3.0, 5.0]], [[2.0, 0.0], [0.0, 4.0]]],
    "singular": [[1.0, 2.0], [2.0, 4.0]],
}


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(
    "call", [lambda lib, x, **o: x.lu(**o), lambda lib, x, **o: lib.lu(x, **o)]
)
@pytest.mark.parametrize("options", [{}, {"get_infos": True}], ids=str)
def test_factors(matrix, call, options):
    def run(lib):
        x = lib.tensor(MATRICES[matrix], dtype=lib.float64)
        try:
            return [part.tolist() for part in call(lib, x, **options)]
        except RuntimeError as error:
            return isinstance(error, lib.linalg.LinAlgError)

    assert run(in_place_of("torch")) == run(torch)
