"""Losses, distances and similarities."""

from __future__ import annotations

from tests.samples.table import Operator, case, tensor

F = "nn.functional."
X, Y, W = tensor(3, 4), tensor(3, 4), tensor(4, low=0.1, high=2.0, grad=False)
PROBABILITY = tensor(3, 4, low=0.01, high=0.99)
SIGN = tensor(3, 4, values=[1, -1, 1, 1, -1, -1, 1, -1, 1, 1, 1, -1], grad=False)
SIGNS = tensor(3, values=[1, -1, 1], grad=False)
LABELS = tensor(3, dtype="int64", values=[0, 3, 1])
PIXELS = tensor(2, 2, 2, dtype="int64", values=[0, 1, 2, 0, 2, -100, 1, 1])
IMAGES = tensor(2, 3, 2, 2)
EMISSIONS = tensor(5, 2, 4, low=-3.0, high=0.0)
WORDS = tensor(2, 3, dtype="int64", values=[1, 2, 2, 3, 1, 1])
WITH_BLANKS = tensor(2, 3, dtype="int64", values=[1, 0, 2, 3, 0, 3])
DOUBLE = ("float32", "float64")


def paired(name: str, first=X, second=Y, *more, **facts) -> Operator:
    """A row for a loss of two tensors with each reduction."""
    cases = [
        case(first, second),
        *[case(first, second, reduction=reduction) for reduction in ("sum", "none")],
        *more,
    ]
    errors = [case(first, second, reduction="average"), *facts.pop("errors", ())]
    return Operator(F + name, cases=cases, errors=errors, dtypes=DOUBLE, **facts)


def reduced_by(kind: str, *args, **kwargs):
    return case(*args, reduction=kind, **kwargs)


def in_chunks(library, x, weight, labels, rows, **options):
    """`linear_cross_entropy` with the logits of so many rows at a time."""
    chunks = library.nn.LinearCrossEntropyOptions(batch_chunk_size=rows)
    return library.nn.functional.linear_cross_entropy(x, weight, labels, options=chunks, **options)


HEAD, HEAD_BIAS = tensor(5, 4), tensor(5)
HEAD_W = tensor(5, low=0.1, high=2.0, grad=False)
OPERATORS = [
    Operator(
        "linear_cross_entropy_in_chunks",
        cases=[
            case(X, HEAD, LABELS, 2),
            case(X, HEAD, LABELS, 1, linear_bias=HEAD_BIAS, reduction="none"),
            case(X, HEAD, LABELS, 8, linear_bias=HEAD_BIAS, weight=HEAD_W, ignore_index=3),
            case(X, HEAD, LABELS, 2, weight=HEAD_W, ignore_index=3, reduction="sum"),
            case(tensor(4), HEAD, tensor(dtype="int64", values=2), 2),
        ],
        call=in_chunks,
        dtypes=("float32", "float64", "float16", "bfloat16"),
        # PyTorch's cannot be differentiated again.
        second_grad=False,
        errors=[
            case(X, HEAD, LABELS, 0),
            case(X, tensor(5, 3), LABELS, 2),
            case(X, HEAD, LABELS, 2, linear_bias=tensor(4)),
        ],
    ),
    Operator(
        F + "linear_cross_entropy",
        cases=[
            case(X, HEAD, LABELS),
            case(X, HEAD, LABELS, linear_bias=HEAD_BIAS, weight=HEAD_W, label_smoothing=0.25),
            case(X, tensor(5, 2, 4), tensor(3, 2, dtype="int64", values=[0, 4, 1, 2, 3, 0])),
            case(X, HEAD, tensor(3, 5, low=0.0, high=1.0), reduction="sum"),
        ],
        dtypes=DOUBLE,
        errors=[
            case(X, HEAD, tensor(3, 5, low=0.0, high=1.0), ignore_index=2),
            case(tensor(4), tensor(5, 2, 4), tensor(2, dtype="int64", values=[0, 1])),
        ],
    ),
    Operator(
        F + "cross_entropy",
        cases=[
            case(X, LABELS),
            case(X, LABELS, W, label_smoothing=0.25),
            case(IMAGES, PIXELS, reduction="none"),
            case(IMAGES, PIXELS, tensor(3, low=0.1, grad=False), label_smoothing=0.5),
            case(X, LABELS, W, ignore_index=3, reduction="sum"),
            case(X, LABELS, W, ignore_index=3, reduction="none"),
            case(X, tensor(3, 4, low=0.0, high=1.0)),
            case(X, tensor(3, 4, low=0.0), W, reduction="none", label_smoothing=0.25),
            case(tensor(4), tensor(dtype="int64", values=2)),
            case(tensor(4), tensor(4, low=0.0)),
            case(
                tensor(2, 3, values=[1e4, -1e4, 0, 1e4, 1e4, 1e4]),
                tensor(2, dtype="int64", values=[1, 2]),
            ),
            case(X, tensor(3, dtype="int64", values=[-100, -100, -100])),
            case(tensor(0, 4), tensor(0, dtype="int64")),
        ],
        dtypes=("float32", "float64", "float16", "bfloat16"),
        errors=[
            case(X, tensor(3, dtype="int64", values=[0, 4, 1])),
            case(X, tensor(3, dtype="int64", values=[0, -1, 1])),
            case(X, tensor(2, dtype="int64")),
            case(X, LABELS, tensor(3)),
            case(X, LABELS, reduction="average"),
            case(X, LABELS, label_smoothing=1.5),
            case(IMAGES, tensor(2, 3, 2, dtype="int64")),
        ],
    ),
    Operator(
        F + "nll_loss",
        cases=[
            case(X, LABELS),
            case(X, LABELS, W),
            case(IMAGES, PIXELS, reduction="none"),
            case(X, LABELS, W, ignore_index=3, reduction="sum"),
            case(tensor(4), tensor(dtype="int64", values=2)),
        ],
        dtypes=DOUBLE,
        errors=[case(X, tensor(3, dtype="int64", values=[0, 4, 1])), case(X, LABELS, tensor(3))],
    ),
    paired("mse_loss", X, Y, case(X, tensor(4)), case(tensor(), tensor())),
    paired("l1_loss", X, Y, case(X, X)),
    paired(
        "smooth_l1_loss",
        X,
        Y,
        case(X, Y, beta=0.5),
        case(X, Y, beta=0.0),
        case(X, X),
        errors=[case(X, Y, beta=-1.0)],
    ),
    paired("huber_loss", X, Y, case(X, Y, delta=0.5), errors=[case(X, Y, delta=0.0)]),
    paired("soft_margin_loss", X, SIGN),
    paired(
        "binary_cross_entropy",
        PROBABILITY,
        tensor(3, 4, low=0.0, high=1.0),
        case(PROBABILITY, PROBABILITY, W),
        case(tensor(4, values=[0, 1, 0, 1]), tensor(4, values=[0, 1, 1, 0])),
        errors=[case(PROBABILITY, tensor(3)), case(tensor(2, values=[-0.5, 0.5]), tensor(2))],
    ),
    paired(
        "binary_cross_entropy_with_logits",
        X,
        tensor(3, 4, low=0.0, high=1.0),
        case(X, PROBABILITY, W),
        case(X, PROBABILITY, pos_weight=W),
        case(X, PROBABILITY, W, pos_weight=W),
        case(tensor(3, values=[0, 200, -200]), tensor(3, values=[0, 0, 1])),
        errors=[case(X, tensor(3))],
    ),
    paired(
        "kl_div",
        X,
        PROBABILITY,
        case(X, PROBABILITY, reduction="batchmean"),
        case(X, Y, log_target=True),
        case(tensor(2), tensor(2, values=[0, 1], grad=False)),
    ),
    paired(
        "poisson_nll_loss",
        X,
        tensor(3, 4, low=0.0, high=5.0),
        case(tensor(3, 4, low=0.1), tensor(3, 4, low=0.1, high=5.0), log_input=False, full=True),
        second_grad=False,
    ),
    Operator(
        F + "gaussian_nll_loss",
        cases=[
            case(X, Y, tensor(3, 4, low=0.1)),
            case(X, Y, tensor(3, low=0.1), full=True, eps=0.5),
            case(X, Y, tensor(3, 1, low=0.1), reduction="none"),
            case(X, Y, tensor(3, 4, low=0.1), reduction="sum"),
        ],
        dtypes=DOUBLE,
        errors=[case(X, Y, tensor(2, low=0.1)), case(X, Y, tensor(3, 4, low=-2, high=-1))],
    ),
    Operator(
        F + "margin_ranking_loss",
        cases=[
            case(X, Y, SIGN),
            case(X, Y, SIGN, margin=0.5),
            case(X, X, SIGN),
            *[reduced_by(kind, X, Y, SIGN) for kind in ("none", "sum")],
        ],
        errors=[case(X, Y, tensor(3))],
    ),
    paired("hinge_embedding_loss", X, SIGN, case(X, SIGN, margin=0.5)),
    Operator(
        F + "cosine_embedding_loss",
        cases=[
            case(X, Y, SIGNS),
            case(X, Y, SIGNS, margin=0.5),
            case(tensor(4), tensor(4), tensor(values=-1, grad=False)),
            reduced_by("none", X, Y, SIGNS),
        ],
        errors=[case(X, Y, tensor(3, 4))],
    ),
    Operator(
        F + "triplet_margin_loss",
        cases=[
            case(X, Y, tensor(3, 4, low=-1.0)),
            case(X, Y, tensor(3, 4), margin=0.5, p=1, swap=True),
            case(X, Y, tensor(3, 4), margin=2.0, p=3, reduction="none"),
            case(tensor(4), tensor(4), tensor(4), reduction="sum"),
        ],
        errors=[case(X, Y, tensor(4)), case(X, Y, tensor(3, 5))],
    ),
    Operator(
        F + "triplet_margin_with_distance_loss",
        cases=[
            case(X, Y, tensor(3, 4, low=-1.0)),
            case(X, Y, tensor(3, 4), margin=2.0, swap=True, reduction="none"),
        ],
    ),
    Operator(
        F + "multi_margin_loss",
        cases=[
            case(X, LABELS),
            case(X, LABELS, p=2, margin=0.5, weight=W),
            case(tensor(4), tensor(dtype="int64", values=2), reduction="sum"),
            reduced_by("none", X, LABELS),
        ],
        errors=[case(X, LABELS, p=3), case(X, tensor(3, dtype="int64", values=[0, 4, 1]))],
        second_grad=False,
    ),
    Operator(
        F + "multilabel_margin_loss",
        cases=[
            case(X, tensor(3, 4, dtype="int64", values=[3, 0, -1, 1, -1, 0, 1, 2, 2, 1, 0, 3])),
            case(tensor(3), tensor(3, dtype="int64", values=[2, -1, 0]), reduction="none"),
        ],
        errors=[case(X, tensor(3, dtype="int64"))],
        second_grad=False,
    ),
    paired(
        "multilabel_soft_margin_loss",
        X,
        tensor(3, 4, low=0.0, high=1.0, grad=False),
        case(X, tensor(3, 4, low=0.0, high=1.0, grad=False), W),
    ),
    Operator(
        F + "cosine_similarity",
        cases=[
            case(X, Y),
            case(X, tensor(4), dim=-1),
            case(X, Y, 0, 2.0),
            case(X, tensor(3, 4, values=[0] * 4 + [1] * 8)),
            case(tensor(2, 1, 3), tensor(4, 3), dim=2),
            case(tensor(), tensor(), dim=0),
        ],
        dtypes=DOUBLE,
        errors=[case(X, tensor(3)), case(X, Y, 2)],
    ),
    Operator(
        F + "pairwise_distance",
        cases=[
            case(X, Y),
            case(X, tensor(4), p=1, keepdim=True),
            case(X, Y, 3),
            case(X, Y, float("inf")),
            case(tensor(4), tensor(4), 2, 0.0),
            case(tensor(), tensor(), keepdim=True),
            case(X, X, 2, 0.0),
        ],
        dtypes=DOUBLE,
    ),
    Operator(
        F + "normalize",
        cases=[
            case(X),
            case(tensor(2, 3, 2), dim=-1),
            case(X, p=1, dim=0),
            case(X, p=3),
            case(tensor(2, 3, values=[0, 0, 0, 1, 2, 3])),
            case(tensor(), dim=-1),
            case(tensor(2, 3, dtype="complex64")),
        ],
        dtypes=DOUBLE,
        errors=[case(X, dim=2)],
    ),
    Operator(
        F + "ctc_loss",
        cases=[
            case(EMISSIONS, WORDS, (5, 4), (3, 2)),
            case(EMISSIONS, WORDS, (5, 4), (3, 2), blank=3, reduction="none"),
            case(EMISSIONS, tensor(5, dtype="int64", values=[1, 2, 2, 3, 1]), (5, 5), (3, 2)),
            case(EMISSIONS, WORDS, (5, 2), (3, 2), reduction="sum", zero_infinity=True),
            case(EMISSIONS, WORDS, (5, 2), (0, 1), reduction="sum"),
            case(EMISSIONS, WORDS, (0, 5), (0, 2), reduction="none"),
            case(EMISSIONS, WORDS, (0, 5), (2, 2), reduction="sum", zero_infinity=True),
            case(EMISSIONS, tensor(0, dtype="int64"), (5, 5), (0, 0)),
            case(EMISSIONS, WITH_BLANKS, (5, 5), (3, 3), reduction="none"),
            case(
                tensor(5, 4, low=-3.0, high=0.0),
                tensor(2, dtype="int64", values=[1, 3]),
                tensor(dtype="int64", values=5),
                tensor(dtype="int64", values=2),
            ),
        ],
        large=case(
            tensor(31, 2, 131, low=-3.0, high=0.0),
            tensor(2, 5, dtype="int64", values=[[1, 130, 2, 2, 3], [7, 9, 7, 1, 0]]),
            (31, 17),
            (5, 4),
        ),
        dtypes=DOUBLE,
        errors=[
            case(EMISSIONS, WORDS, (6, 4), (3, 2)),
            case(EMISSIONS, WORDS, (5, 4), (3, 2), blank=4),
            case(EMISSIONS, WORDS, (5,), (3, 2)),
        ],
        second_grad=False,
    ),
]
