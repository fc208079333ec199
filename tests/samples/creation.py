"""Tensors from nothing and from data."""

from __future__ import annotations

from tests.samples.table import Operator, case, dtype, tensor

_LIKE_CASES = [
    case(tensor(2, 3)),
    case(
        tensor(
            0,
        )
    ),
    case(tensor(), dtype=dtype("int64")),
]
_LIKE_DTYPES = ("float32", "int64", "bool", "float16", "complex64")

OPERATORS = [
    Operator(
        "zeros",
        cases=[
            case(2, 3),
            case((2, 0)),
            case([3], dtype=dtype("int32")),
            case(tensor(2).shape),
        ],
        errors=[case(-1), case("2"), case(2.5)],
    ),
    Operator("ones", cases=[case(2, 3), case((2,), dtype=dtype("bool")), case(size=(2,))]),
    Operator("empty", cases=[case(2, 3), case((2,), dtype=dtype("int8"))], values=False),
    Operator(
        "full",
        cases=[
            case((2, 2), 1.5),
            case((2,), 7),
            case((2,), True),
            case((), 2 + 1j),
            case((2,), 3, dtype=dtype("float16")),
            case((0,), float("nan")),
        ],
        errors=[case((-1,), 1)],
    ),
    Operator("zeros_like", cases=_LIKE_CASES, dtypes=_LIKE_DTYPES, grad=False),
    Operator("ones_like", cases=_LIKE_CASES, dtypes=_LIKE_DTYPES, grad=False),
    Operator(
        "full_like",
        cases=[case(tensor(2, 3), 2.5), case(tensor(2), 3, dtype=dtype("int32"))],
        dtypes=("float32", "int64"),
        grad=False,
    ),
    Operator(
        "arange",
        cases=[
            case(5),
            case(1, 7, 2),
            case(0.5, 3, 0.7),
            case(5, 0, -2),
            case(3, 3),
            case(2.5),
            case(1, 5, dtype=dtype("float64")),
            case(2.1, -2.9, -1.0, dtype=dtype("int64")),
            case(2.1, -2.9, -1.0, dtype=dtype("int32")),
            case(0, 5, 1.9, dtype=dtype("int64")),
            case(0, 5, 1.9, dtype=dtype("int32")),
            case(start=1, end=4),
        ],
        errors=[
            case(0, 5, 0),
            case(5, 0),
            case(0, -3, 1),
            case(0, 5, 0.5, dtype=dtype("int64")),
        ],
        vary_numbers=False,
    ),
    Operator(
        "linspace",
        cases=[
            case(0, 1, 5),
            case(-2.5, 3.5, 7),
            case(1, 2, 1),
            case(0, 10, 0),
            case(0, 9, 4, dtype=dtype("float64")),
            case(0, 10, 5, dtype=dtype("int64")),
            case(4.3, -3, 9, dtype=dtype("int64")),
            case(0.9, 5.9, 4, dtype=dtype("int32")),
        ],
        errors=[case(0, 1, -1)],
    ),
    Operator(
        "logspace",
        cases=[case(0, 2, 3), case(0.5, 2.0, 4, base=2.0), case(-1, 1, 1)],
        errors=[case(0, 1, -1)],
    ),
    Operator(
        "eye",
        cases=[case(3), case(2, 4), case(0), case(3, dtype=dtype("bool"))],
        errors=[case(-1)],
    ),
    Operator(
        "tensor",
        cases=[
            case([[1, 2], [3, 4]]),
            case([1, 2.5]),
            case([True, False]),
            case(3.5),
            case([]),
            case([1, 2], dtype=dtype("float16")),
            case(1 + 2j),
            case([[]]),
            case([1.7, -1.7], dtype=dtype("int32")),
            case((1, (2))),
            case([tensor(values=1), tensor(values=2)]),
        ],
        errors=[case("text"), case([[1, 2], [3]]), case([None])],
    ),
    Operator(
        "as_tensor",
        cases=[case([1, 2]), case(tensor(2)), case(tensor(2), dtype=dtype("int32"))],
        grad=False,
    ),
    Operator(
        "Tensor.new_zeros",
        cases=[case(tensor(1), 2, 3), case(tensor(1), (2,), dtype=dtype("int32"))],
        dtypes=("int64", "float32"),
        grad=False,
    ),
    Operator("Tensor.new_ones", cases=[case(tensor(1), (2,))], dtypes=("int64",)),
    Operator("Tensor.new_empty", cases=[case(tensor(1), (2,))], dtypes=("int64",), values=False),
    Operator(
        "Tensor.new_full", cases=[case(tensor(1), (2,), 5)], dtypes=("int64", "float32"), grad=False
    ),
    Operator(
        "Tensor.new_tensor",
        cases=[case(tensor(1), [1, 2])],
        dtypes=("int64", "float64"),
        grad=False,
    ),
    Operator("Tensor", cases=[case([1, 2]), case(2, 0), case([]), case(((1, 2), (3, 4)))]),
    Operator("LongTensor", cases=[case([1, 2]), case(0)]),
    Operator(
        "tril_indices",
        cases=[case(3, 4), case(2, 2, -1), case(0, 2), case(3, 2, 1)],
        errors=[case(-1, 2)],
    ),
    Operator("triu_indices", cases=[case(3, 4), case(2, 2, 1), case(3, 2, -1)]),
    Operator(
        "finfo.eps",
        cases=[case("float32"), case("float16"), case("bfloat16"), case("float64")],
        call=lambda lib, name: [
            getattr(lib.finfo(getattr(lib, name)), field)
            for field in ("eps", "max", "min", "tiny", "bits", "dtype", "smallest_normal")
        ],
        errors=[case("int32")],
    ),
    Operator(
        "iinfo.max",
        cases=[case("int8"), case("uint8"), case("int64")],
        call=lambda lib, name: [
            getattr(lib.iinfo(getattr(lib, name)), field)
            for field in ("max", "min", "bits", "dtype")
        ],
        errors=[case("float32")],
    ),
]
