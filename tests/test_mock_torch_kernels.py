"""Operators of PyTorch's top level beneath the functions that users call, compared with PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")


def numbers(lib, *shape):
    return lib.tensor(np.random.default_rng(shape).standard_normal(shape).astype(np.float32))


def whole(lib, high, *shape, dtype="int64"):
    values = np.random.default_rng(shape).integers(0, high, shape)
    return lib.tensor(values.astype(dtype))


def renormed(lib):
    table = 3 * numbers(lib, 5, 4)
    result = lib.embedding_renorm_(table, lib.tensor([0, 2, 2]), 1.0, 2.0)
    return table, result is table


def trained(lib, training):
    mean, variance = lib.zeros(3), lib.ones(3)
    results = lib.native_batch_norm(
        numbers(lib, 4, 3, 5), numbers(lib, 3), None, mean, variance, training, 0.1, 1e-5
    )
    return (*results, mean, variance)


def of_file(lib, folder):
    name = folder / f"{lib.__name__}.bin"
    name.write_bytes(np.arange(6, dtype=np.int32).tobytes())
    return lib.from_file(str(name), size=4, dtype=lib.int32)


CASES = {
    "native_layer_norm": lambda lib: lib.native_layer_norm(
        numbers(lib, 2, 3, 4), (3, 4), numbers(lib, 3, 4), None, 1e-5
    ),
    "native_group_norm": lambda lib: lib.native_group_norm(
        numbers(lib, 2, 6, 5), numbers(lib, 6), numbers(lib, 6), 2, 6, 5, 3, 1e-5
    ),
    "native_batch_norm, training": lambda lib: trained(lib, True),
    "native_batch_norm": lambda lib: trained(lib, False),
    "native_dropout": lambda lib: lib.native_dropout(numbers(lib, 9), 0.5, False),
    "native_dropout, all": lambda lib: lib.native_dropout(numbers(lib, 9), 1.0, True),
    "frobenius_norm": lambda lib: lib.frobenius_norm(numbers(lib, 3, 4), (1,), True),
    "nuclear_norm": lambda lib: lib.nuclear_norm(numbers(lib, 3, 4)),
    "nuclear_norm, dims": lambda lib: lib.nuclear_norm(numbers(lib, 3, 4, 2), (0, 2), True),
    "convolution": lambda lib: lib.convolution(
        numbers(lib, 2, 4, 6, 6),
        numbers(lib, 6, 2, 3, 3),
        numbers(lib, 6),
        (2, 1),
        (1, 0),
        (1, 2),
        False,
        (0, 0),
        2,
    ),
    "convolution, transposed": lambda lib: lib.convolution(
        numbers(lib, 2, 4, 6), numbers(lib, 4, 3, 3), None, (2,), (1,), (1,), True, (1,), 1
    ),
    "grid_sampler": lambda lib: lib.grid_sampler(
        numbers(lib, 1, 2, 4, 4), numbers(lib, 1, 3, 3, 2), 2, 1, False
    ),
    "grid_sampler_3d": lambda lib: lib.grid_sampler_3d(
        numbers(lib, 1, 2, 4, 4, 3), numbers(lib, 1, 3, 3, 2, 3), 0, 0, True
    ),
    "affine_grid_generator": lambda lib: lib.affine_grid_generator(
        numbers(lib, 2, 2, 3), (2, 1, 3, 4), False
    ),
    "embedding_renorm_": renormed,
    "alias_copy": lambda lib: lib.alias_copy(numbers(lib, 3)),
    "slice_copy": lambda lib: lib.slice_copy(numbers(lib, 3, 8), 1, 1, 7, 2),
    "view_as_real_copy": lambda lib: lib.view_as_real_copy(
        lib.complex(numbers(lib, 3), numbers(lib, 3))
    ),
    "view_as_complex_copy": lambda lib: lib.view_as_complex_copy(numbers(lib, 3, 2)),
    "_softmax": lambda lib: lib._softmax(numbers(lib, 3, 4), 1, False),
    "_log_softmax": lambda lib: lib._log_softmax(numbers(lib, 3, 4), 0, False),
    "_masked_softmax": lambda lib: lib._masked_softmax(
        numbers(lib, 2, 3, 4, 4), numbers(lib, 2, 3, 4, 4) > 0.5, 3, 2
    ),
    "_unique2": lambda lib: lib._unique2(whole(lib, 4, 9), True, True, True),
    "_unique": lambda lib: lib._unique(whole(lib, 4, 9), True, False),
    "_aminmax": lambda lib: lib._aminmax(numbers(lib, 3, 4), 1, True),
    "_int_mm": lambda lib: lib._int_mm(
        whole(lib, 100, 17, 16, dtype="int8"), whole(lib, 100, 16, 8, dtype="int8")
    ),
    "_addmm_activation": lambda lib: lib._addmm_activation(
        numbers(lib, 3), numbers(lib, 2, 4), numbers(lib, 4, 3), beta=2, alpha=0.5
    ),
    "_addmm_activation, gelu": lambda lib: lib._addmm_activation(
        numbers(lib, 3), numbers(lib, 2, 4), numbers(lib, 4, 3), use_gelu=True
    ),
    "_compute_linear_combination": lambda lib: lib._compute_linear_combination(
        numbers(lib, 4, 2, 3), numbers(lib, 5, 4)
    ),
    "_compute_linear_combination, complex": lambda lib: lib._compute_linear_combination(
        lib.complex(numbers(lib, 4, 2), numbers(lib, 4, 2)), numbers(lib, 5, 4)
    ),
    "_weight_norm": lambda lib: lib._weight_norm(numbers(lib, 3, 4, 2), numbers(lib, 1, 4, 1), 1),
    "_weight_norm of all": lambda lib: lib._weight_norm(numbers(lib, 3, 4), numbers(lib, 1), -1),
    "_neg_view": lambda lib: lib._neg_view(numbers(lib, 3)),
    "_efficientzerotensor": lambda lib: [
        lib.ones(2, 3) + lib._efficientzerotensor((2, 3)),
        lib._efficientzerotensor(2, 3) + 1,
    ],
    "casts": lambda lib: [
        getattr(lib, f"_cast_{name}")(4 * numbers(lib, 5).abs())
        for name in ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double")
    ],
    "names": lambda lib: (lib._C._get_privateuse1_backend_name(), lib._C._jit_can_fuse_on_gpu()),
    "get_device": lambda lib: (
        lib.get_device(numbers(lib, 3)),
        lib.is_distributed(numbers(lib, 3)),
    ),
}


def parts(result):
    for part in result if isinstance(result, tuple | list) else (result,):
        if hasattr(part, "detach"):
            yield part.shape, str(part.dtype).rpartition(".")[2], np.array(part.tolist())
        else:
            yield part


@pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")  # by PyTorch
@pytest.mark.parametrize("case", CASES)
def test_values_are_pytorchs(case):
    mine, its = (list(parts(CASES[case](lib))) for lib in (OURS, torch))
    assert len(mine) == len(its)
    for left, right in zip(mine, its, strict=True):
        if not isinstance(left, tuple):
            assert left == right
            continue
        assert left[:2] == right[:2]
        np.testing.assert_allclose(left[2], right[2], rtol=1e-4, atol=1e-5)


def test_dropout_says_what_stays():
    output, mask = OURS.native_dropout(OURS.ones(1000), 0.25, True)
    assert 650 < mask.sum().item() < 850
    np.testing.assert_allclose(output.numpy(), mask.numpy() / 0.75, rtol=1e-6)


def test_files_are_read(tmp_path):
    mine, its = (of_file(lib, tmp_path).tolist() for lib in (OURS, torch))
    assert mine == its
    with pytest.raises(RuntimeError, match="size"):
        OURS.from_file(str(tmp_path / f"{OURS.__name__}.bin"), size=7)


FILES = {
    "a missing one": lambda lib, folder: lib.from_file(f"{folder}/none", size=3),
    "a missing one of no size": lambda lib, folder: lib.from_file(f"{folder}/none").tolist(),
    "in no folder": lambda lib, folder: lib.from_file(f"{folder}/no/ne", shared=True, size=3),
    "a folder": lambda lib, folder: lib.from_file(str(folder), size=3),
    "a shared folder": lambda lib, folder: lib.from_file(str(folder), shared=True, size=3),
    "a negative size": lambda lib, folder: lib.from_file(__file__, size=-1),
    "a missing storage": lambda lib, folder: lib.UntypedStorage.from_file(f"{folder}/x", False, 3),
    "a short storage": lambda lib, folder: lib.UntypedStorage.from_file(
        __file__, False, 10_000_000
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_files_that_cannot_be_opened(tmp_path, what):
    def outcome(lib):
        try:
            return FILES[what](lib, tmp_path)
        except Exception as error:
            return type(error)

    assert outcome(OURS) == outcome(torch)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_functions_name_their_successors(name):
    for lib in (OURS, torch):
        with pytest.raises(RuntimeError, match="linalg"):
            getattr(lib, name)(lib.eye(2), lib.eye(2))


def scaled(lib):
    gradients = [lib.tensor([1.0, 2.0]), lib.tensor([float("inf")])]
    overflow = lib.zeros(1)
    counts = []
    for part in (gradients[:1], gradients):
        lib._amp_foreach_non_finite_check_and_unscale_(part, overflow, lib.tensor(0.5))
        counts.append(overflow.item())
    scale, tracker = lib.tensor([8.0]), lib.tensor([0], dtype=lib.int32)
    for found in (0.0, 0.0, 0.0, 1.0, 0.0):
        lib._amp_update_scale_(scale, tracker, lib.tensor([found]), 2.0, 0.25, 2)
        counts += [scale.item(), tracker.item()]
    return gradients[0].tolist(), counts


def looped(lib):
    loop = lib._higher_order_ops.while_loop if lib is torch else lib.while_loop
    start = lib.tensor(0), lib.ones(2)
    return [part.tolist() for part in loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), start)]


def old_layers(lib):
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        loss = lib.nn.NLLLoss2d()
    with pytest.warns(FutureWarning, match="Container"):
        container = lib.nn.Container(a=lib.nn.ReLU())
    values = lib.log_softmax(numbers(lib, 1, 2, 2, 2), 1)
    result = loss(values, lib.tensor([[[0, 1], [1, 0]]])).item()
    return [name for name, _ in container.named_children()], round(result, 4)


@pytest.mark.parametrize("case", [scaled, looped, old_layers])
def test_small_names_act_as_pytorchs(case):
    assert case(OURS) == case(torch)


def test_hooks_are_marked():
    mark = in_place_of("torch.utils.hooks").unserializable_hook

    @mark
    def hook(gradient):
        return gradient

    assert hook.__torch_unserializable__
    assert in_place_of("torch.utils.data._utils").MP_STATUS_CHECK_INTERVAL == 5.0


def test_dirichlet_distributions_are_drawn():
    drawn = OURS._sample_dirichlet(OURS.tensor([[2.0, 6.0]]).expand(4000, 2))
    np.testing.assert_allclose(drawn.sum(-1).numpy(), 1, rtol=1e-5)
    np.testing.assert_allclose(drawn.mean(0).numpy(), [0.25, 0.75], atol=0.02)
    with pytest.raises(NotImplementedError, match="generator"):
        OURS._sample_dirichlet(OURS.ones(1, 2), OURS.Generator())
