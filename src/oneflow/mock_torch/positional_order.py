"""Positional arguments in PyTorch's order, where OneFlow documents another one."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.mock_torch.pickle_paths import pickle_by_path
from oneflow.tensor.tensor import Tensor

_OLD = "| size_average reduce reduction"
_CLOSE = "input other | rtol atol equal_nan"
_POOL = "input kernel_size stride padding dilation | ceil_mode return_indices"
_POOL_ARGUMENTS = {f"max_pool{n}d{end}": _POOL for n in (1, 2, 3) for end in ("", "_with_indices")}
_SOFTMAX = "input dim | -_stacklevel=3 dtype"
#: PyTorch's order by module and function. Before the bar it is OneFlow's, too; arguments after a
#: minus have no meaning here. Defaults are the function's where it has the argument and nothing
#: else is written, and None for other arguments.
ORDERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "torch": {
            "allclose": _CLOSE,
            "isclose": _CLOSE,
            **_POOL_ARGUMENTS,
            "group_norm": "input num_groups weight bias eps | -cudnn_enabled=True",
            "layer_norm": "input normalized_shape weight bias eps | -cudnn_enable=True",
            "norm": "input p='fro' dim keepdim | out dtype",
            "rrelu": "input lower upper training | generator",
            "tensordot": "a b dims | out",
        },
        "torch.nn.functional": {
            **_POOL_ARGUMENTS,
            "softmax": _SOFTMAX,
            "log_softmax": _SOFTMAX,
            "softmin": _SOFTMAX,
            "gumbel_softmax": "logits tau | hard eps dim=-1",
            "normalize": "input p dim eps | out",
            "binary_cross_entropy": f"input target weight {_OLD}",
            "binary_cross_entropy_with_logits": f"input target weight {_OLD} pos_weight",
            "cosine_embedding_loss": f"input1 input2 target margin {_OLD}",
            "cross_entropy": "input target weight | size_average ignore_index reduce reduction "
            "label_smoothing",
            "hinge_embedding_loss": f"input target margin {_OLD}",
            "kl_div": f"input target {_OLD} log_target",
            "l1_loss": f"input target {_OLD} weight",
            "margin_ranking_loss": f"input1 input2 target margin {_OLD}",
            "mse_loss": f"input target {_OLD} weight",
            "multi_margin_loss": f"input target p margin weight {_OLD}",
            "multilabel_margin_loss": f"input target {_OLD}",
            "multilabel_soft_margin_loss": f"input target weight {_OLD}",
            "nll_loss": "input target weight | size_average ignore_index reduce reduction",
            "poisson_nll_loss": "input target log_input full | size_average eps reduce reduction",
            "smooth_l1_loss": f"input target {_OLD} beta",
            "soft_margin_loss": f"input target {_OLD}",
        },
        "torch.autograd": {
            "grad": "outputs inputs grad_outputs retain_graph=None create_graph | only_inputs "
            "allow_unused is_grads_batched materialize_grads",
        },
        "torch.sparse": {"sum": "input dim | dtype"},
    }
)


@functools.cache
def in_order(
    function: Callable[..., Any], order: str, *, is_method: bool = False
) -> Callable[..., Any]:
    """Return a function whose positional arguments are in another order.

    Args:
        function: the function.
        order: the names of its arguments, and defaults for the signature; a bar ends those that
            keep their places, and names after a minus are not passed on.
        is_method: the order counts only in PyTorch's place.

    Raises:
        TypeError: in calls, there are more arguments than names.

    Example:
        >>> from oneflow.mock_torch.positional_order import in_order
        >>> def divide(x, y, rounding=None, name=""):
        ...     return x / y, rounding, name
        >>> in_order(divide, "x y | name rounding -device")(1, 2, "half", None, "cpu")
        (0.5, None, 'half')
    """
    leading, rest = (part.split() for part in order.split("|"))
    count = len(leading)
    ignored = {name[1:].partition("=")[0] for name in rest if name.startswith("-")}
    moved = [name.lstrip("-").partition("=")[0] for name in rest]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if ignored:
            kwargs = {name: value for name, value in kwargs.items() if name not in ignored}
        if len(args) <= count or (is_method and program_name() != PYTORCH):
            return function(*args, **kwargs)
        if len(args) > count + len(moved):
            raise TypeError(
                f"{function.__name__}() takes at most {count + len(moved)} positional arguments "
                f"but {len(args)} were given"
            )
        pairs = zip(moved, args[count:], strict=False)
        named = {name: value for name, value in pairs if name not in ignored}
        return function(*args[:count], **named, **kwargs)

    if not is_method:
        vars(call)["__signature__"] = _signature(function, leading, rest)
    return call


def _signature(
    function: Callable[..., Any], leading: list[str], rest: list[str]
) -> inspect.Signature:
    """The signature of a function whose positional arguments are these."""
    parameters_by_name = inspect.signature(function).parameters
    by_place = dict(
        zip((name.partition("=")[0] for name in leading), parameters_by_name.values(), strict=False)
    )
    parameters = []
    for entry in [*leading, *rest]:
        name, _, written = entry.lstrip("-").partition("=")
        parameter = parameters_by_name.get(name) or by_place.get(name)
        default = ast.literal_eval(written) if written else parameter.default if parameter else None
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def order_functions(module: str, names: dict[str, Any]) -> None:
    """Replace functions of a module of PyTorch by those that take its order."""
    for name, order in ORDERS.get(module, {}).items():
        if name in names:
            names[name] = in_order(names[name], order)
            pickle_by_path(names[name], module, name)


for _name in ("allclose", "isclose"):
    _method = in_order(vars(Tensor)[_name], _CLOSE, is_method=True)
    _method.__module__, _method.__qualname__ = Tensor.__module__, f"Tensor.{_name}"
    setattr(Tensor, _name, _method)
