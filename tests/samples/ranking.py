"""Scores of rankings: PyTorch has none, so that the reference counts pairs."""

from tests.samples.table import Operator, case, tensor


def _auc(label, pred):
    """The share of pairs of a positive and a negative that are ranked right, by its definition."""
    label, pred = label.reshape(-1) > 0, pred.reshape(-1).double()
    if label.numel() != pred.numel():
        raise RuntimeError
    difference = pred[label][:, None] - pred[~label]
    won = (difference > 0).double() + 0.5 * (difference == 0)
    return won.mean().float().reshape(1)


_LABELS = tensor(8, dtype="int64", values=[1, 0, 1, 1, 0, 0, 1, 0])
OPERATORS = [
    Operator(
        "roc_auc_score",
        cases=[
            case(_LABELS, tensor(8)),
            case(_LABELS, tensor(8, values=[0.5, 0.5, 0.1, 0.9, 0.1, 0.5, 0.5, 0.2])),
            case(tensor(3, dtype="int64", values=[1, 1, 1]), tensor(3)),
            case(tensor(4, 1, values=[[0.0], [1.0], [0.0], [1.0]]), tensor(4)),
        ],
        dtypes=("float32", "float64"),
        errors=[case(_LABELS, tensor(7))],
        torch=_auc,
        grad=False,
    ),
]
