"""Collective operations by messages and as compiled programs: the same bits, on all ranks.

Sums of more than two processes are exact here: Gloo adds them up in an order of its own.
"""

import numpy as np

import oneflow as flow
from oneflow.base.dtype import ALL_DTYPES
from oneflow.distributed import collective_functions as functions
from oneflow.distributed.device_group import group_of_ranks, run_collective
from oneflow.distributed.reduce_op import ReduceOp
from oneflow.runtime.cold import COLD
from oneflow.runtime.counters import STATISTICS

rank, size = flow.env.get_rank(), flow.env.get_world_size()
GROUP = group_of_ranks("cpu")
SHAPES = [(), (3,), (2, 5), (0, 2), (70_001,)]
# On one array of each process; `*` on one for each of them.
OPERATIONS = [
    ("all_reduce", {}),
    *[("all_reduce", {"op": op}) for op in ReduceOp if op is not ReduceOp.SUM],
    ("average", {}),
    ("all_gather", {}),
    ("all_gather_into_tensor", {"shape": (-1,)}),
    ("broadcast", {"source": size - 1}),
    ("*reduce_scatter", {}),
    *[("*reduce_scatter", {"op": op}) for op in ReduceOp if op is not ReduceOp.SUM],
    ("*all_to_all", {}),
    ("*scatter", {"source": 1}),
]


def numbers(dtype, shape, seed):
    """Numbers with special ones among them; any floats where two are added."""
    random = np.random.default_rng(seed)
    # Multiples of the number of processes, so that means are exact, too.
    array = random.integers(0 if dtype.kind in "bu" else -9, 9, shape) * size
    if size == 2 and dtype.kind not in "biu":
        array = random.normal(size=shape) * 10.0 ** random.integers(-3, 3, shape)
    array = np.asarray(array).astype(dtype)
    if array.size > 4 and dtype.kind not in "biu":
        array.reshape(-1)[:4] = [-0.0, np.nan, np.inf, -0.0 if rank else 0.0]
    return array


def is_defined(name, attributes, dtype):
    op = attributes.get("op")
    if name == "average" or op is ReduceOp.AVG:
        return dtype.kind not in "biu"
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
        return dtype.kind in "biu"
    return op not in (ReduceOp.MIN, ReduceOp.MAX) or dtype.kind not in "c"


def results(interpret, name, arrays, attributes):
    COLD.interpret = interpret
    function = getattr(functions, name.lstrip("*"))
    return [np.asarray(x) for x in run_collective(function, GROUP, arrays, **attributes)]


def check_equal_bits():
    for number, dtype in enumerate(ALL_DTYPES):
        # A program of each shape is compiled in turn.
        shape = SHAPES[number % len(SHAPES)]
        for name, attributes in OPERATIONS:
            if not is_defined(name, attributes, dtype.numpy):
                continue
            count = size if name.startswith("*") else 1
            arrays = [numbers(dtype.numpy, shape, 100 * rank + part) for part in range(count)]
            compiles = STATISTICS.operation_compiles
            own = results(True, name, arrays, attributes)
            assert STATISTICS.operation_compiles == compiles
            for ours, compiled in zip(own, results(False, name, arrays, attributes), strict=True):
                title = f"{name} {attributes} {dtype} {shape}"
                assert (ours.dtype, ours.shape) == (compiled.dtype, compiled.shape), title
                np.testing.assert_array_equal(ours, compiled, err_msg=title)
                if not np.isnan(ours.astype(np.complex128)).any():
                    assert ours.tobytes() == compiled.tobytes(), title
            COLD.interpret = True


def check_equal_ranks():
    for count in (5, 70_001):
        own = np.random.default_rng(rank).normal(size=count).astype(np.float32)
        (total,) = results(True, "all_reduce", [own], {})
        for other in results(True, "all_gather", [total], {}):
            assert other.tobytes() == total.tobytes()


def check_results_are_their_own():
    """Small ones, and large ones in memory that XLA uses as it is."""
    for count in (3, 70_001):
        x = flow.ones(count)
        parts = [flow.zeros(count) for _ in range(size)]
        flow.comm.all_gather(parts, x)
        x += 1
        assert all((part == 1).all() for part in parts)
        parts[rank] += 5
        assert (x == 2).all()
        for function in (flow.comm.all_reduce, lambda y: flow.comm.broadcast(y, 0)):
            y = x.clone()
            function(y)
            z, expected = y.clone(), y[0].item()
            y += 1
            y *= 2
            assert (z == expected).all()
            assert (y == 2 * (expected + 1)).all()
            assert (x == 2).all()


check_equal_bits()
check_equal_ranks()
check_results_are_their_own()
