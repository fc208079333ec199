"""Reductions of runs of neighbouring elements."""

from tests.samples.table import Operator, case, tensor


def lengths(values):
    return tensor(*_shape(values), dtype="int64", values=values, grad=False)


def _shape(values):
    return (len(values), *_shape(values[0])) if isinstance(values, list) else ()


_X, _ROWS = tensor(5, 2, distinct=True), tensor(2, 3, 2, distinct=True)
_RUNS, _RUNS_OF_ROWS = lengths([2, 0, 3]), lengths([[1, 2], [3, 0]])

OPERATORS = [
    *(
        Operator(
            f"segment_reduce-{how}",
            call=lambda lib, x, how=how, **options: lib.segment_reduce(x, how, **options),
            cases=[
                case(_X, lengths=_RUNS),
                case(_X, lengths=_RUNS, initial=1.5),
                case(_X, offsets=lengths([0, 1, 5])),
                case(_ROWS, lengths=_RUNS_OF_ROWS, axis=1),
                case(_X, lengths=_RUNS, unsafe=True),
            ],
            dtypes=("float32", "float64", "bfloat16"),
            errors=[
                case(_X),
                case(_X, lengths=lengths([2, 2])),
                case(_X, lengths=lengths([6, -1])),
                case(_ROWS, lengths=lengths([3]), axis=1),
                case(tensor(5, dtype="int64"), lengths=lengths([5])),
            ],
            # PyTorch has no second gradients of it.
            second_grad=False,
        )
        for how in ("sum", "mean", "prod", "max", "min")
    ),
]
