"""SBP: the distribution of a global tensor along one dimension of its placement.

The three signatures of Yuan et al., "OneFlow: Redesign the Distributed Deep Learning Framework from
Scratch" (2021): split along a dimension, broadcast, and partial sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.keyword_aliases import keyword_aliases


class Sbp:
    """The distribution of a tensor over the devices along one dimension of a placement.

    One of `split`, `broadcast` and `partial_sum`; equal ones are the same object.

    Example:
        >>> import oneflow as flow
        >>> flow.sbp.broadcast, isinstance(flow.sbp.partial_sum, flow.sbp.sbp)
        (oneflow.sbp.broadcast, True)
        >>> flow.sbp.split(1).code, flow.sbp.partial_sum.code
        ('S(1)', 'P')

    Attributes:
        code: the short text that listings and files have.
    """

    __slots__ = ("_text", "code")

    def __init__(self, text: str, code: str) -> None:
        self._text = text
        self.code = code

    def __call__(self) -> Sbp:
        """Itself: `oneflow.sbp.broadcast` and `oneflow.sbp.broadcast()` are both in use."""
        return self

    def __repr__(self) -> str:
        return f"oneflow.sbp.{self._text}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (named_sbp, (self.code,))


class Split(Sbp):
    """Every device holds a shard of dimension `dim`, as even as possible, in the order of ranks."""

    __slots__ = ("dim",)

    def __init__(self, dim: int) -> None:
        super().__init__(f"split(dim={dim})", f"S({dim})")
        self.dim = dim


BROADCAST = Sbp("broadcast", "B")
PARTIAL_SUM = Sbp("partial_sum", "P")
_SPLITS: dict[int, Split] = {}

# One signature per dimension of a placement.
NdSbp = tuple[Sbp, ...]
# The `sbp` argument of users: one signature, or one for each dimension of a placement.
SbpLike = Sbp | Sequence[Sbp]


@keyword_aliases(axis="dim")
def split(dim: int) -> Split:
    """Split along dimension `dim`; a negative one counts from the end of the tensor's shape.

    Raises:
        TypeError: `dim` is not an integer.

    Example:
        >>> import oneflow as flow
        >>> flow.sbp.split(0)
        oneflow.sbp.split(dim=0)
    """
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise TypeError(f"`split` takes the index of a dimension, got {dim!r}")
    signature = _SPLITS.get(dim)
    return signature if signature is not None else _SPLITS.setdefault(dim, Split(dim))


def named_sbp(code: str) -> Sbp:
    """The signature with the short text `code`: ``S(0)``, ``B`` or ``P``.

    Raises:
        ValueError: another text.
    """
    if code in ("B", "P"):
        return BROADCAST if code == "B" else PARTIAL_SUM
    if code.startswith("S(") and code.endswith(")"):
        return split(int(code[2:-1]))
    raise ValueError(f"{code!r} is not an SBP; write `S(0)`, `B` or `P`")


def nd_sbp_of(sbp: Any, mesh_ndim: int, ndim: int | None = None) -> NdSbp:
    """One signature per dimension of a placement, from what a user gave.

    Args:
        sbp: one signature, or a list or tuple of them.
        mesh_ndim: dimensions of the placement.
        ndim: dimensions of the tensor, to check and count splits by; None leaves them as they are.

    Raises:
        TypeError: something that is not a signature.
        ValueError: as many signatures as the placement has dimensions are needed.
        IndexError: a split of a dimension that the tensor does not have.
    """
    components = tuple(sbp) if isinstance(sbp, Sequence) else (sbp,)
    for component in components:
        if not isinstance(component, Sbp):
            raise TypeError(
                "`sbp` must be oneflow.sbp.split(dim), .broadcast, .partial_sum or a list of them, "
                f"got {sbp!r}"
            )
    if len(components) != mesh_ndim:
        raise ValueError(
            f"`sbp` has {len(components)} entries, {list(components)}, but the placement has "
            f"{mesh_ndim} "
            "dimension(s); give one per dimension"
        )
    return (
        components
        if ndim is None
        else tuple([_normalize_split(component, ndim) for component in components])
    )


def _normalize_split(sbp: Sbp, ndim: int) -> Sbp:
    if not isinstance(sbp, Split):
        return sbp
    if not -ndim <= sbp.dim < ndim:
        raise IndexError(f"{sbp!r} does not fit a tensor of {ndim} dimension(s)")
    return split(sbp.dim % ndim)


def sbp_text(sbp: NdSbp) -> str:
    """Signatures as short text: ``(S(0), B)``."""
    return f"({', '.join(component.code for component in sbp)})"
