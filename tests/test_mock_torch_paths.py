"""Names of PyTorch that libraries import by other paths: one object for each, as in PyTorch."""

from __future__ import annotations

import importlib
import inspect
from functools import partial

import pytest
import torch
import torch.futures
import torch.jit
import torch.nn.parallel.scatter_gather
import torch.quasirandom
from torch.utils.flop_counter import FlopCounterMode as TheirFlopCounterMode

import oneflow as flow
from oneflow.mock_torch.paths import ALIASES
from tests.in_place import in_place_of

# The modules under whose names PyTorch's users find what others define.
PUBLIC = (
    "torch",
    "torch.nn",
    "torch.nn.utils",
    "torch.optim",
    "torch.autograd",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.distributed",
    "torch.distributions",
    "torch.utils.data",
    "torch.profiler",
)
PATHS = sorted(name for name in ALIASES if not name.startswith("torch._"))


@pytest.mark.parametrize("path", PATHS)
def test_modules_of_the_table_exist_in_pytorch(path):
    theirs = importlib.import_module(path)
    for name in ALIASES[path]:
        assert hasattr(theirs, name), f"{path}.{name}"
        assert hasattr(in_place_of(path), name)


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_a_name_means_one_thing_at_all_of_its_paths():
    """Objects that PyTorch has twice are one object here, too, as ``optim.adamw.AdamW``."""
    homes = {name: (importlib.import_module(name), in_place_of(name)) for name in PUBLIC}
    below = {path for name in PUBLIC for path in modules_below(name)}
    ours_at = {path: module_or_none(path) for path in below}
    different = []
    for home, (their_home, our_home) in homes.items():
        for path, ours in ours_at.items():
            theirs = importlib.import_module(path)
            for name in set(vars(theirs)) & set(vars(their_home)) - {"torch", "nn", "Tensor"}:
                same = getattr(theirs, name) is getattr(their_home, name)
                if not same or ours is None or name.startswith("_"):
                    continue
                mine, mine_at_home = (getattr(module, name, None) for module in (ours, our_home))
                is_named = inspect.isroutine(mine) or inspect.isclass(mine)
                if is_named and mine_at_home not in (None, mine):
                    different.append(f"{path}.{name} is not {home}.{name}")
    assert not different


def modules_below(name):
    module = importlib.import_module(name)
    below = [value for value in vars(module).values() if inspect.ismodule(value)]
    return [function.__name__ for function in below if function.__name__.startswith(f"{name}.")]


def module_or_none(name):
    try:
        return in_place_of(name)
    except ImportError:
        return None


def test_a_function_stays_when_the_module_of_its_name_is_imported():
    utilities = in_place_of("torch.nn.utils")
    in_place_of("torch.nn.utils.spectral_norm")
    assert inspect.isfunction(utilities.spectral_norm)
    assert in_place_of("torch.nn.utils.spectral_norm").spectral_norm is utilities.spectral_norm


def test_options_without_effect_are_taken_beside_other_defaults():
    options = in_place_of("torch.optim")
    for name in ("AdamW", "Adagrad", "RMSprop", "Adam", "SGD", "NAdam", "RAdam", "Adamax"):
        kind = getattr(options, name)
        made = kind([flow.ones(1, requires_grad=True)], foreach=True, differentiable=False)
        assert made.defaults["lr"] == getattr(torch.optim, name)([torch.ones(1)]).defaults["lr"]
        assert kind([flow.ones(1, requires_grad=True)], 0.5, capturable=False).defaults["lr"] == 0.5


# --- what is written for PyTorch's users alone


def future_results(futures):
    first, second, later = futures.Future(), futures.Future(), futures.Future()
    following = first.then(lambda done: done.value() + 1).then(lambda done: 1 / done.value())
    seen = []
    first.add_done_callback(lambda done: seen.append(done.value()))
    together = futures.collect_all([first, second])
    states = [first.done(), together.done()]
    second.set_result("b")
    first.set_result(-1)
    states += [first.done(), together.done(), [future.value() for future in together.wait()]]
    later.set_exception(ValueError("late"))
    errors = []
    for future in (following, later, futures.Future()):
        try:
            future.value() if not future.done() else future.wait()
        except Exception as error:
            errors.append(type(error).__name__)
    return states, seen, errors, futures.wait_all([first, second])


def test_futures():
    states, seen, errors, results = future_results(in_place_of("torch.futures"))
    their_states, their_seen, their_errors, their_results = future_results(torch.futures)
    assert (states, seen, results) == (their_states, their_seen, their_results)
    assert errors == their_errors == ["RuntimeError", "ValueError", "RuntimeError"]


def test_points_that_fill_a_cube():
    ours, theirs = in_place_of("torch.quasirandom").SobolEngine, torch.quasirandom.SobolEngine
    for dimension in (1, 2, 40):
        mine, its = ours(dimension), theirs(dimension)
        for count in (3, 1, 4):
            assert mine.draw(count).tolist() == its.draw(count).tolist()
        mine.fast_forward(5), its.fast_forward(5)
        assert (
            mine.draw(2, dtype=flow.float64).tolist() == its.draw(2, dtype=torch.float64).tolist()
        )
        assert mine.reset().draw_base2(3).tolist() == its.reset().draw_base2(3).tolist()
        assert mine.num_generated == its.num_generated
    assert repr(ours(2, True, 3)) == repr(theirs(2, True, 3))
    with pytest.raises(ValueError, match="power of two, got 8 and 16"):
        mine.draw_base2(4)
    with pytest.raises(ValueError, match="dimension"):
        ours(0)
    scrambled = ours(3, scramble=True, seed=1).draw(64)
    counts = (scrambled * 4).floor().long()
    # Each quarter of each axis has as many points, whatever the digits were shuffled to.
    assert all(flow.bincount(counts[:, axis]).tolist() == [16] * 4 for axis in range(3))
    assert scrambled.tolist() != ours(3, scramble=True, seed=2).draw(64).tolist()


def test_types_of_nested_values():
    is_of_type = in_place_of("torch.jit").isinstance
    number, text = 1, "a"
    for value, kind in (
        ([number], list[int]),
        ([text], list[int]),
        ({text: [number]}, dict[str, list[int]]),
        ({text: text}, dict[str, int]),
        ((number, text), tuple[int, str]),
        ((number,), tuple[int, str]),
        (None, int | None),
        (number, int | None),
        (text, int | None),
    ):
        assert is_of_type(value, kind) == torch.jit.isinstance(value, kind), (value, kind)


def counted(framework, counter_type):
    model = framework.nn.Sequential(
        framework.nn.Conv2d(3, 4, 3, padding=1),
        framework.nn.ReLU(),
        framework.nn.Flatten(),
        framework.nn.Linear(256, 5),
    )
    with counter_type(display=False) as counter:
        loss = model(framework.ones(2, 3, 8, 8)).sum()
    forward = {
        name: sum(get_flop_count.values())
        for name, get_flop_count in counter.get_flop_counts().items()
    }
    with counter_type(display=False) as counter:
        model(framework.ones(2, 3, 8, 8)).sum().backward()
    both = counter.get_total_flops()
    with counter_type(display=False) as counter:
        # Nobody reads these, and the second weight is gone before the end.
        framework.ones(4, 5) @ framework.ones(5, 6)
        model(framework.ones(2, 3, 8, 8, requires_grad=True))
        framework.nn.Linear(4, 5)(framework.ones(2, 4, requires_grad=True)).sum().backward()
    return forward, both, counter.get_total_flops(), loss.ndim


def test_operations_are_counted():
    counter = in_place_of("torch.utils.flop_counter").FlopCounterMode
    assert counted(flow, counter) == counted(torch, TheirFlopCounterMode)


def test_division_of_nested_arguments():
    parallel = in_place_of("torch.nn.parallel.scatter_gather")
    batch = {"x": flow.arange(4), "pair": (flow.ones(4, 2), "text")}
    (part,) = parallel.scatter(batch, [flow.device("cpu")])
    assert part["x"].tolist() == [0, 1, 2, 3]
    assert part["pair"][1] == "text"
    part["pair"] = part["pair"][0]
    joined = parallel.gather([part, part], "cpu")
    assert joined["x"].tolist() == [0, 1, 2, 3] * 2
    layer = flow.nn.Linear(2, 1)
    result = in_place_of("torch.nn.parallel").data_parallel(layer, flow.ones(3, 2))
    assert result.shape == (3, 1)
    (replica,) = in_place_of("torch.nn.parallel").replicate(layer, [flow.device("cpu")])
    replica(flow.ones(1, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_loaders_of_libraries_iterate_as_loaders_do():
    module = in_place_of("torch.utils.data.dataloader")
    loader = flow.utils.data.DataLoader(range(4), batch_size=2)
    assert isinstance(iter(loader), module._SingleProcessDataLoaderIter)
    assert not isinstance(iter(loader), module._MultiProcessingDataLoaderIter)
    assert isinstance(iter(loader), module._BaseDataLoaderIter)

    class Loader:
        dataset = (flow.ones(2), flow.zeros(2))
        num_workers, timeout, worker_init_fn, generator = 0, 0, None, None
        prefetch_factor, persistent_workers = 2, False
        _dataset_kind = module._DatasetKind.Iterable

        def collate_fn(self, batch):
            return batch + 1

    batches = module._SingleProcessDataLoaderIter(Loader())
    assert [batch.tolist() for batch in batches] == [[2.0, 2.0], [1.0, 1.0]]


def test_required_options_of_optimizers():
    def error(framework, required):
        class Own(framework.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": required})

        weight = framework.ones(1, requires_grad=True)
        assert Own([{"params": [weight], "lr": 0.1}]).param_groups[0]["lr"] == 0.1
        with pytest.raises(ValueError, match="lr"):
            Own([weight])

    error(flow, in_place_of("torch.optim.optimizer").required)
    error(torch, importlib.import_module("torch.optim.optimizer").required)


def test_hooks_of_all_optimizers():
    def calls(framework, module):
        seen = []
        optimizer = framework.optim.SGD([framework.ones(1, requires_grad=True)], lr=0.1)
        note = lambda text, *_: seen.append(text)  # noqa: E731
        optimizer.register_step_pre_hook(partial(note, "own before"))
        optimizer.register_step_post_hook(partial(note, "own after"))
        handles = [
            module.register_optimizer_step_pre_hook(partial(note, "before")),
            module.register_optimizer_step_post_hook(partial(note, "after")),
        ]
        optimizer.step()
        for handle in handles:
            handle.remove()
        optimizer.step()
        return seen

    ours = calls(flow, in_place_of("torch.optim.optimizer"))
    assert ours == calls(torch, importlib.import_module("torch.optim.optimizer"))


def test_inverse_of_a_factor():
    precision = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    ours = in_place_of("torch.distributions.multivariate_normal")._precision_to_scale_tril
    theirs = torch.distributions.multivariate_normal._precision_to_scale_tril
    found = ours(flow.tensor(precision.tolist()))
    torch.testing.assert_close(torch.tensor(found.tolist()), theirs(precision))


def test_formulas_of_divergences_are_of_any_base():
    class Own:
        """The base that a library puts beside `Distribution`."""

    class Point(Own, flow.distributions.Normal):
        pass

    flow.distributions.register_kl(Own, Own)(lambda p, q: p.loc - q.loc)
    assert flow.distributions.kl_divergence(Point(3.0, 1.0), Point(1.0, 1.0)).item() == 2.0
    with pytest.raises(TypeError, match="a class of distributions"):
        flow.distributions.register_kl(1, Own)


def test_collectives_that_gradients_flow_through_in_one_process():
    collectives = in_place_of("torch.distributed.nn.functional")
    x = flow.tensor([1.0, 2.0], requires_grad=True)
    for result in (
        collectives.all_reduce(x),
        collectives.broadcast(x, 0),
        collectives.reduce(x, 0),
        collectives.all_gather(x)[0],
        collectives.gather(x)[0],
        collectives.scatter([x]),
        collectives.reduce_scatter(flow.empty(2), [x]),
        collectives.all_to_all([flow.empty(2)], [x])[0],
        collectives.all_to_all_single(flow.empty(2), x),
    ):
        assert result.tolist() == [1.0, 2.0]
        (grad,) = flow.autograd.grad((result * flow.tensor([3.0, 4.0])).sum(), x)
        assert grad.tolist() == [3.0, 4.0]
