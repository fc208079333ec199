"""Activation functions."""

from __future__ import annotations

from tests.samples.table import FLOATS, Operator, case, tensor

# Both sides of every kink, and the kinks.
KINKS = tensor(16, values=[-30, -6, -3, -1, -0.5, -0.1, -0.0, 0, 0.1, 0.5, 1, 2.5, 3, 6, 21, 30])
ANY = (tensor(2, 3), tensor(3, 2, layout="transposed"), tensor(0, 2), tensor(), KINKS)
WHOLE = tensor(2, dtype="int64")
F = "nn.functional."


def smooth(name: str, *settings: dict, **facts) -> Operator:
    """A row for a function of one tensor and settings."""
    cases = [case(ANY[0], **setting) for setting in settings or ({},)]
    cases += [case(sample) for sample in ANY[1:]] + [
        case(KINKS, **setting) for setting in settings[1:]
    ]
    return Operator(name, cases=cases, dtypes=FLOATS, **facts)


OPERATORS = [
    smooth("relu", errors=[case("text")]),
    smooth("sigmoid"),
    smooth("tanh"),
    smooth(F + "relu", {}, {"inplace": False}),
    smooth(F + "relu6", errors=[case("text")]),
    smooth(
        F + "gelu", {}, {"approximate": "tanh"}, errors=[case(WHOLE), case(ANY[0], approximate="?")]
    ),
    smooth(F + "silu", errors=[case(WHOLE)]),
    smooth(F + "mish", errors=[case(WHOLE)]),
    smooth(F + "softplus", {}, {"beta": 2.0, "threshold": 3.0}, errors=[case(WHOLE)]),
    smooth(F + "softsign"),
    smooth(F + "tanhshrink"),
    smooth(F + "logsigmoid", errors=[case(WHOLE)]),
    smooth(F + "elu", {}, {"alpha": 0.7}, errors=[case(WHOLE)]),
    smooth(F + "celu", {}, {"alpha": 0.7}, errors=[case(WHOLE), case(ANY[0], alpha=0)]),
    smooth(F + "selu", errors=[case(WHOLE)]),
    smooth(F + "leaky_relu", {}, {"negative_slope": 0.3}, errors=[case(WHOLE)]),
    smooth(F + "rrelu", {}, {"lower": 0.1, "upper": 0.3}, errors=[case(ANY[0], 0.5, 0.1)]),
    smooth(F + "hardtanh", {}, {"min_val": -0.5, "max_val": 2.5}, errors=[case(ANY[0], 2.0, 1.0)]),
    smooth(F + "hardsigmoid", second_grad=False),
    smooth(F + "hardswish"),
    smooth(F + "hardshrink", {}, {"lambd": 0.1}, errors=[case(WHOLE)]),
    smooth(F + "softshrink", {}, {"lambd": 0.1}, errors=[case(WHOLE), case(ANY[0], -1.0)]),
    Operator(
        F + "threshold",
        cases=[case(KINKS, 0.5, 7.0), case(tensor(2, 3), -1.0, 0.0), case(tensor(), 0.5, 1.0)],
        dtypes=FLOATS,
    ),
    Operator(
        F + "prelu",
        cases=[
            case(tensor(2, 3, 2), tensor(3)),
            case(tensor(2, 3), tensor(1)),
            case(tensor(4), tensor(1)),
            case(tensor(), tensor(1)),
        ],
        dtypes=("float32", "float64"),
        errors=[case(tensor(2, 3), tensor(2)), case(tensor(2, 3), tensor(3, 1))],
    ),
    Operator(
        F + "glu",
        cases=[case(tensor(2, 4)), case(tensor(4, 3), dim=0), case(tensor(4, 2), -2)],
        large=case(tensor(5, 262)),
        dtypes=FLOATS,
        errors=[case(tensor(2, 3)), case(tensor()), case(tensor(2, 4), 2)],
    ),
    *(
        Operator(
            F + name,
            cases=[
                case(tensor(2, 3), dim=1),
                case(tensor(2, 3), -2),
                case(tensor(2, 3, 2)),
                case(tensor(2, values=[float("-inf"), 0]), dim=0),
                case(tensor(2, values=[1000, -1000]), dim=0),
                case(tensor(), dim=0),
                case(tensor(0, 2), dim=1),
            ],
            dtypes=FLOATS,
            errors=[case(tensor(2, 3), 2)],
        )
        for name in ("softmax", "log_softmax", "softmin")
    ),
]
