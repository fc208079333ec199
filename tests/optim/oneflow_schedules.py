"""Schedules, and the learning rates that OneFlow 0.9.0 has trained with under them.

They were read from the steps of a parameter whose gradient is 1, in a graph; for schedules that
OneFlow refuses in graphs, in eager mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import oneflow as flow
from oneflow.optim.lr_scheduler import LRScheduler

L = flow.optim.lr_scheduler
STEPS = 10


class Row(NamedTuple):
    """A schedule.

    Attributes:
        make: the schedule of an optimizer.
        rates: the learning rates of the first steps, from a base of 1.
        small_rates: those of a group with a base of 0.2 beside one of 1; None if OneFlow refuses
            such groups.
    """

    make: Callable[[flow.optim.Optimizer], LRScheduler]
    rates: list[float]
    small_rates: list[float] | None


ROWS = {
    "StepLR": Row(
        lambda o: L.StepLR(o, 3, 0.5),
        [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125],
        [0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025],
    ),
    "MultiStepLR": Row(
        lambda o: L.MultiStepLR(o, [2, 5], 0.3),
        [1.0, 1.0, 0.3, 0.3, 0.3, 0.09, 0.09, 0.09, 0.09, 0.09],
        [0.2, 0.2, 0.06, 0.06, 0.06, 0.018, 0.018, 0.018, 0.018, 0.018],
    ),
    "ExponentialLR": Row(
        lambda o: L.ExponentialLR(o, 0.9),
        [1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.478297, 0.430467, 0.387421],
        [0.2, 0.18, 0.162, 0.1458, 0.13122, 0.118098, 0.106288, 0.095659, 0.086093, 0.077484],
    ),
    "ConstantLR": Row(
        lambda o: L.ConstantLR(o, 0.5, 4),
        [0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
    ),
    "LinearLR": Row(
        lambda o: L.LinearLR(o, 0.25, 0.75, 5),
        [0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.75, 0.75, 0.75, 0.75],
        [0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.15, 0.15, 0.15, 0.15],
    ),
    "CosineDecayLR": Row(
        lambda o: L.CosineDecayLR(o, 6, 0.1),
        [1.0, 0.939711, 0.775, 0.55, 0.325, 0.160289, 0.1, 0.1, 0.1, 0.1],
        [0.2, 0.187942, 0.155, 0.11, 0.065, 0.032058, 0.02, 0.02, 0.02, 0.02],
    ),
    "CosineAnnealingLR": Row(
        lambda o: L.CosineAnnealingLR(o, 5, 0.05),
        [1.0, 0.909283, 0.671783, 0.378217, 0.140717, 0.05, 0.140717, 0.378217, 0.671783, 0.909283],
        [0.2, 0.185676, 0.148176, 0.101824, 0.064324, 0.05, 0.064324, 0.101824, 0.148176, 0.185676],
    ),
    "CosineAnnealingWarmRestarts": Row(
        lambda o: L.CosineAnnealingWarmRestarts(o, 3, 1, 0.01),
        [1.0, 0.7525, 0.2575, 1.0, 0.7525, 0.2575, 1.0, 0.7525, 0.2575, 1.0],
        [0.2, 0.1525, 0.0575, 0.2, 0.1525, 0.0575, 0.2, 0.1525, 0.0575, 0.2],
    ),
    "CosineAnnealingWarmRestarts with decay": Row(
        lambda o: L.CosineAnnealingWarmRestarts(o, 2, 2, 0.01, 0.5, 2),
        [1.0, 0.505, 0.5, 0.428241, 0.255, 0.081759, 0.01, 0.01, 0.01, 0.01],
        [0.2, 0.105, 0.1, 0.08682, 0.055, 0.02318, 0.01, 0.01, 0.01, 0.01],
    ),
    "PolynomialLR": Row(
        lambda o: L.PolynomialLR(o, 6, 0.1, 2.0),
        [1.0, 0.725, 0.5, 0.325, 0.2, 0.125, 0.1, 0.1, 0.1, 0.1],
        [0.2, 0.169444, 0.144444, 0.125, 0.111111, 0.102778, 0.1, 0.1, 0.1, 0.1],
    ),
    "PolynomialLR in cycles": Row(
        lambda o: L.PolynomialLR(o, 4, 0.1, 1.0, True),
        [0.775, 0.775, 0.55, 0.325, 0.1, 0.4375, 0.325, 0.2125, 0.1, 0.325],
        [0.175, 0.175, 0.15, 0.125, 0.1, 0.1375, 0.125, 0.1125, 0.1, 0.125],
    ),
    "LambdaLR": Row(
        lambda o: L.LambdaLR(o, lambda s: 0.9**s),
        [1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.478297, 0.430467, 0.387421],
        [0.2, 0.18, 0.162, 0.1458, 0.13122, 0.118098, 0.106288, 0.095659, 0.086093, 0.077484],
    ),
    "SequentialLR": Row(
        lambda o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], [2]),
        [0.1, 0.1, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.478297, 0.430467, 0.387421],
        [0.02, 0.02, 0.162, 0.1458, 0.13122, 0.118098, 0.106288, 0.095659, 0.086093, 0.077484],
    ),
    "SequentialLR rescaled": Row(
        lambda o: L.SequentialLR(
            o, [L.LinearLR(o, 0.1, 1.0, 3), L.CosineAnnealingLR(o, 6)], [3], True
        ),
        [0.1, 0.4, 0.7, 1.0, 0.933013, 0.75, 0.5, 0.25, 0.066988, 0.0],
        [0.02, 0.08, 0.14, 0.2, 0.186603, 0.15, 0.1, 0.05, 0.013397, 0.0],
    ),
    "WarmUpLR": Row(
        lambda o: L.WarmUpLR(o, 0.5, 3),
        [0.5, 0.666667, 0.833333, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.1, 0.133333, 0.166667, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
    ),
    "WarmUpLR constant": Row(
        lambda o: L.WarmUpLR(o, 0.5, 3, "constant"),
        [0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2],
    ),
    "WarmUpLR before CosineDecayLR": Row(
        lambda o: L.WarmUpLR(L.CosineDecayLR(o, 8, 0.1), 0.5, 3),
        [0.5, 0.574069, 0.648138, 0.722208, 0.55, 0.377792, 0.231802, 0.134254, 0.1, 0.1],
        None,
    ),
    "WarmUpLR as a prefix": Row(
        lambda o: L.WarmUpLR(L.CosineDecayLR(o, 8, 0.1), 0.5, 3, "linear", True),
        [0.5, 0.666667, 0.833333, 1.0, 0.965746, 0.868198, 0.722208, 0.55, 0.377792, 0.231802],
        [0.1, 0.133333, 0.166667, 0.2, 0.193149, 0.17364, 0.144441, 0.11, 0.075559, 0.04636],
    ),
    "WarmUpLR constant before StepLR": Row(
        lambda o: L.WarmUpLR(L.StepLR(o, 2, 0.5), 0.5, 3, "constant"),
        [0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625],
        [0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125, 0.0125],
    ),
    "ChainedScheduler": Row(
        lambda o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)]),
        [0.1, 0.09, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.478297, 0.430467, 0.387421],
        [0.02, 0.018, 0.162, 0.1458, 0.13122, 0.118098, 0.106288, 0.095659, 0.086093, 0.077484],
    ),
}
