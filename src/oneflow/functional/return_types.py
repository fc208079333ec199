"""Results with named parts: `oneflow.return_types`, with PyTorch's names of classes and fields.

>>> import oneflow as flow
>>> flow.max(flow.tensor([[1.0, 5.0]]), 1)
oneflow.return_types.max(
values=tensor([5.], dtype=oneflow.float32),
indices=tensor([1], dtype=oneflow.int64))
"""

# ruff: noqa: UP014 - a class is a row
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from oneflow.base.program_name import program_name
from oneflow.tensor.tensor import Tensor

aminmax = NamedTuple("aminmax", [("min", Tensor), ("max", Tensor)])
cummax = NamedTuple("cummax", [("values", Tensor), ("indices", Tensor)])
cummin = NamedTuple("cummin", [("values", Tensor), ("indices", Tensor)])
frexp = NamedTuple("frexp", [("mantissa", Tensor), ("exponent", Tensor)])
geqrf = NamedTuple("geqrf", [("a", Tensor), ("tau", Tensor)])
histogram = NamedTuple("histogram", [("hist", Tensor), ("bin_edges", Tensor)])
histogramdd = NamedTuple("histogramdd", [("hist", Tensor), ("bin_edges", tuple[Tensor, ...])])
kthvalue = NamedTuple("kthvalue", [("values", Tensor), ("indices", Tensor)])
linalg_cholesky_ex = NamedTuple("linalg_cholesky_ex", [("L", Tensor), ("info", Tensor)])
linalg_eig = NamedTuple("linalg_eig", [("eigenvalues", Tensor), ("eigenvectors", Tensor)])
linalg_eigh = NamedTuple("linalg_eigh", [("eigenvalues", Tensor), ("eigenvectors", Tensor)])
linalg_inv_ex = NamedTuple("linalg_inv_ex", [("inverse", Tensor), ("info", Tensor)])
linalg_ldl_factor = NamedTuple("linalg_ldl_factor", [("LD", Tensor), ("pivots", Tensor)])
linalg_ldl_factor_ex = NamedTuple(
    "linalg_ldl_factor_ex", [("LD", Tensor), ("pivots", Tensor), ("info", Tensor)]
)
linalg_lstsq = NamedTuple(
    "linalg_lstsq",
    [("solution", Tensor), ("residuals", Tensor), ("rank", Tensor), ("singular_values", Tensor)],
)
linalg_lu = NamedTuple("linalg_lu", [("P", Tensor), ("L", Tensor), ("U", Tensor)])
linalg_lu_factor = NamedTuple("linalg_lu_factor", [("LU", Tensor), ("pivots", Tensor)])
linalg_lu_factor_ex = NamedTuple(
    "linalg_lu_factor_ex", [("LU", Tensor), ("pivots", Tensor), ("info", Tensor)]
)
linalg_qr = NamedTuple("linalg_qr", [("Q", Tensor), ("R", Tensor)])
linalg_slogdet = NamedTuple("linalg_slogdet", [("sign", Tensor), ("logabsdet", Tensor)])
linalg_solve_ex = NamedTuple("linalg_solve_ex", [("result", Tensor), ("info", Tensor)])
linalg_svd = NamedTuple("linalg_svd", [("U", Tensor), ("S", Tensor), ("Vh", Tensor)])
lu_unpack = NamedTuple("lu_unpack", [("P", Tensor), ("L", Tensor), ("U", Tensor)])
max = NamedTuple("max", [("values", Tensor), ("indices", Tensor)])
median = NamedTuple("median", [("values", Tensor), ("indices", Tensor)])
min = NamedTuple("min", [("values", Tensor), ("indices", Tensor)])
mode = NamedTuple("mode", [("values", Tensor), ("indices", Tensor)])
nanmedian = NamedTuple("nanmedian", [("values", Tensor), ("indices", Tensor)])
qr = NamedTuple("qr", [("Q", Tensor), ("R", Tensor)])
slogdet = NamedTuple("slogdet", [("sign", Tensor), ("logabsdet", Tensor)])
sort = NamedTuple("sort", [("values", Tensor), ("indices", Tensor)])
svd = NamedTuple("svd", [("U", Tensor), ("S", Tensor), ("V", Tensor)])
topk = NamedTuple("topk", [("values", Tensor), ("indices", Tensor)])
triangular_solve = NamedTuple(
    "triangular_solve", [("solution", Tensor), ("cloned_coefficient", Tensor)]
)


def _as_text(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{program_name()}.return_types.{type(self).__name__}(\n{parts})"


def _of_sequence(kind: Any) -> Callable[..., Any]:
    """Return the constructor of a class that also takes all fields as one sequence."""
    of_fields = kind.__new__

    def new(cls: Any, *fields: Any, **named: Any) -> Any:
        if len(fields) == 2 and isinstance(
            fields[1], dict
        ):  # as PyTorch pickles them: no further fields
            fields = fields[:1]
        if len(fields) != 1 or named:
            return of_fields(cls, *fields, **named)
        if isinstance(fields[0], Tensor) or len(fields[0]) != cls.n_fields:
            raise TypeError(f"`{cls.__name__}` has {cls.n_fields} fields, got {fields[0]!r}")
        return tuple.__new__(cls, fields[0])

    return new


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), (tuple(self),)  # which PyTorch's classes take, too


# A call that returns each class.
_CALLS = (
    "aminmax(flow.tensor([3.0, 1.0, 2.0]), dim=0)",
    "cummax(flow.tensor([3.0, 1.0, 2.0]), 0)",
    "cummin(flow.tensor([3.0, 1.0, 2.0]), 0)",
    "frexp(flow.tensor([3.0, 1.0, 2.0]))",
    "geqrf(flow.eye(2))",
    "histogram(flow.tensor([3.0, 1.0, 2.0]), 2)",
    "histogramdd(flow.tensor([[3.0], [1.0]]), 2)",
    "kthvalue(flow.tensor([3.0, 1.0, 2.0]), 2)",
    "linalg.cholesky_ex(flow.eye(2))",
    "linalg.eig(flow.eye(2))",
    "linalg.eigh(flow.eye(2))",
    "linalg.inv_ex(flow.eye(2))",
    "linalg.ldl_factor(flow.eye(2))",
    "linalg.ldl_factor_ex(flow.eye(2))",
    "linalg.lstsq(flow.eye(2), flow.ones(2, 1))",
    "linalg.lu(flow.eye(2))",
    "linalg.lu_factor(flow.eye(2))",
    "linalg.lu_factor_ex(flow.eye(2))",
    "linalg.qr(flow.eye(2))",
    "linalg.slogdet(flow.eye(2))",
    "linalg.solve_ex(flow.eye(2), flow.ones(2))",
    "linalg.svd(flow.eye(2))",
    "lu_unpack(*flow.linalg.lu_factor(flow.eye(2)))",
    "max(flow.tensor([3.0, 1.0, 2.0]), 0)",
    "median(flow.tensor([3.0, 1.0, 2.0]), 0)",
    "min(flow.tensor([3.0, 1.0, 2.0]), 0)",
    "mode(flow.tensor([3.0, 1.0, 2.0]))",
    "nanmedian(flow.tensor([3.0, 1.0, 2.0]), 0)",
    "qr(flow.eye(2))",
    "slogdet(flow.eye(2))",
    "sort(flow.tensor([3.0, 1.0, 2.0]))",
    "svd(flow.eye(2))",
    "topk(flow.tensor([3.0, 1.0, 2.0]), 2)",
    "triangular_solve(flow.ones(2, 1), flow.eye(2))",
)


# The functions whose results are written to no tensors.
_WITHOUT_OUT = frozenset({"histogramdd"})


def _docstring(kind: Any, operator: str, call: str) -> str:
    return (
        f"Result of `{operator}`.\n\n"
        "Example:\n"
        "    >>> import oneflow as flow\n"
        f"    >>> result = flow.{call}\n"
        f"    >>> isinstance(result, flow.return_types.{kind.__name__}), result._fields\n"
        f"    (True, {kind._fields})\n"
    )


def _type_of_written(kind: Any, operator: str, call: str) -> Any:
    """The class of results that a function has written to tensors of its caller."""
    into = f"{call.removesuffix(')')}, out=tuple(flow.{call}))"
    name = f"{kind.__name__}_out"
    written = type(name, (kind,), {"__slots__": (), "__module__": __name__})
    written.__doc__ = _docstring(written, operator, into).replace("of `", "written by `", 1)
    return written


for _call in _CALLS:
    _operator = _call.partition("(")[0]
    _kind = globals()[_operator.replace(".", "_")]
    _kind.__doc__ = _docstring(_kind, _operator, _call)
    _kind.__repr__ = _as_text
    _kind.__new__ = _of_sequence(_kind)
    _kind.__reduce__ = _reduce
    # The counts that C's structures of named fields have.
    _kind.n_fields = _kind.n_sequence_fields = len(_kind._fields)
    _kind.n_unnamed_fields = 0
    if _operator not in _WITHOUT_OUT:
        _kind.type_of_written = _type_of_written(_kind, _operator, _call)
        globals()[_kind.type_of_written.__name__] = _kind.type_of_written
