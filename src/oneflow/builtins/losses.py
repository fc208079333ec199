"""Losses, cells and embeddings as upstream's builtins take their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.builtins.operands import (
    require_integers,
    require_rows,
    require_same_dtype,
    require_same_shape,
)
from oneflow.functional.nn.ctc import ctc_loss as sequence_loss
from oneflow.functional.nn.interpolate import grid_sample as sampled
from oneflow.functional.nn.loss import cross_entropy, nll_loss
from oneflow.functional.nn.rnn import Weights, run_cell
from oneflow.functional.nn.softmax import log_softmax
from oneflow.functional.reduce.sums import sum_
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def softmax_cross_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """Cross entropy of each row of logits with a row of probabilities.

    Raises:
        TypeError: the operands differ in dtype.
        RuntimeError: they differ in shape, or have no rows.

    Example:
        >>> import oneflow as flow
        >>> flow._C.softmax_cross_entropy(flow.zeros(1, 2), flow.tensor([[0.5, 0.5]]))
        tensor([0.6931], dtype=oneflow.float32)
    """
    require_rows("softmax_cross_entropy", logits=logits)
    require_same_shape("softmax_cross_entropy", logits=logits, label=label)
    require_same_dtype("softmax_cross_entropy", logits=logits, label=label)
    return -sum_(log_softmax(logits, -1) * label, -1)


@function(method=False, namespace="_C")
def softmax_cross_entropy_grad(dy: Tensor, label: Tensor, prob: Tensor) -> Tensor:
    """Gradient of `softmax_cross_entropy` with respect to its logits.

    Args:
        dy: gradient of each row's loss.
        label: the rows of probabilities that were given.
        prob: the softmax of the logits.

    Raises:
        TypeError: the operands differ in dtype.
        RuntimeError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> half = flow.tensor([[0.5, 0.5]])
        >>> flow._C.softmax_cross_entropy_grad(flow.ones(1), flow.tensor([[0.0, 1.0]]), half)
        tensor([[ 0.5000, -0.5000]], dtype=oneflow.float32)
    """
    name = "softmax_cross_entropy_grad"
    require_rows(name, prob=prob)
    require_same_shape(name, label=label, prob=prob)
    if dy.shape != prob.shape[:-1]:
        raise RuntimeError(
            f"`{name}`: `dy` must have one number for each row of `prob`, shape "
            f"{list(prob.shape[:-1])}, got {list(dy.shape)}"
        )
    require_same_dtype(name, dy=dy, label=label, prob=prob)
    return dy.unsqueeze(-1) * (prob - label)


def _check_labels(name: str, classes: Tensor, label: Tensor) -> None:
    """Check that there is a label for each row of classes.

    Raises:
        TypeError: the labels are not integers.
        RuntimeError: the shapes do not fit.
    """
    require_integers(name, label=label)
    rows = list(classes.shape[:-1])
    if not classes.ndim or list(label.shape) not in (rows, [*rows, 1]):
        raise RuntimeError(
            f"`{name}`: `label` must have a shape of {rows}, one label for each row of classes of "
            f"shape {list(classes.shape)}, got {list(label.shape)}"
        )


@function(method=False, namespace="_C")
def sparse_softmax_cross_entropy(logits: Tensor, label: Tensor) -> Tensor:
    """Cross entropy of each row of logits with a label.

    Args:
        logits: shape ``(..., C)``.
        label: integers of shape ``(...)``, or with a last dimension of size 1.

    Raises:
        TypeError: the labels are not integers.
        RuntimeError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow._C.sparse_softmax_cross_entropy(flow.zeros(1, 2), flow.tensor([1]))
        tensor([0.6931], dtype=oneflow.float32)
    """
    _check_labels("sparse_softmax_cross_entropy", logits, label)
    rows = logits.reshape(-1, logits.shape[-1])
    return cross_entropy(rows, label.reshape(-1), reduction="none").reshape(label.shape)


@function(method=False, namespace="_C")
def sparse_cross_entropy(prediction: Tensor, label: Tensor, depth: int) -> Tensor:
    """Minus the logarithm of the probability of each label.

    Args:
        prediction: probabilities of shape ``(..., depth)``.
        label: integers of shape ``(...)``.
        depth: number of classes.

    Raises:
        TypeError: the labels are not integers.
        RuntimeError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow._C.sparse_cross_entropy(flow.tensor([[0.5, 0.5]]), flow.tensor([1]), 2)
        tensor([0.6931], dtype=oneflow.float32)
    """
    require_integers("sparse_cross_entropy", label=label)
    if not prediction.ndim or prediction.shape[-1] != depth:
        raise RuntimeError(
            "`sparse_cross_entropy`: the last dimension of `prediction` must have `depth` = "
            f"{depth} classes, got shape {list(prediction.shape)}"
        )
    _check_labels("sparse_cross_entropy", prediction, label)
    rows = prediction.reshape(-1, depth).log()
    return nll_loss(rows, label.reshape(-1), reduction="none").reshape(label.shape)


@function(method=False, namespace="_C")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    max_target_length: int,
    blank: int,
    zero_infinity: bool,
    reduction: str,
) -> Tensor:
    """`nn.functional.ctc_loss`; `max_target_length` follows from the lengths.

    Example:
        >>> import oneflow as flow
        >>> log_probs = flow.full((2, 1, 3), 1 / 3).log()
        >>> lengths = flow.tensor([2]), flow.tensor([1])
        >>> loss = flow._C.ctc_loss(log_probs, flow.tensor([[1]]), *lengths, 1, 0, False, "sum")
        >>> round(loss.item(), 4)
        1.0986
    """
    return sequence_loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    )


@function(method=False, namespace="_C")
def grid_sample(
    input: Tensor, grid: Tensor, *, interpolation_mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`.

    Example:
        >>> import oneflow as flow
        >>> options = {"interpolation_mode": "nearest", "padding_mode": "zeros"}
        >>> grid = flow.zeros(1, 1, 1, 2)
        >>> flow._C.grid_sample(flow.ones(1, 1, 3, 3), grid, align_corners=True, **options).item()
        1.0
    """
    return sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@function(method=False, namespace="_C")
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """The next state of a recurrent cell: ``tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)``.

    Example:
        >>> import oneflow as flow
        >>> one = flow.ones(1, 1)
        >>> flow._C.rnn_tanh_cell(one, one, one, one)
        tensor([[0.9640]], dtype=oneflow.float32)
    """
    return run_cell("RNN_TANH", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


@function(method=False, namespace="_C")
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """The next state of a recurrent cell, as `rnn_tanh_cell` with `relu`.

    Example:
        >>> import oneflow as flow
        >>> one = flow.ones(1, 1)
        >>> flow._C.rnn_relu_cell(one, one, one, one)
        tensor([[2.]], dtype=oneflow.float32)
    """
    return run_cell("RNN_RELU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


@function(method=False, namespace="_C")
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """The next state of a gated recurrent unit; see `nn.GRUCell`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.gru_cell(flow.ones(1, 1), flow.ones(1, 1), flow.zeros(3, 1), flow.zeros(3, 1))
        tensor([[0.5000]], dtype=oneflow.float32)
    """
    return run_cell("GRU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


@function(method=False, namespace="_C")
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """The next hidden and cell state of an LSTM cell; see `nn.LSTMCell`.

    Raises:
        RuntimeError: `hx` does not hold two tensors.

    Example:
        >>> import oneflow as flow
        >>> one = flow.ones(1, 1)
        >>> flow._C.lstm_cell(one, [one, one], flow.zeros(4, 1), flow.zeros(4, 1))[1]
        tensor([[0.5000]], dtype=oneflow.float32)
    """
    if len(hx) != 2:
        raise RuntimeError(f"`lstm_cell`: `hx` must be a hidden and a cell state, got {len(hx)}")
    return run_cell("LSTM", input, (hx[0], hx[1]), Weights(w_ih, w_hh, b_ih, b_hh))
