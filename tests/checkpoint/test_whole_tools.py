"""Whole scalers of gradients and loaders travel in files in both directions."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.checkpoint.both_libraries import travelled
from tests.in_place import in_place_of

OURS = in_place_of("torch")
WAYS = [(torch, OURS), (OURS, torch), (OURS, OURS)]


def _scaled_steps(writer: Any, reader: Any, *, is_enabled: bool) -> list[Any]:
    scaler: Any = writer.amp.GradScaler(
        "cpu", init_scale=2.0**10, growth_interval=2, growth_factor=4.0, enabled=is_enabled
    )
    library, values = writer, [1.0, -2.0]
    results: list[Any] = []
    for step in range(7):
        if step == 3:
            scaler, library = travelled(scaler, writer, reader), reader
        parameter = library.nn.Parameter(library.tensor(values))
        optimizer = library.optim.SGD([parameter], lr=0.1)
        loss = (parameter * parameter).sum() * (float("inf") if step == 4 else 1.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        values = parameter.tolist()
        results.append([*values, scaler.get_scale()])
    assert scaler.is_enabled() is is_enabled
    return [results, scaler.state_dict()]


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_scalers_travel_and_go_on(writer: Any, reader: Any, is_enabled: bool) -> None:
    expected = _scaled_steps(torch, torch, is_enabled=is_enabled)
    steps, state = _scaled_steps(writer, reader, is_enabled=is_enabled)
    torch.testing.assert_close(torch.tensor(steps), torch.tensor(expected[0]), equal_nan=True)
    if is_enabled:
        assert state == expected[1]


def test_a_scaler_between_step_and_update_is_not_saved() -> None:
    parameter = OURS.nn.Parameter(OURS.ones(1))
    optimizer, scaler = OURS.optim.SGD([parameter], lr=0.1), OURS.amp.GradScaler("cpu")
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="after `update`"):
        OURS.save(scaler, io.BytesIO())


class _Numbers:
    def __len__(self) -> int:
        return 7

    def __getitem__(self, index: int) -> float:
        return index / 2


def _stream(library: Any) -> Any:
    return library.utils.data.ChainDataset([])


def _doubled(samples: list[Any]) -> list[Any]:
    return [2 * sample for sample in samples]


def _tensors(library: Any) -> Any:
    return library.utils.data.TensorDataset(library.arange(10.0).reshape(5, 2))


LOADERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "tensors": lambda library: {"dataset": _tensors(library), "batch_size": 2},
    "the rest left out": lambda library: {
        "dataset": _Numbers(),
        "batch_size": 3,
        "drop_last": True,
        "num_workers": 0,
    },
    "no batches": lambda library: {"dataset": _Numbers(), "batch_size": None},
    "collated": lambda library: {"dataset": _Numbers(), "batch_size": 4, "collate_fn": _doubled},
    "chosen batches": lambda library: {
        "dataset": _Numbers(),
        "batch_sampler": library.utils.data.BatchSampler(
            library.utils.data.SequentialSampler(_Numbers()), 5, False
        ),
    },
    "a part": lambda library: {
        "dataset": library.utils.data.Subset(_tensors(library), [3, 1]),
        "batch_size": 1,
    },
    "a stream": lambda library: {"dataset": _stream(library), "batch_size": 2},
    "a stream without batches": lambda library: {"dataset": _stream(library), "batch_size": None},
}


def _as_lists(batches: Iterator[Any]) -> list[Any]:
    def plain(value: Any) -> Any:
        return [plain(part) for part in value] if isinstance(value, list) else _number(value)

    return [plain(batch) for batch in batches]


def _number(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_loaders_travel(writer: Any, reader: Any, name: str) -> None:
    expected = _as_lists(torch.utils.data.DataLoader(**LOADERS[name](torch)))
    loader = travelled(writer.utils.data.DataLoader(**LOADERS[name](writer)), writer, reader)
    assert isinstance(loader, reader.utils.data.DataLoader)
    assert _as_lists(loader) == expected
    assert _as_lists(loader) == expected


@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_loaders_in_random_order_travel(writer: Any, reader: Any) -> None:
    loader = writer.utils.data.DataLoader(_Numbers(), batch_size=2, shuffle=True)
    loader = travelled(loader, writer, reader)
    numbers = [number for batch in loader for number in batch.tolist()]
    assert sorted(numbers) == [index / 2 for index in range(7)]
