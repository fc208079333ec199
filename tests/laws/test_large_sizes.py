"""Sizes that no machine has give a result without values, or one clear error at once."""

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.nn.functional as F
from oneflow.primitives.operators.resample import Resampling
from oneflow.tuning.host_memory import require_host_memory
from tests.laws import large_sizes
from tests.little_memory import SIZES, faults


def test_every_size_is_answered_at_once():
    """A large size has a result, or an error of ours, within a little memory and time."""
    count, found = faults("tests.laws.large_sizes")
    assert count == len(large_sizes.rows())
    assert found == {}


@pytest.mark.parametrize("size", SIZES[:2])
def test_tensors_without_values_have_any_size(size):
    """Tensors that are not computed on this machine need not fit into its memory."""
    assert flow.zeros(size, device="meta").sum().shape == ()
    assert flow.nn.Linear(size, 1, device="meta").weight.shape == (1, size)
    assert flow.ones(1).expand(size).shape == (size,)
    assert flow.nn.functional.pad(flow.zeros(1, device="meta"), (size, 0)).shape == (size + 1,)


# Functions of an image whose first or last two dimensions become `a` and `b`.
RESIZED = [
    *[
        lambda x, a, b, mode=mode: F.interpolate(x, size=(a, b), mode=mode)
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
    ],
    lambda x, a, b: F.interpolate(x, size=(a, b), mode="bilinear", antialias=True),
    lambda x, a, b: F.interpolate(x, size=(a, b), mode="bicubic", align_corners=True),
    lambda x, a, b: F.interpolate(x, scale_factor=(float(a), float(b))),
    F.adaptive_avg_pool2d,
    F.adaptive_max_pool2d,
]


@pytest.mark.parametrize("number", range(len(RESIZED)))
def test_resized_tensors_without_values_have_any_size(number):
    """The device `meta` makes no tables of what each result sums, and gives the same shapes."""

    def resize(x, a, b):
        sizes = (a, b) if number < len(RESIZED) - 2 else ((a, b),)
        result = RESIZED[number](x, *sizes)
        result.sum().backward()
        return result.shape, result.dtype, x.grad.shape

    for a, b in ((7, 3), (2, 9), (1, 1)):
        places = ("cpu", "meta")
        results = [
            resize(flow.ones(1, 2, 4, 5, device=place, requires_grad=True), a, b)
            for place in places
        ]
        assert results[0] == results[1]
    wide = flow.ones(1, 1, 1, 1, device="meta", requires_grad=True)
    assert resize(wide, 2**40, 1) == ((1, 1, 2**40, 1), flow.float32, (1, 1, 1, 1))


def test_matrices_with_a_long_side_have_singular_values():
    """Memory for singular values grows with the matrix, not with its longer side's square."""
    wide = flow.ones(3, 2**20)
    expected = (3 * 2**20) ** 0.5
    for matrix in (wide, wide.mT):
        assert flow.linalg.svdvals(matrix)[0].item() == pytest.approx(expected, rel=1e-2)
        assert flow.linalg.norm(matrix, 2).item() == pytest.approx(expected, rel=1e-2)
        assert flow.linalg.norm(matrix, "nuc").item() == pytest.approx(expected, rel=1e-2)
        assert flow.linalg.matrix_rank(matrix).item() == 1


def test_a_table_that_does_not_fit_is_refused_before_it_is_made():
    """The error names the operator, the sizes, and what to do."""
    require_host_memory("table", 2**20)
    with pytest.raises(flow.OutOfMemoryError, match=r"`table` needs .* check the sizes given"):
        require_host_memory("table", 2**60)


@pytest.mark.parametrize(
    "call",
    [
        lambda image: F.interpolate(image, scale_factor=1e9),
        lambda image: F.adaptive_avg_pool2d(image, 2**31),
        lambda image: F.adaptive_max_pool2d(image, 2**31),
        lambda image: F.pad(image, (2**31,) * 4, mode="replicate"),
    ],
)
def test_the_whole_result_is_checked_before_its_first_dimension(call):
    """However much memory there is, no dimension is computed of a result that cannot be."""
    with pytest.raises(RuntimeError, match=r"^`\w+` cannot make a tensor of shape"):
        call(flow.ones(1, 1, 2, 2))


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(600, 1, 300), (700, 3, 350), (300, 1, 150), (257, 1, 128)]
)
@pytest.mark.parametrize("pool", ["max", "avg", "avg without padding"])
def test_wide_windows_have_the_values_of_narrow_ones(kernel, stride, padding, pool):
    """Padding is left out of windows far larger than their plane."""
    options = [] if pool == "max" else [False, pool == "avg"]
    results = []
    for library in (flow, torch):
        x = library.tensor(np.sin(np.arange(22.0)).reshape(1, 2, 11), requires_grad=True)
        function = getattr(library.nn.functional, f"{pool[:3]}_pool1d")
        output = function(x, kernel, stride, padding, *options)
        (output * library.arange(output.shape[-1])).sum().backward()
        results.append((output.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(5, 7), (7, 3), (4, 4), (9, 1), (64, 3), (3, 64)])
@pytest.mark.parametrize("kind", ["area", "nearest", "linear", "cubic", "smooth-cubic", "circular"])
def test_adjoints_of_resampling_are_transposed_matrices(kind, sizes):
    """The tables of both directions hold the same weights."""

    def matrix(resampling, shape):
        index, weight = resampling.points(np.dtype(np.float64))
        filled = np.zeros(shape)
        np.add.at(filled, (np.arange(shape[0])[:, None], index), weight)
        return filled

    resampling = Resampling(kind, *sizes)
    forward = matrix(resampling, sizes[::-1])
    np.testing.assert_array_equal(matrix(resampling.transposed(), sizes), forward.T)


def test_high_orders_of_polygamma_are_infinite_below_zero():
    """The pole nearby decides, without a polynomial of that degree."""
    points = [-0.5, -0.3, -0.7, -2.2]
    for order in (200, 201):
        expected = torch.polygamma(order, torch.tensor(points))
        assert flow.polygamma(order, flow.tensor(points)).tolist() == expected.tolist()
