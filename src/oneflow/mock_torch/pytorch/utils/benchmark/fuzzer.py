"""``torch.utils.benchmark.Fuzzer``: random sizes, layouts and tensors to measure with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow.base.dtype import DType

_ATTEMPTS = 1000


class ParameterAlias:
    """A value of a distribution that stands for the value of another parameter.

    Args:
        alias_to: the name of that parameter.
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number to draw.

    Args:
        name: its name for tensors and constraints.
        minval: the least value.
        maxval: the largest value.
        distribution: ``"uniform"``, ``"loguniform"``, or a dict from values to probabilities.
        strict: whether it is drawn once, however often the others have to be drawn again.

    Raises:
        AssertionError: the distribution is none of these, or a dict beside limits, or its
            probabilities are negative or do not sum to one.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self.name, self.strict = name, strict
        self._low, self._high, self._distribution = minval, maxval, distribution
        if isinstance(distribution, dict):
            probabilities = list(distribution.values())
            if min(probabilities) < 0 or abs(sum(probabilities) - 1) > 1e-5:
                raise AssertionError(f"probabilities must sum to one, got {probabilities}")
            if minval is not None or maxval is not None:
                raise AssertionError("`minval` and `maxval` have no meaning beside probabilities")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")

    def sample(self, state: np.random.RandomState) -> Any:
        """Draw a value."""
        low, high = self._low, self._high
        if isinstance(self._distribution, dict):
            values, probabilities = zip(*self._distribution.items(), strict=True)
            return values[state.choice(np.arange(len(values)), p=probabilities)]
        if low is None or high is None:
            raise ValueError(f"parameter {self.name!r} must have `minval` and `maxval`")
        if self._distribution == "loguniform":
            number = int(2 ** state.uniform(low=np.log2(low), high=np.log2(high)))
            return min(max(number, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low=low, high=high + 1))
        return state.uniform(low=low, high=high)


class FuzzedTensor:
    """A tensor to make, of sizes that are numbers or names of parameters.

    Args:
        name: its name among those of `Fuzzer.take`.
        size: its sizes.
        steps: the steps between its elements along each dimension of a larger tensor.
        probability_contiguous: that of the usual order of dimensions in memory.
        min_elements: the least number of elements.
        max_elements: the largest number of elements.
        max_allocation_bytes: the largest number of bytes of the larger tensor.
        dim_parameter: the parameter that says how many of the sizes count.
        roll_parameter: accepted.
        dtype: its dtype.
        cuda: whether it lies on a GPU.
        tensor_constructor: makes the larger tensor of `size`, `dtype` and all parameters.
    """

    def __init__(
        self,
        name: str,
        size: Sequence[str | int],
        steps: Sequence[str | int] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: DType = flow.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        self.name = name
        self._size, self._steps, self._dim_parameter = (
            tuple(size),
            tuple(steps or ()),
            dim_parameter,
        )
        self._probability_contiguous = probability_contiguous
        self._elements = (min_elements, max_elements)
        self._most_bytes = max_allocation_bytes
        self._dtype, self._cuda, self._constructor = dtype, cuda, tensor_constructor

    @staticmethod
    def default_tensor_constructor(size: Sequence[int], dtype: DType, **kwargs: Any) -> Tensor:
        """Return a tensor of random numbers from 0 to 1, or of integers from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return flow.rand(tuple(size), dtype=dtype)
        return flow.randint(1, 127, tuple(size), dtype=dtype)

    def _sizes(self, params: dict[str, Any]) -> tuple[list[int], list[int]]:
        """Return sizes and steps; what is missing up to the number of dimensions is 1."""
        count = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]
        named: dict[Any, Any] = params
        rows = [[named.get(x, x) for x in row][:count] for row in (self._size, self._steps)]
        size, steps = (row + [1] * (count - len(row)) for row in rows)
        return size, steps

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Return whether the numbers of elements and bytes are within the limits."""
        size, steps = self._sizes(params)
        elements, (least, most) = math.prod(size), self._elements
        size_in_bytes = elements * math.prod(steps) * self._dtype.itemsize
        return (
            (least is None or elements >= least)
            and (most is None or elements <= most)
            and (self._most_bytes is None or size_in_bytes <= self._most_bytes)
        )

    def make_tensor(
        self, params: dict[str, Any], state: np.random.RandomState
    ) -> tuple[Tensor, dict[str, Any]]:
        """Make the tensor, and describe it."""
        size, steps = self._sizes(params)
        whole = tuple([length * step for length, step in zip(size, steps, strict=True)])
        construct = self._constructor or self.default_tensor_constructor
        tensor = construct(size=whole, dtype=self._dtype, **params)
        tensor = tensor.cuda() if self._cuda else tensor
        order = unchanged = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and np.array_equal(order, unchanged):
                order = state.permutation(tensor.dim())
            tensor = tensor.permute(order.tolist()).contiguous()
            tensor = tensor.permute(np.argsort(order).tolist())
        parts = zip(whole, steps, strict=True)
        tensor = tensor[tuple([slice(0, length, step) for length, step in parts])]
        return tensor, {
            "numel": tensor.numel(),
            "order": order,
            "steps": tuple(steps),
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }


class Fuzzer:
    """A source of random tensors.

    Args:
        parameters: the numbers to draw, or lists of them.
        tensors: the tensors to make, or lists of them.
        constraints: functions of all parameters by name; all must be true.
        seed: the seed of all that is drawn.

    Raises:
        ValueError: a tensor has the name of a parameter.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
        >>> length = FuzzedParameter("n", 4, 8, distribution="uniform")
        >>> fuzzer = Fuzzer([length], [FuzzedTensor("x", ("n", 2))], seed=0)
        >>> [tuple(tensors["x"].shape) == (params["n"], 2) for tensors, _, params in fuzzer.take(2)]
        [True, True]
    """

    def __init__(
        self,
        parameters: Sequence[FuzzedParameter | Sequence[FuzzedParameter]],
        tensors: Sequence[FuzzedTensor | Sequence[FuzzedTensor]],
        constraints: Sequence[Callable[..., bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        drawn = np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)
        self._seed = int(drawn) if seed is None else seed
        self._parameters, self._tensors = _flat(parameters), _flat(tensors)
        self._constraints = tuple(constraints or ())
        self._rejections = self._attempts = 0
        common = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if common:
            raise ValueError(f"parameters and tensors must have different names, got {common}")

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, Any], dict[str, Any]]]:
        """Yield `n` times tensors, their descriptions and the parameters, each by name."""
        state = np.random.RandomState(self._seed)
        flow.manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._draw(state)
            rows = {tensor.name: tensor.make_tensor(params, state) for tensor in self._tensors}
            tensors = {name: tensor for name, (tensor, _) in rows.items()}
            yield tensors, {name: text for name, (_, text) in rows.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of draws that were not within the limits."""
        return self._rejections / self._attempts if self._attempts else 0.0

    def _draw(self, state: np.random.RandomState) -> dict[str, Any]:
        strict: dict[str, Any] = {}
        for _ in range(_ATTEMPTS):
            params: dict[str, Any] = {}
            for parameter in self._parameters:
                if parameter.name not in strict:
                    params[parameter.name] = parameter.sample(state)
                    if parameter.strict:
                        strict[parameter.name] = params[parameter.name]
                else:
                    params[parameter.name] = strict[parameter.name]
            params = _without_aliases(params)
            self._attempts += 1
            if all(holds(params) for holds in self._constraints) and all(
                tensor.satisfies_constraints(params) for tensor in self._tensors
            ):
                return params
            self._rejections += 1
        raise ValueError(f"no parameters within the limits were drawn in {_ATTEMPTS} attempts")


def _flat(values: Sequence[Any]) -> tuple[Any, ...]:
    rows = [value if isinstance(value, list | tuple) else [value] for value in values]
    return tuple(itertools.chain.from_iterable(rows))


def _without_aliases(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with the values that aliases stand for.

    Raises:
        ValueError: aliases stand for each other.
    """
    for name in params:
        path = {name}
        while isinstance(alias := params[name], ParameterAlias):
            if alias.alias_to in path:
                raise ValueError(f"aliases of parameters must not stand for each other: {params}")
            path.add(alias.alias_to)
            params[name] = params[alias.alias_to]
    return params
