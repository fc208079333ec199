"""State dicts of optimizers as OneFlow 0.5 to 1.0 wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OPTIONS = "_options"
_NAMES = {
    "momentum_buf": "momentum_buffer",
    "square_avgs": "square_avg",
    "acc_deltas": "acc_delta",
}
# Numbers that a step computed and left among the options.
_COMPUTED = ("bias_correction1", "bias_correction2")


def from_oneflow_layout(state_dict: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state dict in PyTorch's layout; one that is not in OneFlow's as it is.

    There options are in a dict of their own in each group, and one count of steps stands beside
    the states of all parameters.

    Example:
        >>> from oneflow.optim.oneflow_layout import from_oneflow_layout
        >>> group = {"_options": {"lr": 0.1}, "_enable_clip_grad": False, "params": [0]}
        >>> state = {"step": 3, 0: {"momentum_buf": 1.0}}
        >>> converted = from_oneflow_layout({"state": state, "param_groups": [group]})
        >>> converted["state"], converted["param_groups"]
        ({0: {'step': 3, 'momentum_buffer': 1.0}}, [{'lr': 0.1, 'params': [0]}])
    """
    groups = state_dict["param_groups"]
    if not any(_OPTIONS in group for group in groups):
        return state_dict
    states = dict(state_dict["state"])
    counts = {"step": states.pop("step")} if "step" in states else {}
    return {
        "state": {
            key: {**counts, **{_NAMES.get(name, name): value for name, value in state.items()}}
            for key, state in states.items()
        },
        "param_groups": [
            {
                **{n: value for n, value in group[_OPTIONS].items() if n not in _COMPUTED},
                "params": group["params"],
            }
            for group in groups
        ],
    }
