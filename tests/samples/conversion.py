"""Copies, conversions and whole-tensor writes."""

from __future__ import annotations

from tests.samples.table import ALL, COMPLEX, FLOATS, INTEGERS, Operator, case, dtype, tensor

OPERATORS = [
    Operator("clone", cases=[case(tensor(2, 3)), case(tensor())], dtypes=ALL),
    *(
        Operator(f"Tensor.{name}", cases=[case(tensor(2, 3))], dtypes=("float32", "int64", "bool"))
        for name in (
            "float",
            "double",
            "half",
            "bfloat16",
            "long",
            "int",
            "short",
            "char",
            "byte",
            "bool",
        )
    ),
    Operator(
        "Tensor.cfloat",
        call=lambda lib, x: x.to(lib.complex64),
        cases=[case(tensor(2))],
        dtypes=("float32", "int64", "complex64"),
    ),
    Operator(
        "Tensor.to",
        cases=[
            case(tensor(2), dtype("float64")),
            case(tensor(2), "cpu"),
            case(tensor(2), "cpu", dtype("float16")),
            case(tensor(2), tensor(1, dtype="float64", grad=False)),
            case(tensor(2), dtype=dtype("int32")),
            case(tensor(2), copy=True),
        ],
        dtypes=(*FLOATS, *INTEGERS),
        errors=[case(tensor(2), "nowhere"), case(tensor(2), [1])],
    ),
    Operator(
        "Tensor.type", cases=[case(tensor(2), dtype("float64"))], dtypes=("float32", *COMPLEX)
    ),
    Operator("Tensor.type_as", cases=[case(tensor(2), tensor(1, dtype="int64"))]),
    Operator(
        "copy",
        call=lambda lib, x, y: x.clone().copy_(y),
        cases=[
            case(tensor(2, 3), tensor(3)),
            case(tensor(2), tensor(2, dtype="int64")),
            case(tensor(2, 3), tensor()),
        ],
        dtypes=("float32", "int64", "bool", "complex64"),
        errors=[case(tensor(2), tensor(3)), case(tensor(2), tensor(2, 2))],
    ),
    Operator(
        "fill",
        call=lambda lib, x, y: x.clone().fill_(y),
        cases=[case(tensor(2), 2.5), case(tensor(2), tensor())],
        dtypes=("float32", "int64", "bool"),
        errors=[case(tensor(2), tensor(2))],
    ),
    Operator(
        "zero",
        call=lambda lib, x: x.clone().zero_(),
        cases=[case(tensor(2))],
        dtypes=("float32", "int64"),
    ),
    Operator(
        "from_numpy",
        call=lambda lib, x: lib.from_numpy(x.detach().numpy()),
        cases=[case(tensor(2, 3)), case(tensor())],
        dtypes=("float32", "int64", "bool", "complex64", "float16"),
        grad=False,
    ),
]
