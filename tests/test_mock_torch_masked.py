"""``torch.masked``, and control flow as functions, beside PyTorch's."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import torch
import torch.masked

import oneflow as flow
from tests.in_place import in_place_of

#: Of what the results stand everywhere, or where the mask does.
REDUCTIONS = {
    "sum": [{}, {"dim": 1}, {"dim": (0, 2), "keepdim": True}],
    "prod": [{}, {"dim": 1}, {"dim": (0, -1)}],
    "amax": [{}, {"dim": 1}],
    "amin": [{}, {"dim": (0, 2), "keepdim": True}],
    "logsumexp": [{"dim": 1}, {"dim": (0, 2)}],
    "mean": [{}, {"dim": 1}, {"dim": 2, "keepdim": True}, {"dtype": "float64"}],
    "var": [{}, {"dim": 1, "unbiased": False}, {"dim": 1, "correction": 2}],
    "std": [{"dim": 1}, {"dim": (0, 2), "unbiased": True}],
    "norm": [{"ord": 2.0}, {"ord": 1.0, "dim": 1}, {"ord": float("inf"), "dim": (0, 2)}],
    "argmax": [{}, {"dim": 1, "keepdim": True}],
    "argmin": [{"dim": 2}],
    "median": [{}, {"dim": 1, "keepdim": True}],
}
ALONG = {
    "softmax": [{"dim": 1}],
    "log_softmax": [{"dim": 2}],
    "softmin": [{"dim": 0}],
    "cumsum": [{"dim": 1}, {"dim": 1, "dtype": "float64"}],
    "cumprod": [{"dim": 2}],
    "normalize": [{"ord": 2.0, "dim": 1}],
}
CASES = [
    (name, options, masked)
    for name, rows in (REDUCTIONS | ALONG).items()
    for options in rows
    for masked in (False, True)
]


def outcome(library, masked, name, options, is_masked):
    draw = np.random.RandomState(0)
    x = library.tensor(draw.standard_normal((3, 4, 5)).tolist(), requires_grad=True)
    mask = library.tensor((draw.uniform(size=(3, 4, 5)) < 0.6).tolist())
    options = dict(options)
    if "dtype" in options:
        options["dtype"] = getattr(library, options["dtype"])
    result = getattr(masked, name)(x, **options, mask=mask if is_masked else None)
    kept = result.masked_fill(~mask, 0) if is_masked and name in ALONG else result
    found = [kept]
    if kept.requires_grad:
        kept.cos().sum().backward()
        found.append(x.grad)
    return [tensor.detach().numpy() for tensor in found]


@pytest.mark.parametrize(("name", "options", "masked"), CASES, ids=str)
def test_what_a_mask_keeps_counts(name, options, masked):
    ours = outcome(flow, in_place_of("torch.masked"), name, options, masked)
    theirs = outcome(torch, torch.masked, name, options, masked)
    for mine, its in zip(ours, theirs, strict=True):
        assert mine.dtype == its.dtype
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "float64"])
@pytest.mark.parametrize("name", ["median", "argmax", "argmin"])
def test_dtypes_of_what_is_kept(name, dtype):
    outcomes = []
    for library, masked in ((torch, torch.masked), (flow, in_place_of("torch.masked"))):
        x = library.tensor([[5, 6, 7, 100], [0, 9, 1, 2]]).to(getattr(library, dtype))
        mask = library.tensor([[True, True, True, False], [False, True, False, True]])
        for row in (mask, None, mask[:1], ~mask[:1], mask & ~mask):
            for options in ({"dim": 0, "keepdim": True}, {"dim": -1}):
                try:
                    found = getattr(masked, name)(x, **options, mask=row)
                except (ValueError, RuntimeError):
                    outcomes.append("refused")
                else:
                    outcomes.append((str(found.dtype).rpartition(".")[2], str(found.tolist())))
    middle = len(outcomes) // 2
    assert outcomes[middle:] == outcomes[:middle]


def test_where_nothing_is_kept():
    masked = in_place_of("torch.masked")
    x, mask = flow.ones(2), flow.zeros(2, dtype=flow.bool)
    found = [getattr(masked, name)(x, mask=mask).item() for name in ("sum", "prod", "amax", "amin")]
    assert found == [0, 1, -np.inf, np.inf]
    assert np.isnan(masked.mean(x, mask=mask).item())
    assert masked.amax(x.int(), mask=mask).item() == flow.iinfo(flow.int32).min


def test_control_flow():
    outcomes = []
    for library in (torch, in_place_of("torch")):
        x = library.tensor(3.0, requires_grad=True)
        found = library.cond(x > 0, lambda x: x.square(), lambda x: -x, (x,))
        found.backward()
        outcomes.append([found.item(), x.grad.item()])
    assert outcomes[1] == outcomes[0]
    module = in_place_of("torch._higher_order_ops.control_flow")
    counted = module.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (0, flow.ones(1)))
    assert (counted[0], counted[1].item()) == (3, 8)


def test_prefixes_are_taken_off():
    outcomes = []
    for path in (torch.nn.modules.utils, in_place_of("torch.nn.modules.utils")):
        state = collections.OrderedDict({"module.a": 1, "b": 2, "module.c.d": 3})
        state._metadata = collections.OrderedDict({"": 0, "module": 1, "module.c": 2})
        path.consume_prefix_in_state_dict_if_present(state, "module.")
        outcomes.append([dict(state), dict(state._metadata)])
    assert outcomes[1] == outcomes[0]
