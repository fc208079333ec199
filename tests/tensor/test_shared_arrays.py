"""Arrays and tensors in one memory: each program prints what it prints on PyTorch."""

from __future__ import annotations

import copy
import gc
import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.mock_torch
from oneflow.tensor import host_memory

LARGE = host_memory._LARGE


def _written_by_numpy(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    array[0] = 3
    return tensor.tolist()[0], tensor[0].tolist(), tensor.max()


def _written_by_the_tensor(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    tensor.add_(2)
    tensor[1] = 7
    tensor[2:4].mul_(3)
    return array


def _views(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    rows, column = tensor[1:3], tensor.t()[1]
    before = rows.sum()
    array[2] = 5
    rows[0] = 9
    column += 1
    return before, rows, column, array, tensor.t().reshape(-1)[:20], tensor.flatten()[4:9]


def _element(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    element = tensor[1, 1]
    array[1, 1] = 8
    return element.item(), bool(element == 8), element + 1


def _values_computed_before(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    before = tensor * 2 + tensor
    array[:] = 4
    return before, tensor * 2


def _array_that_is_gone(torch: Any, array: np.ndarray) -> Any:
    own = array.copy()
    tensor = torch.from_numpy(own)
    row, other = tensor[1], tensor[2]
    row.sum()
    own[1:] = 6
    own.fill(2)
    del own
    gc.collect()
    other += 1
    return tensor, row, other


def _two_tensors_of_an_array(torch: Any, array: np.ndarray) -> Any:
    one, other = torch.from_numpy(array), torch.as_tensor(array)
    one.mul_(2)
    other.add_(1)
    return one, other, array


def _part_of_an_array(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array[1:, ::2])
    tensor.sub_(1)
    array[1, 0] = 12
    return tensor, array, tensor[0, :2]


def _parameter(torch: Any, array: np.ndarray) -> Any:
    parameter = torch.nn.Parameter(torch.from_numpy(array))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    for _ in range(3):
        (parameter * 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        array[0] += 1
    return array, parameter


def _layer(torch: Any, array: np.ndarray) -> Any:
    layer = torch.nn.Linear(array.shape[1], array.shape[0], bias=False)
    layer.weight.data = torch.from_numpy(array)
    ones = torch.ones(1, array.shape[1])
    first = layer(ones)
    array[:] = 1
    return first, layer(ones)


def _gradient_of_a_view(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array).requires_grad_()
    row = tensor[1] * 2
    array[1] = 3
    (row + tensor[1]).sum().backward()
    return tensor.grad, tensor[1]


def _buffer(torch: Any, array: np.ndarray) -> Any:
    memory = bytearray(16)
    tensor = torch.frombuffer(memory, dtype=torch.float32, offset=4)
    tensor[0] = 1
    memory[8:12] = memory[4:8]
    return tensor, list(memory), torch.asarray(memory, dtype=torch.int32)


def _asarray(torch: Any, array: np.ndarray) -> Any:
    shared, own = torch.asarray(array, copy=False), torch.asarray(array, copy=True)
    shared += 1
    return array, own, torch.asarray(array, dtype=torch.float64)


def _copies(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    own, clone, other = torch.tensor(array), tensor.clone(), tensor.double()
    array[0] = 5
    return own, clone, other


def _deep_copy(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    row = tensor[1]
    array[1] = 5
    one, other = copy.deepcopy((tensor, row))
    array[1] = 6
    other += 1
    return one, other, tensor.untyped_storage().tolist()[:48]


def _array_of_a_tensor(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.tensor(array)
    numbers = tensor.numpy()
    numbers[0] = 2
    tensor.add_(1)
    part = tensor[1].detach().numpy()
    part[0] = 100
    return tensor, numbers, np.asarray(tensor), part


def _array_of_a_parameter(torch: Any, array: np.ndarray) -> Any:
    layer = torch.nn.Linear(2, 2)
    layer.weight.detach().numpy()[...] = [[1, 2], [3, 4]]
    layer.bias.data.numpy()[...] = 0
    return layer(torch.ones(1, 2))


def _array_of_an_array(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    tensor.t().numpy()[0, 1] = 30
    tensor[1:].numpy()[0, 0] = 40
    return array, tensor.numpy().ctypes.data == array.ctypes.data


def _resized(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    with pytest.raises(RuntimeError, match="not resizable"):
        tensor.resize_(array.size + 1)
    tensor.resize_(2, 2)
    tensor.fill_(3)
    return array, tensor


def _address(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    row = tensor[1].data_ptr() - array.ctypes.data
    return tensor.data_ptr() == array.ctypes.data, row, tensor.is_set_to(tensor)


def _elements_of_parts(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    reads = []
    for number in range(3):  # the second time views are known
        array[2, 1] = number
        part, row = tensor[1:4, 1:][1, 0], tensor[2][1]
        reads += [part.item(), float(row), (row * 2).tolist(), bool(part == row), int(part)]
    return reads


def _writes_to_detached_parts(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    row, column = tensor[3].detach(), tensor.t()[1].data
    array[:2] = 7
    row.add_(1)
    array[2:3] = 8
    row[0] = 5
    column[:1] = 6
    return array, tensor


def _writes_of_both(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    overlapping = tensor[3:4].detach().expand(3, 4)
    array[1] = 7
    overlapping[0].fill_(2)
    tensor[2] = 0
    array[2, 1] = float("nan")
    tensor[2, 2] += 1
    return np.nan_to_num(array), torch.nan_to_num(tensor)


def _saved(torch: Any, array: np.ndarray) -> Any:
    tensor = torch.from_numpy(array)
    part = tensor[1:3].detach()
    before = part.sum()
    array[:] = 3
    buffer = io.BytesIO()
    torch.save([tensor, part], buffer)
    buffer.seek(0)
    return before, *torch.load(buffer)


def _array_of_another_order(torch: Any, array: np.ndarray) -> Any:
    results = []
    for other in (array.T, array[::2, 1:], np.asfortranarray(array), array.T[1:3]):
        tensor = torch.from_numpy(other)
        tensor[1].numpy()[:] = 50
        tensor[0, 1] = 4
        part = tensor[1:, 1:].numpy()
        part[0] += 1
        results += [tensor, other.copy(), tensor.t()[1]]
    return (*results, array)


PROGRAMS = (
    _elements_of_parts,
    _writes_to_detached_parts,
    _writes_of_both,
    _saved,
    _array_of_another_order,
    _written_by_numpy,
    _written_by_the_tensor,
    _views,
    _element,
    _values_computed_before,
    _array_that_is_gone,
    _two_tensors_of_an_array,
    _part_of_an_array,
    _parameter,
    _layer,
    _gradient_of_a_view,
    _buffer,
    _asarray,
    _copies,
    _deep_copy,
    _array_of_a_tensor,
    _array_of_a_parameter,
    _array_of_an_array,
    _resized,
    _address,
)


def _plain(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    return result.tolist() if hasattr(result, "tolist") else result


@pytest.fixture(params=[4, LARGE // 16], ids=["small", "large"])
def array(request: pytest.FixtureRequest) -> np.ndarray:
    """Numbers of a memory that is looked at as a whole, or part by part."""
    return np.arange(request.param * 4, dtype=np.float32).reshape(request.param, 4)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__[1:])
def test_programs_see_what_they_see_on_pytorch(
    program: Callable[[Any, np.ndarray], Any], array: np.ndarray
) -> None:
    expected = _plain(program(torch, array.copy()))
    with oneflow.mock_torch.enable():
        import torch as mocked

        assert _plain(program(mocked, array)) == expected


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16", "float64", "complex64"])
def test_all_dtypes_are_shared(dtype: str) -> None:
    array = np.zeros(5, dtype)
    tensor = flow.from_numpy(array)
    array[1] = 1
    tensor[3:] = 1
    assert array.tolist() == tensor.tolist() == np.array([0, 1, 0, 1, 1], dtype).tolist()


@pytest.mark.parametrize(
    "options", [{"offset": -4}, {"offset": 12}, {"offset": 6}, {"count": 0}, {"count": 4}]
)
def test_parts_that_a_buffer_does_not_have_are_refused(options: dict[str, int]) -> None:
    for library in (torch, flow):
        with pytest.raises(ValueError, match=r"buffer|bytes"):
            library.frombuffer(bytearray(12), dtype=library.int32, **options)


def test_an_array_for_reading_is_copied() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    tensor = flow.from_numpy(array)
    tensor += 1
    assert array.tolist() == [0, 0, 0]
    assert tensor.tolist() == [1, 1, 1]


def test_arrays_of_tensors_are_copies_in_programs_of_oneflow() -> None:
    tensor = flow.zeros(3)
    array = tensor.numpy()
    array[0] = 1
    tensor[1] = 2
    assert array.tolist() == [1, 0, 0]
    assert tensor.tolist() == [0, 2, 0]


def test_a_memory_that_nobody_else_has_is_not_looked_at() -> None:
    tensor = flow.from_numpy(np.ones(3))
    assert tensor._family is not None
    assert tensor._family.storage.host is not None
    assert (tensor + 1).tolist() == [2, 2, 2]
    assert tensor._family.storage.host is None


def test_a_graph_reads_and_writes_the_memory() -> None:
    weight, data = np.ones(3, np.float32), np.ones(3, np.float32)

    class Scaled(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.layer = flow.nn.Module()
            self.layer.weight = flow.nn.Parameter(flow.from_numpy(weight))
            self.layer.weight.requires_grad_(False)

        def build(self, x: flow.Tensor) -> flow.Tensor:
            self.layer.weight.add_(1)
            return x * self.layer.weight

    graph, x = Scaled(), flow.from_numpy(data)
    assert graph(x).tolist() == [2, 2, 2]
    data[:] = 5
    assert weight.tolist() == [2, 2, 2]
    weight[0] = 10
    assert graph(x).tolist() == [55, 15, 15]
    assert weight.tolist() == [11, 3, 3]


def test_threads_write_to_parts_of_one_memory() -> None:
    array = np.zeros((8, 4))
    tensor = flow.from_numpy(array)

    def fill(row: int) -> None:
        for _ in range(20):
            tensor[row] += 1

    threads = [threading.Thread(target=fill, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array.tolist() == tensor.tolist() == np.full((8, 4), 20).tolist()


def test_a_failed_write_changes_neither() -> None:
    array = np.arange(3.0)
    tensor = flow.from_numpy(array)
    with pytest.raises(IndexError):
        tensor[flow.tensor([0, 7])] = 9.0
    assert array.tolist() == tensor.tolist() == [0, 1, 2]


@pytest.mark.multiprocess
def test_workers_of_a_loader_read_the_memory() -> None:
    array = np.arange(32.0).reshape(8, 4)
    dataset = flow.utils.data.TensorDataset(flow.from_numpy(array))
    array[0] = 50
    loader = flow.utils.data.DataLoader(dataset, batch_size=4, num_workers=1)
    assert [batch[0].tolist() for batch in loader] == [array[:4].tolist(), array[4:].tolist()]
