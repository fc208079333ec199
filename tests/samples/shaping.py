"""Views and copies of other shapes: values, strides and gradients."""

from __future__ import annotations

from typing import Any

from tests.samples.table import Operator, case, tensor

# Elements only move, so that few dtypes say everything.
MOVED = ("float32", "bool", "complex64")

_CUBE = tensor(2, 3, 4)
_TURNED = tensor(3, 2, layout="transposed")


def _strides(name: str) -> Any:
    """A method's result together with its strides, offset and contiguity."""

    def call(lib: Any, x: Any, *args: Any) -> list:
        y = getattr(x, name)(*args)
        return [y, y.stride(), y.storage_offset(), y.is_contiguous()]

    return call


OPERATORS = [
    Operator(
        "reshape",
        cases=[
            case(tensor(2, 3), (3, 2)),
            case(_CUBE, (-1, 6)),
            case(_TURNED, (6,)),
            case(tensor(0, 3), (3, 0)),
            case(tensor(), (1, 1)),
            case(tensor(1), ()),
            case(tensor(2, 3), (-1,)),
        ],
        dtypes=MOVED,
        errors=[
            case(tensor(2, 3), (4,)),
            case(tensor(2, 3), (-1, -1)),
            case(tensor(2, 3), (-1, 4)),
            case(tensor(2, 3), (-2, 3)),
            case(tensor(0, 3), (-1, 0)),
            case(tensor(2), (2.5,)),
        ],
    ),
    Operator(
        "Tensor.view",
        cases=[
            case(tensor(2, 3), 3, 2),
            case(tensor(2, 3), (-1,)),
            case(_TURNED, 3, 2, 1),
        ],
        errors=[case(_TURNED, 6), case(tensor(2, 3), 7)],
    ),
    Operator(
        "Tensor.view_dtype",
        call=lambda lib, x, name: x.view(getattr(lib, name)),
        cases=[
            case(tensor(2, 4), "int32"),
            case(tensor(2, 4), "uint8"),
            case(tensor(2, 4), "float64"),
            case(tensor(2), "int16"),
        ],
        grad=False,
        errors=[case(tensor(), "float64"), case(tensor(2, 3), "float64")],
    ),
    Operator("Tensor.view_as", cases=[case(tensor(2, 3), tensor(3, 2, grad=False))]),
    Operator("Tensor.reshape_as", cases=[case(_TURNED, tensor(6, grad=False))]),
    Operator(
        "permute",
        cases=[case(_CUBE, (2, 0, 1)), case(tensor(), ()), case(tensor(2, 3), (-1, 0))],
        dtypes=MOVED,
        errors=[case(_CUBE, (0, 1)), case(_CUBE, (0, 0, 1)), case(_CUBE, (0, 1, 3))],
    ),
    Operator(
        "transpose",
        cases=[case(_CUBE, 0, 2), case(_CUBE, -1, 1), case(tensor(), 0, -1)],
        errors=[case(_CUBE, 0, 3)],
    ),
    Operator("swapaxes", cases=[case(_CUBE, 0, 2)]),
    Operator(
        "t", cases=[case(tensor(2, 3)), case(tensor(3)), case(tensor())], errors=[case(_CUBE)]
    ),
    Operator(
        "movedim",
        cases=[case(_CUBE, 0, -1), case(_CUBE, (0, 1), (2, 0)), case(_CUBE, (), ())],
        errors=[case(_CUBE, (0, 1), (0,)), case(_CUBE, 0, 3), case(_CUBE, (0, 0), (1, 2))],
    ),
    Operator(
        "squeeze",
        cases=[
            case(tensor(1, 2, 1)),
            case(tensor(1, 2, 1), 0),
            case(tensor(1, 2, 1), 1),
            case(tensor(1, 2, 1), (0, 2)),
            case(tensor(), 0),
        ],
        errors=[case(tensor(1, 2), 2)],
    ),
    Operator(
        "unsqueeze",
        cases=[case(tensor(2, 3), 1), case(tensor(2, 3), -1), case(tensor(), 0)],
        errors=[case(tensor(2), 3)],
    ),
    Operator(
        "flatten",
        cases=[case(_CUBE), case(_CUBE, 1), case(_CUBE, 0, 1), case(tensor()), case(_TURNED)],
        errors=[case(_CUBE, 2, 1), case(_CUBE, 3)],
    ),
    Operator("ravel", cases=[case(_CUBE), case(tensor()), case(tensor(0, 2))]),
    Operator(
        "unflatten",
        cases=[case(tensor(2, 6), 1, (2, 3)), case(tensor(2, 6), -1, (-1, 2))],
        errors=[case(tensor(2, 6), 1, (4, 2)), case(tensor(2, 6), 1, ())],
    ),
    Operator(
        "Tensor.expand",
        cases=[
            case(tensor(2, 1), 2, 3),
            case(tensor(2, 1), (4, -1, 3)),
            case(tensor(), 2),
            case(tensor(1), 0),
        ],
        dtypes=MOVED,
        errors=[case(tensor(2, 3), 3), case(tensor(2, 3), 2, 4), case(tensor(2), -1, 2)],
    ),
    Operator("Tensor.expand_as", cases=[case(tensor(1), tensor(2, 3, grad=False))]),
    Operator(
        "Tensor.sum_to_size",
        cases=[
            case(tensor(2, 3), 3),
            case(tensor(2, 3), (2, 1)),
            case(tensor(2, 3), ()),
            case(tensor(2, dtype="int32"), 2),
            case(tensor(dtype="int32"), ()),
        ],
        errors=[case(tensor(2, 3), 2), case(tensor(2), 1, 2, 1)],
    ),
    Operator("broadcast_to", cases=[case(tensor(3), (2, 3))], errors=[case(tensor(3), (2, 2))]),
    Operator(
        "narrow",
        cases=[case(_CUBE, 1, 1, 2), case(_CUBE, -1, -2, 2), case(tensor(3), 0, 3, 0)],
        errors=[
            case(tensor(3), 0, 2, 2),
            case(tensor(3), 0, 4, 0),
            case(tensor(3), 0, 0, -1),
            case(tensor(), 0, 0, 0),
        ],
    ),
    Operator(
        "select",
        cases=[case(_CUBE, 1, 2), case(_CUBE, 0, -1)],
        errors=[case(_CUBE, 0, 2), case(tensor(), 0, 0), case(_CUBE, 3, 0)],
    ),
    Operator(
        "diagonal",
        cases=[
            case(tensor(3, 3)),
            case(tensor(2, 4), 1),
            case(tensor(3, 2), -1),
            case(_CUBE, 0, 1, 2),
            case(tensor(2, 2), 3),
        ],
        errors=[case(tensor(3)), case(tensor(2, 2), 0, 1, 1)],
    ),
    Operator(
        "Tensor.unfold",
        cases=[case(tensor(5), 0, 2, 1), case(tensor(2, 6), 1, 3, 2), case(tensor(3, 2), 0, 3, 1)],
        errors=[case(tensor(3), 0, 4, 1), case(tensor(3), 0, 2, 0), case(tensor(3), 1, 1, 1)],
    ),
    Operator(
        "as_strided",
        cases=[
            case(tensor(6), (3, 2), (2, 1)),
            case(tensor(6), (4, 2), (1, 1), 1),
            case(_TURNED, (2,), (2,)),
            case(tensor(4), (), ()),
        ],
        errors=[case(tensor(4), (3,), (2,)), case(tensor(4), (2,), (1, 1))],
    ),
    Operator(
        "adjoint",
        cases=[case(tensor(2, 3))],
        dtypes=("float32", "complex64"),
        errors=[case(tensor(3))],
    ),
    Operator("real", cases=[case(tensor(2, 3))], dtypes=("complex64", "float32")),
    Operator("imag", cases=[case(tensor(2, 3))], dtypes=("complex64",)),
    Operator("view_as_real", cases=[case(tensor(2, 3))], dtypes=("complex64",)),
    Operator(
        "view_as_complex", cases=[case(tensor(3, 2))], dtypes=("float32",), errors=[case(tensor(3))]
    ),
    Operator(
        "transposed", call=lambda lib, x: (x.T, x.mT, x.H), cases=[case(tensor(2, 3))], torch=None
    ),
    *(
        Operator(f"strides of {name}", call=_strides(name), cases=cases)
        for name, cases in {
            "view": [case(tensor(2, 6), 3, 4), case(tensor(4, 3, layout="strided"), 2, 2, 3, 1)],
            "transpose": [case(_CUBE, 0, 2)],
            "expand": [case(tensor(2, 1), 4, 2, 3)],
            "narrow": [case(_CUBE, 1, 1, 2)],
            "select": [case(_CUBE, 1, 2)],
            "diagonal": [case(tensor(3, 4), 1), case(tensor(3, 4), -1)],
            "unfold": [case(tensor(2, 6), 1, 3, 2)],
            "squeeze": [case(tensor(2, 1, 3, layout="strided"))],
            "reshape": [case(_TURNED, 6), case(tensor(2, 3), 6)],
            "flatten": [case(tensor(2, 3, layout="strided"))],
            "contiguous": [case(_TURNED), case(tensor(2, 3))],
            "as_strided": [case(tensor(6), (2, 2), (1, 2), 1)],
        }.items()
    ),
]
