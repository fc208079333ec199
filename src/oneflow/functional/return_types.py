"""Results with named parts: `oneflow.return_types`, with PyTorch's names of classes and fields.

>>> import oneflow as flow
>>> flow.max(flow.tensor([[1.0, 5.0]]), 1)
oneflow.return_types.max(
values=tensor([5.], dtype=oneflow.float32),
indices=tensor([1], dtype=oneflow.int64))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from oneflow.base.program_name import program_name
from oneflow.tensor.tensor import Tensor


class aminmax(NamedTuple):
    """Result of `aminmax`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.aminmax(flow.tensor([3.0, 1.0, 2.0]), dim=0)
        >>> isinstance(result, flow.return_types.aminmax), result._fields
        (True, ('min', 'max'))
    """

    min: Tensor
    max: Tensor


class cummax(NamedTuple):
    """Result of `cummax`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.cummax(flow.tensor([3.0, 1.0, 2.0]), 0)
        >>> isinstance(result, flow.return_types.cummax), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class cummin(NamedTuple):
    """Result of `cummin`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.cummin(flow.tensor([3.0, 1.0, 2.0]), 0)
        >>> isinstance(result, flow.return_types.cummin), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class frexp(NamedTuple):
    """Result of `frexp`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.frexp(flow.tensor([3.0, 1.0, 2.0]))
        >>> isinstance(result, flow.return_types.frexp), result._fields
        (True, ('mantissa', 'exponent'))
    """

    mantissa: Tensor
    exponent: Tensor


class geqrf(NamedTuple):
    """Result of `geqrf`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.geqrf(flow.eye(2))
        >>> isinstance(result, flow.return_types.geqrf), result._fields
        (True, ('a', 'tau'))
    """

    a: Tensor
    tau: Tensor


class histogram(NamedTuple):
    """Result of `histogram`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.histogram(flow.tensor([3.0, 1.0, 2.0]), 2)
        >>> isinstance(result, flow.return_types.histogram), result._fields
        (True, ('hist', 'bin_edges'))
    """

    hist: Tensor
    bin_edges: Tensor


class histogramdd(NamedTuple):
    """Result of `histogramdd`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.histogramdd(flow.tensor([[3.0], [1.0]]), 2)
        >>> isinstance(result, flow.return_types.histogramdd), result._fields
        (True, ('hist', 'bin_edges'))
    """

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


class kthvalue(NamedTuple):
    """Result of `kthvalue`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.kthvalue(flow.tensor([3.0, 1.0, 2.0]), 2)
        >>> isinstance(result, flow.return_types.kthvalue), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class linalg_cholesky_ex(NamedTuple):
    """Result of `linalg.cholesky_ex`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.cholesky_ex(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_cholesky_ex), result._fields
        (True, ('L', 'info'))
    """

    L: Tensor
    info: Tensor


class linalg_eig(NamedTuple):
    """Result of `linalg.eig`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.eig(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_eig), result._fields
        (True, ('eigenvalues', 'eigenvectors'))
    """

    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_eigh(NamedTuple):
    """Result of `linalg.eigh`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.eigh(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_eigh), result._fields
        (True, ('eigenvalues', 'eigenvectors'))
    """

    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_inv_ex(NamedTuple):
    """Result of `linalg.inv_ex`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.inv_ex(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_inv_ex), result._fields
        (True, ('inverse', 'info'))
    """

    inverse: Tensor
    info: Tensor


class linalg_ldl_factor(NamedTuple):
    """Result of `linalg.ldl_factor`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.ldl_factor(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_ldl_factor), result._fields
        (True, ('LD', 'pivots'))
    """

    LD: Tensor
    pivots: Tensor


class linalg_ldl_factor_ex(NamedTuple):
    """Result of `linalg.ldl_factor_ex`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.ldl_factor_ex(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_ldl_factor_ex), result._fields
        (True, ('LD', 'pivots', 'info'))
    """

    LD: Tensor
    pivots: Tensor
    info: Tensor


class linalg_lstsq(NamedTuple):
    """Result of `linalg.lstsq`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.lstsq(flow.eye(2), flow.ones(2, 1))
        >>> isinstance(result, flow.return_types.linalg_lstsq), result._fields
        (True, ('solution', 'residuals', 'rank', 'singular_values'))
    """

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class linalg_lu(NamedTuple):
    """Result of `linalg.lu`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.lu(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_lu), result._fields
        (True, ('P', 'L', 'U'))
    """

    P: Tensor
    L: Tensor
    U: Tensor


class linalg_lu_factor(NamedTuple):
    """Result of `linalg.lu_factor`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.lu_factor(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_lu_factor), result._fields
        (True, ('LU', 'pivots'))
    """

    LU: Tensor
    pivots: Tensor


class linalg_lu_factor_ex(NamedTuple):
    """Result of `linalg.lu_factor_ex`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.lu_factor_ex(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_lu_factor_ex), result._fields
        (True, ('LU', 'pivots', 'info'))
    """

    LU: Tensor
    pivots: Tensor
    info: Tensor


class linalg_qr(NamedTuple):
    """Result of `linalg.qr`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.qr(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_qr), result._fields
        (True, ('Q', 'R'))
    """

    Q: Tensor
    R: Tensor


class linalg_slogdet(NamedTuple):
    """Result of `linalg.slogdet`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.slogdet(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_slogdet), result._fields
        (True, ('sign', 'logabsdet'))
    """

    sign: Tensor
    logabsdet: Tensor


class linalg_solve_ex(NamedTuple):
    """Result of `linalg.solve_ex`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.solve_ex(flow.eye(2), flow.ones(2))
        >>> isinstance(result, flow.return_types.linalg_solve_ex), result._fields
        (True, ('result', 'info'))
    """

    result: Tensor
    info: Tensor


class linalg_svd(NamedTuple):
    """Result of `linalg.svd`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.linalg.svd(flow.eye(2))
        >>> isinstance(result, flow.return_types.linalg_svd), result._fields
        (True, ('U', 'S', 'Vh'))
    """

    U: Tensor
    S: Tensor
    Vh: Tensor


class lu_unpack(NamedTuple):
    """Result of `lu_unpack`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.lu_unpack(*flow.linalg.lu_factor(flow.eye(2)))
        >>> isinstance(result, flow.return_types.lu_unpack), result._fields
        (True, ('P', 'L', 'U'))
    """

    P: Tensor
    L: Tensor
    U: Tensor


class max(NamedTuple):
    """Result of `max`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.max(flow.tensor([3.0, 1.0, 2.0]), 0)
        >>> isinstance(result, flow.return_types.max), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class median(NamedTuple):
    """Result of `median`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.median(flow.tensor([3.0, 1.0, 2.0]), 0)
        >>> isinstance(result, flow.return_types.median), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class min(NamedTuple):
    """Result of `min`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.min(flow.tensor([3.0, 1.0, 2.0]), 0)
        >>> isinstance(result, flow.return_types.min), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class mode(NamedTuple):
    """Result of `mode`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.mode(flow.tensor([3.0, 1.0, 2.0]))
        >>> isinstance(result, flow.return_types.mode), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class nanmedian(NamedTuple):
    """Result of `nanmedian`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.nanmedian(flow.tensor([3.0, 1.0, 2.0]), 0)
        >>> isinstance(result, flow.return_types.nanmedian), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class sort(NamedTuple):
    """Result of `sort`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.sort(flow.tensor([3.0, 1.0, 2.0]))
        >>> isinstance(result, flow.return_types.sort), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class svd(NamedTuple):
    """Result of `svd`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.svd(flow.eye(2))
        >>> isinstance(result, flow.return_types.svd), result._fields
        (True, ('U', 'S', 'V'))
    """

    U: Tensor
    S: Tensor
    V: Tensor


class topk(NamedTuple):
    """Result of `topk`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.topk(flow.tensor([3.0, 1.0, 2.0]), 2)
        >>> isinstance(result, flow.return_types.topk), result._fields
        (True, ('values', 'indices'))
    """

    values: Tensor
    indices: Tensor


class triangular_solve(NamedTuple):
    """Result of `triangular_solve`.

    Example:
        >>> import oneflow as flow
        >>> result = flow.triangular_solve(flow.ones(2, 1), flow.eye(2))
        >>> isinstance(result, flow.return_types.triangular_solve), result._fields
        (True, ('solution', 'cloned_coefficient'))
    """

    solution: Tensor
    cloned_coefficient: Tensor


def _as_text(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{program_name()}.return_types.{type(self).__name__}(\n{parts})"


def _of_sequence(kind: Any) -> Callable[..., Any]:
    """Return the constructor of a class that also takes all fields as one sequence."""
    of_fields = kind.__new__

    def new(cls: Any, *fields: Any, **named: Any) -> Any:
        if len(fields) != 1 or named:
            return of_fields(cls, *fields, **named)
        if isinstance(fields[0], Tensor) or len(fields[0]) != cls.n_fields:
            raise TypeError(f"`{cls.__name__}` has {cls.n_fields} fields, got {fields[0]!r}")
        return tuple.__new__(cls, fields[0])

    return new


for _kind in [named_tuple for named_tuple in vars().values() if hasattr(named_tuple, "_fields")]:
    _kind.__repr__ = _as_text
    _kind.__new__ = _of_sequence(_kind)
    # The counts that C's structures of named fields have.
    _kind.n_fields = _kind.n_sequence_fields = len(_kind._fields)
    _kind.n_unnamed_fields = 0
