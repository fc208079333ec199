"""Parametrizations that weights often have."""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

from oneflow.base.shape import wrap_dim
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import eye
from oneflow.functional.linalg.decompositions import qr
from oneflow.functional.linalg.inverse import solve
from oneflow.functional.linalg.lapack import geqrf, householder_product, matrix_exp
from oneflow.functional.random.creation import randn
from oneflow.functional.shape.concat import cat
from oneflow.module.module import Module
from oneflow.nn.utils.parametrize import register_parametrization
from oneflow.nn.utils.spectral_norm import as_matrix, output_dim, random_unit_vector
from oneflow.primitives.operators.distance import (
    power_iteration,
    singular_value,
    slice_norms,
    unit_vectors,
    weight_of_norm,
)
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

AnyModule = TypeVar("AnyModule", bound=Module)


class _WeightNorm(Module):
    """A weight from its size (`original0`) and its direction (`original1`)."""

    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, size: Tensor, direction: Tensor) -> Tensor:
        return call(weight_of_norm, direction, size, dim=self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return size and direction of a weight."""
        return call(slice_norms, weight, dim=self.dim), weight


def weight_norm(module: AnyModule, name: str = "weight", dim: int | None = 0) -> AnyModule:
    """Compute a weight from its size and its direction, both learnable.

    The state dict has ``parametrizations.weight.original0``, the size, and ``original1``, the
    direction.

    Args:
        module: has the parameter.
        name: the name of the parameter.
        dim: each slice along this dimension has a size of its own; None, or -1: one size for all.

    Returns:
        The module.

    Raises:
        ValueError: there is no such parameter.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.parametrizations.weight_norm(flow.nn.Linear(2, 3))
        >>> layer.parametrizations.weight.original0.shape
        oneflow.Size([3, 1])
    """
    weight = getattr(module, name, None)
    norm_dim = None if dim in (None, -1) or weight is None else dim % weight.ndim
    return register_parametrization(module, name, _WeightNorm(norm_dim), unsafe=True)


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, whose singular vectors are buffers."""

    _FIRST_STEPS = 15

    def __init__(self, weight: Tensor, steps: int, dim: int, eps: float) -> None:
        super().__init__()
        self.dim, self.steps, self.eps = dim, steps, eps
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, random_unit_vector(size, weight, eps))
            self._power_method(matrix, self._FIRST_STEPS)

    def _power_method(self, matrix: Tensor, steps: int) -> tuple[Tensor, Tensor]:
        """Better singular vectors, which the buffers get, too."""
        with no_grad():
            # As in PyTorch u is improved first, unlike in `oneflow.nn.utils.spectral_norm`.
            v, u = call(power_iteration, matrix.mT, self._v, self._u, self.eps, steps=steps)
            self._u.copy_(u)
            self._v.copy_(v)
        return u, v

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return call(unit_vectors, weight, self.eps, p=2.0, dim=0)
        matrix = as_matrix(weight, self.dim)
        u, v = self._power_method(matrix, self.steps) if self.training else (self._u, self._v)
        return weight / call(singular_value, matrix, u, v)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """Return the weight as it is: it can have any size."""
        return weight


def spectral_norm(
    module: AnyModule,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> AnyModule:
    """Divide a weight by its largest singular value, estimated by power iteration.

    The estimate is improved whenever the weight is read in training mode.

    Args:
        module: has the parameter.
        name: the name of the parameter; a vector is divided by its length.
        n_power_iterations: improvements of the estimate.
        eps: vectors are at least this long when normalised.
        dim: dimension of the weight that counts outputs; default 0, 1 in transposed convolutions.

    Returns:
        The module.

    Raises:
        ValueError: there is no such parameter, or `n_power_iterations` is not positive.
        IndexError: there is no such dimension.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.parametrizations.spectral_norm(flow.nn.Linear(2, 3))
        >>> float(flow.linalg.matrix_norm(layer.weight, 2)) < 1.1
        True
    """
    weight = _tensor_of(module, name)
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got n_power_iterations="
            f"{n_power_iterations}"
        )
    norm_dim = wrap_dim(output_dim(module) if dim is None else dim, weight.ndim)
    rule = _SpectralNorm(weight, n_power_iterations, norm_dim, eps)
    return register_parametrization(module, name, rule)


OrthogonalMap = Literal["matrix_exp", "cayley", "householder"]


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows, from any matrix of its sizes.

    Attributes:
        base: an orthogonal matrix by which the result is multiplied, so that any one can be reached
            from ``-I``; None, and no buffer, without `use_trivialization`.
    """

    base: Tensor | None

    def __init__(self, form: str, use_trivialization: bool) -> None:
        super().__init__()
        self.form = form
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        is_wide = x.shape[-2] < x.shape[-1]
        matrix = x.mT if is_wide else x
        q = _householder(matrix) if self.form == "householder" else _rotation(matrix, self.form)
        base = self._buffers.get("base")
        q = q if base is None else base @ q
        return q.mT if is_wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return a matrix that becomes `q`, which is made orthogonal first.

        Raises:
            NotImplementedError: it cannot be computed: that is so without `use_trivialization`,
                except of reflections.
        """
        is_wide = q.shape[-2] < q.shape[-1]
        matrix = q.mT if is_wide else q
        if "base" in self._buffers:
            rows, columns = matrix.shape[-2:]
            missing = randn(*matrix.shape[:-1], rows - columns, dtype=q.dtype, device=q.device)
            self.base = _unitary_factor(cat([matrix, missing], -1))
            return -eye(*q.shape[-2:], dtype=q.dtype, device=q.device).expand_as(q)
        if self.form != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        packed, tau = geqrf(matrix)
        # A reflection of scale 0 changes nothing, and so keeps the sign of its column.
        diagonal = packed.diagonal(dim1=-2, dim2=-1)
        signs = diagonal.sign() * (1 - 2 * (tau == 0).to(tau.dtype))
        ones = eye(*packed.shape[-2:], dtype=q.dtype, device=q.device)
        packed = packed.tril(-1) + packed.triu(1) + signs.unsqueeze(-2) * ones
        return packed.mT if is_wide else packed


def _householder(x: Tensor) -> Tensor:
    """A product of reflections along the columns below the diagonal, which says their signs."""
    vectors = x.tril(-1)
    scales = 2 / (1 + (vectors * vectors).sum(-2))
    signs = x.diagonal(dim1=-2, dim2=-1).int().to(x.dtype)
    return householder_product(vectors, scales) * signs.unsqueeze(-2)


def _rotation(x: Tensor, form: str) -> Tensor:
    """The first columns of the rotation that belongs to the skew part of a matrix."""
    rows, columns = x.shape[-2:]
    lower = cat([x.tril(), x.new_zeros((*x.shape[:-1], rows - columns))], -1)
    skew = lower - lower.mH
    if form == "matrix_exp":
        return matrix_exp(skew)[..., :columns]
    one = eye(rows, dtype=x.dtype, device=x.device)
    return solve(one - skew / 2, one + skew / 2)[..., :columns]


def _unitary_factor(matrix: Tensor) -> Tensor:
    """The unitary factor of a square matrix whose other factor has a positive diagonal."""
    q, r = qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: AnyModule,
    name: str = "weight",
    orthogonal_map: OrthogonalMap | None = None,
    *,
    use_trivialization: bool = True,
) -> AnyModule:
    """Keep a matrix, or a batch of them, orthogonal; of one that is not square columns or rows.

    Lezcano-Casado and Martinez-Rubio, "Cheap orthogonal constraints in neural networks" (2019);
    trivializations: Lezcano-Casado (2019).

    Args:
        module: has the parameter.
        name: the name of the parameter.
        orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; default the first for
            square or complex matrices, else the last.
        use_trivialization: multiply by an orthogonal matrix, a buffer, so that the parameter starts
            where it was and can be assigned to.

    Returns:
        The module.

    Raises:
        ValueError: there is no such parameter, or it is no matrix; an unknown map.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.parametrizations.orthogonal(flow.nn.Linear(2, 2))
        >>> (layer.weight @ layer.weight.T).allclose(flow.eye(2), atol=1e-5)
        True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    is_square = weight.shape[-2] == weight.shape[-1]
    is_complex = weight.dtype.is_complex
    form = orthogonal_map or ("matrix_exp" if is_square or is_complex else "householder")
    if form not in get_args(OrthogonalMap):
        raise ValueError(
            f"orthogonal_map has to be one of {', '.join(get_args(OrthogonalMap))}, got {form!r}"
        )
    if form == "householder" and is_complex:
        raise ValueError("The householder parametrization does not support complex tensors.")
    return register_parametrization(
        module, name, _Orthogonal(form, use_trivialization), unsafe=True
    )


def _tensor_of(module: Module, name: str) -> Tensor:
    """The parameter or buffer of that name.

    Raises:
        ValueError: there is none.
    """
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(
            f"Module '{module._get_name()}' has no parameter or buffer with name '{name}'"
        )
    return tensor
