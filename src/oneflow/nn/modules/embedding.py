"""Tables of learnable vectors."""

from __future__ import annotations

from typing import Any, Self

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.flags import reject_strings
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.nn import embedding as functional
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter, new_parameter
from oneflow.nn import init
from oneflow.tensor.tensor import Tensor


class _Table(Module):
    """A learnable table of vectors, and how rows are taken from it.

    Args:
        num_embeddings: number of rows.
        embedding_dim: their size.
        padding_idx: row that starts as zeros and gets no gradient.
        max_norm: rows looked up are first scaled down to this norm.
        norm_type: which norm that is.
        scale_grad_by_freq: divide a row's gradient by how often the row was looked up.
        sparse: without effect; gradients are dense.
        weight: the table, if it exists already.
        device: where it lives.
        dtype: the dtype of the table.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            padding_idx = functional.padding_row(padding_idx, num_embeddings)
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        shape = (num_embeddings, embedding_dim)
        if weight is None:
            self.weight = new_parameter(shape, dtype, device)
            self.reset_parameters()
        elif tuple(weight.shape) != shape:
            raise AssertionError(
                "Shape of weight does not match num_embeddings and embedding_dim: "
                f"{tuple(weight.shape)}, expected {shape}"
            )
        else:
            self.weight = weight if isinstance(weight, Parameter) else Parameter(weight)

    def reset_parameters(self) -> None:
        """Draw the rows from a standard normal distribution; the padding row becomes zeros."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0

    @classmethod
    def _of_vectors(cls, vectors: Tensor, freeze: bool, **options: Any) -> Self:
        if vectors.ndim != 2:
            raise AssertionError(
                f"`embeddings` must have 2 dimensions, [number, size], got {list(vectors.shape)}"
            )
        rows, columns = vectors.shape
        options["_weight"] = vectors
        table = cls(rows, columns, **options)
        table.weight.requires_grad_(not freeze)
        return table

    def extra_repr(self) -> str:
        return self._repr_of(_REPR_OPTIONS)

    def _repr_of(self, settings: tuple[tuple[str, Any], ...]) -> str:
        """The sizes, and the settings that differ from their defaults."""
        values = [(name, getattr(self, name), default) for name, default in settings]
        parts = [f"{name}={value!r}" for name, value, default in values if value != default]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *parts])


_REPR_OPTIONS = (
    ("padding_idx", None),
    ("max_norm", None),
    ("norm_type", 2.0),
    ("scale_grad_by_freq", False),
    ("sparse", False),
)


class Embedding(_Table):
    """Looks up learnable vectors by index.

    Args:
        num_embeddings: number of vectors.
        embedding_dim: their size.
        padding_idx: vector that starts as zeros and gets no gradient.
        max_norm: vectors looked up are first scaled down to this norm.
        norm_type: which norm that is.
        scale_grad_by_freq: divide a vector's gradient by how often it was looked up.
        sparse: without effect; gradients are dense.
        _weight: the vectors, if they exist already.
        device: where they live.
        dtype: the dtype of the vectors.
        _freeze: the vectors do not learn; PyTorch's order has it before `device`.

    Attributes:
        weight: ``(num_embeddings, embedding_dim)``, at first normally distributed with mean 0 and
            variance 1; zeros at `padding_idx`.

    Shape:
        input: ``(*)``, indices of any shape.
        output: ``(*, embedding_dim)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Embedding(10, 3)(flow.tensor([[1, 2], [4, 3]])).shape
        oneflow.Size([2, 2, 3])
    """

    @reject_strings
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: Any = None,
        _freeze: Any = False,
    ) -> None:
        if isinstance(device, bool):  # PyTorch's order has `_freeze` here.
            _freeze, device, dtype = device, dtype, _freeze or None
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            device,
            dtype,
        )
        if _freeze:
            self.weight.requires_grad_(False)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An embedding with the given vectors; with `freeze` they do not learn."""
        return cls._of_vectors(
            embeddings,
            freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of learnable vectors.

    Args:
        num_embeddings: number of vectors.
        embedding_dim: their size.
        max_norm: vectors looked up are first scaled down to this norm.
        norm_type: which norm that is.
        scale_grad_by_freq: not supported.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: without effect; gradients are dense.
        _weight: the vectors, if they exist already.
        include_last_offset: offsets end with the number of indices.
        padding_idx: indices equal to this do not count.
        device: where the vectors live.
        dtype: the dtype of the vectors.

    Attributes:
        weight: ``(num_embeddings, embedding_dim)``, at first normally distributed with mean 0 and
            variance 1; zeros at `padding_idx`.

    Shape:
        input: ``(B, N)``, a bag in each row, or ``(L)`` with `offsets`.
        offsets: ``(B)``, where each bag begins in the input.
        per_sample_weights: the shape of the input.
        output: ``(B, embedding_dim)``.

    Example:
        >>> import oneflow as flow
        >>> bag = flow.nn.EmbeddingBag(10, 3, mode="sum")
        >>> bag(flow.tensor([1, 2, 4, 5]), flow.tensor([0, 3])).shape
        oneflow.Size([2, 3])
    """

    @reject_strings
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            device,
            dtype,
        )
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Bags of the given vectors; with `freeze` they do not learn."""
        return cls._of_vectors(
            embeddings,
            freeze,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        return self._repr_of((*_REPR_OPTIONS[1:4], ("mode", ""), _REPR_OPTIONS[0]))
