"""`testing.assert_close` of sparse tensors says what PyTorch's says."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.in_place import in_place_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore:.*Sparse CSR tensor support"),
]
OURS = in_place_of("torch")
MATRICES = {
    "first": [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]],
    "other value": [[0.0, 1.0, 2.0], [0.0, 0.0, 4.0]],
    "other place": [[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]],
    "other row": [[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]],
    "fewer values": [[0.0, 0.0, 2.0], [0.0, 0.0, 3.0]],
    "nearly": [[0.0, 1.0, 2.0000001], [0.0, 0.0, 3.0]],
}
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc")


def _made(library: Any, layout: str, matrix: str) -> Any:
    dense = library.tensor(MATRICES[matrix])
    return dense if layout == "strided" else dense.to_sparse(layout=getattr(library, layout))


def _text(library: Any, actual: Any, expected: Any, **options: Any) -> str | None:
    try:
        library.testing.assert_close(actual, expected, **options)
    except AssertionError as error:
        return str(error).replace("oneflow.", "torch.")
    return None


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_one_layout(layout: str, matrix: str) -> None:
    texts = {
        _text(library, _made(library, layout, matrix), _made(library, layout, "first"))
        for library in (OURS, torch)
    }
    assert len(texts) == 1
    assert texts.isdisjoint({None}) == (matrix not in ("first", "nearly"))


@pytest.mark.parametrize("check_layout", [True, False])
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_two_layouts(layout: str, other: str, check_layout: bool) -> None:
    for matrix in ("first", "other value"):
        texts = {
            _text(
                library,
                _made(library, layout, matrix),
                _made(library, other, "first"),
                check_layout=check_layout,
                check_stride=True,
            )
            for library in (OURS, torch)
        }
        assert len(texts) == 1


def test_positions_that_occur_twice_are_compared_as_they_are_stored() -> None:
    def texts(library: Any) -> list[str | None]:
        twice = library.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 3))
        return [_text(library, twice, other) for other in (twice, twice.coalesce())]

    assert texts(OURS) == texts(torch)
    assert texts(OURS)[0] is None


def test_a_mode_compares_operators_with_what_they_give_without_data() -> None:
    subclasses = in_place_of("torch._subclasses")
    mode_class, seen = subclasses.CrossRefFakeMode, []

    def ignored(func: Any) -> bool:
        seen.append(str(func))
        return func is OURS.ops.aten.mm.default

    x = OURS.ones(2, 3)
    with mode_class(ignored):
        result = (x @ x.t()).sum(0).nonzero()
    assert result.tolist() == [[0], [1]]
    assert "aten.mm.default" in seen

    class Wrong(mode_class):
        def _without_data(self, func: Any, args: Any, kwargs: Any) -> Any:
            return super()._without_data(func, args, kwargs).unsqueeze(0)

    with pytest.raises(RuntimeError, match=r"the output of aten.exp.default"), Wrong():
        x.exp()
