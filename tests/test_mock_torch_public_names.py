"""Public names at PyTorch's paths: they act as PyTorch's do, or say what is missing."""

from __future__ import annotations

import copy
import importlib
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed.elastic.multiprocessing.errors
import torch.distributed.optim
import torch.masked
import torch.utils.cpp_extension
import torch.utils.flop_counter

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
MODULES = (
    "torch.autograd",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.compiler",
    "torch.distributed.elastic.multiprocessing.errors",
    "torch.distributed.fsdp",
    "torch.distributed.nn",
    "torch.distributed.optim",
    "torch.func",
    "torch.jit",
    "torch.library",
    "torch.masked",
    "torch.monitor",
    "torch.mtia",
    "torch.nn",
    "torch.nn.functional",
    "torch.optim",
    "torch.overrides",
    "torch.profiler",
    "torch.random",
    "torch.sparse",
    "torch.utils",
    "torch.utils.checkpoint",
    "torch.utils.cpp_extension",
    "torch.utils.data",
    "torch.utils.dlpack",
    "torch.utils.flop_counter",
    "torch.utils.hooks",
    "torch.xpu",
)
#: The folder of PyTorch's files for CMake; a name that PyTorch lists and lacks itself.
_ABSENT = {"cmake_prefix_path", "solve"}


@pytest.mark.parametrize("module", MODULES)
def test_public_names_exist(module):
    ours, theirs = in_place_of(module), importlib.import_module(module)
    names = getattr(theirs, "__all__", None) or [
        name
        for name, value in vars(theirs).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("torch")
    ]
    assert {name for name in names if not hasattr(ours, name)} <= _ABSENT


def custom_rule(torch):
    namespace = torch.__package__
    mode_class = torch.utils._python_dispatch.TorchDispatchMode

    class Mode(mode_class):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    operator = torch.library.custom_op(
        f"names_{namespace}::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    before = operator(torch.ones(1)).item()
    torch.library.register_torch_dispatch(
        f"names_{namespace}::twice", Mode, lambda mode, func, types, args, kwargs: args[0] + 5
    )
    with Mode():
        inside = operator(torch.ones(1)).item()
    return before, inside, operator(torch.ones(1)).item()


def unit_of_source(torch):
    unit = torch.jit.CompilationUnit(
        """
        def double(x: Tensor, y: Optional[int] = None) -> Tensor:
            return 2 * torch.relu(x)
        """
    )
    names = [
        function.name if hasattr(function, "name") else function.__name__
        for function in unit.get_functions()
    ]
    return unit.double(torch.tensor([-1.0, 2.0])).tolist(), names, unit.find_function("single")


def swapped_step(torch):
    parameters = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2)]
    first, second = parameters
    optimizer = torch.optim.AdamW([first], lr=0.5)
    first.grad, second.grad = torch.tensor([0.5, 2.0]), torch.tensor([-3.0, 1.0])
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 0.25
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"second": second}, state):
        optimizer.step()
    optimizer.step()
    averages = state["state"][0]["exp_avg"].numpy().round(6).tolist()
    values = [x.detach().numpy().round(5).tolist() for x in parameters]
    return values, optimizer.param_groups[0]["lr"], averages


def functional_steps(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.distributed.optim.as_functional_optim(torch.optim.SGD, lr=0.5, momentum=0.9)
    for _ in range(3):
        optimizer.step_param(x, torch.tensor([1.0, -2.0]))
    return x.tolist(), x.grad


def skipped_hop(torch):
    calls = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x = torch.tensor([3.0]).as_subclass(Logging)
    result = scaled(x, x)
    return result.item(), [name.strip("_") for name in calls], type(result).__name__


def backward_hooks(torch):
    seen = []
    hook = torch.utils.hooks.BackwardHook(
        "module",
        [lambda module, grads, outputs: seen.append((module, len(grads), outputs[0].tolist()))],
        [lambda module, outputs: (10 * outputs[0],)],
    )
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    a, _, b = hook.setup_input_hook((x, "text", y))
    hook.setup_output_hook(a * b * 3).backward()
    return x.grad.tolist(), y.grad.tolist(), seen


def monitored(torch):
    monitor = torch.monitor
    return [int(getattr(monitor, name)) for name in ("COUNT", "MAX", "MEAN", "MIN", "SUM", "VALUE")]


def end_of_processes(torch):
    errors = torch.distributed.elastic.multiprocessing.errors
    failure = errors.ProcessFailure(local_rank=1, pid=7, exitcode=-9, error_file="")
    failure.timestamp = 5
    later = errors.ProcessFailure(local_rank=0, pid=8, exitcode=1, error_file="")
    error = errors.ChildFailedError("job", {3: later, 1: failure})
    text = str(error)
    return (
        failure.message,
        failure.signal_name(),
        error.get_first_failure()[0],
        ("job FAILED" in text, text.index("rank      : 3") < text.index("rank      : 1")),
    )


def checkpointed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.utils.checkpoint.CheckpointFunction.apply(
        lambda x: (x * x).sin(), True, x
    ).sum().backward()
    return np.float32(x.grad.detach().numpy()).round(5).tolist()


def flops_of_formula(torch):
    counter_module = torch.utils.flop_counter
    name = f"names_{torch.__package__}::product"
    operator = torch.library.custom_op(
        name, lambda x, y: x @ y, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor"
    )
    target = operator if torch is OURS else torch.ops.names_torch.product

    @counter_module.register_flop_formula(target)
    def flops(x_shape, y_shape, *, out_shape=None, **kwargs):
        return 1000 * x_shape[0] + out_shape[1]

    with counter_module.FlopCounterMode(display=False) as counter:
        operator(torch.ones(2, 3), torch.ones(3, 4)) @ torch.ones(4, 1)
    return counter.get_total_flops()


#: What PyTorch answers, too.
ANSWERS = {
    "rearrange": lambda torch: [
        torch.func.rearrange(torch.arange(24).reshape(2, 3, 4), pattern, **sizes).tolist()
        for pattern, sizes in (
            ("a b c -> c (b a)", {}),
            ("... (c d) -> d ... c", {"d": 2}),
            ("a b c -> (a b c)", {}),
            ("a b c -> a 1 (c b)", {}),
            ("... c -> c ...", {}),
            ("a (b 1) c -> (a b) c", {}),
        )
    ],
    "rearranged list": lambda torch: torch.func.rearrange(
        [torch.ones(2, 3), torch.zeros(2, 3)], "n a b -> a (n b)"
    ).tolist(),
    "wrong pattern": lambda torch: torch.func.rearrange(torch.ones(2, 3), "a b -> a"),
    "wrong sizes": lambda torch: torch.func.rearrange(torch.ones(5), "(a b) -> a b", a=2),
    "unwrapped": lambda torch: torch.func.debug_unwrap(torch.ones(2)).tolist(),
    "masked logaddexp": lambda torch: torch.masked.logaddexp(
        torch.tensor([-100.0, -200, -300]),
        torch.tensor([-1.0, -2, -3]),
        other_mask=torch.tensor([True, False, True]),
        dtype=torch.float64,
    ).tolist(),
    "masked logaddexp of both": lambda torch: torch.masked.logaddexp(
        torch.tensor([1.0, 2.0]),
        torch.tensor([1.0, 2.0]),
        input_mask=torch.tensor([False, True]),
        other_mask=torch.tensor([False, False]),
    ).tolist(),
    "NumPy": lambda torch: torch.compiler.wrap_numpy(np.cumsum)(torch.tensor([1, 2])).tolist(),
    "default backend": lambda torch: (
        torch.compiler.get_default_backend(),
        torch.compiler.set_default_backend("eager"),
        torch.compiler.get_default_backend(),
        torch.compiler.set_default_backend(None),
    ),
    "no artifacts": lambda torch: torch.compiler.save_cache_artifacts(),
    "setting": lambda torch: torch.compiler.config.recompile_limit,
    "all guards": lambda torch: torch.compiler.skip_all_guards_unsafe([1, 2]),
    "fusion": lambda torch: (
        torch.jit.set_fusion_strategy([("STATIC", 1)]),
        torch.jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)]),
    ),
    "wrong fusion": lambda torch: torch.jit.set_fusion_strategy([("ELASTIC", 1)]),
    "oneDNN": lambda torch: torch.jit.onednn_fusion_enabled(),
    "source": unit_of_source,
    "memory of regions": lambda torch: torch.autograd.graph.region_activation_memory_budget(0.5),
    "memory of no region": lambda torch: torch.autograd.graph.region_activation_memory_budget(5),
    "memory of text": lambda torch: torch.autograd.graph.region_activation_memory_budget("all"),
    "kinds of devices": lambda torch: {
        kind.name: kind.value if isinstance(kind.value, int) else int(kind)
        for kind in torch.profiler.DeviceType.__members__.values()
    },
    "activities": lambda torch: [kind.name for kind in torch.profiler.supported_activities()],
    "DLPack": lambda torch: {kind.name: int(kind) for kind in torch.utils.dlpack.DLDeviceType},
    "factory": lambda torch: torch.nn.factory_kwargs({"factory_kwargs": {"dtype": 1}, "device": 2}),
    "factory twice": lambda torch: torch.nn.factory_kwargs(
        {"factory_kwargs": {"dtype": 1}, "dtype": 2}
    ),
    "factory of others": lambda torch: torch.nn.factory_kwargs({"bias": 2}),
    "pairs": lambda torch: torch.nn.functional.assert_int_or_pair((1, 2, 3), "x", "{} is long"),
    "thread": lambda torch: torch.random.thread_safe_generator(),
    "modes of grids": lambda torch: (
        torch.nn.functional.GRID_SAMPLE_INTERPOLATION_MODES,
        torch.nn.functional.GRID_SAMPLE_PADDING_MODES,
    ),
    "meshes": lambda torch: (
        torch.distributed.fsdp.DataParallelMeshDims(shard="a", replicate=("b", "c")).shard_names,
        torch.distributed.fsdp.DataParallelMeshDims(replicate=("b", "c")).replicate_names,
    ),
    "no mesh": lambda torch: torch.distributed.fsdp.DataParallelMeshDims(),
    "compiler": lambda torch: torch.utils.cpp_extension.get_cxx_compiler(),
    "GCC": lambda torch: torch.utils.cpp_extension.check_compiler_is_gcc("c++"),
    "version": lambda torch: torch.utils.cpp_extension.get_compiler_abi_compatibility_and_version(
        "c++"
    ),
    "build root": lambda torch: torch.utils.cpp_extension.get_default_build_root(),
    "ninja": lambda torch: torch.utils.cpp_extension.is_ninja_available(),
    "rule for a mode": custom_rule,
    "kernel": lambda torch: (
        torch.library.get_kernel("aten::add.Tensor", "CPU")
        .call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.ones(1), torch.ones(1))
        .item()
    ),
    "kernel of no key": lambda torch: torch.library.get_kernel("aten::add.Tensor", "Abacus"),
    "kernel of nothing": lambda torch: torch.library.get_kernel("aten::no_such_name", "CPU"),
    "swapped step": swapped_step,
    "functional steps": functional_steps,
    "no functional optimizer": lambda torch: torch.distributed.optim.as_functional_optim(
        torch.optim.LBFGS
    ),
    "skipped hop": skipped_hop,
    "testing overrides": lambda torch: [
        torch.overrides.get_testing_overrides()[function](*args)
        for function, args in (
            (torch.add, (1, 2)),
            (torch.nn.functional.linear, (1, 2)),
            (torch.Tensor.mul, (1, 2)),
        )
    ],
    "backward hooks": backward_hooks,
    "statistics": monitored,
    "failures": end_of_processes,
    "checkpoint": checkpointed,
    "formula": flops_of_formula,
    "unique keys": lambda torch: [
        torch.autograd.profiler.EnforceUnique().see("a"),
        torch.autograd.profiler.KinetoStepTracker.erase_step_count("nobody"),
    ],
    "sparse gradients": lambda torch: [
        torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)(
            lambda x: (x.to_dense() * 2).sum(), (sparse,), masked=masked
        )
        for masked in (True, False)
        for layout in (torch.sparse_coo, torch.sparse_csr)
        for sparse in [torch.eye(2, dtype=torch.float64).to_sparse(layout=layout).requires_grad_()]
    ],
    "throughput": lambda torch: throughput(torch),
}


def throughput(torch):
    bench = torch.utils.ThroughputBenchmark(torch.nn.Linear(2, 2))
    bench.add_input(torch.ones(2))
    stats = bench.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=5)
    return stats.num_iters, stats.latency_avg_ms > 0, list(bench.run_once(torch.ones(2)).shape)


def answer(function: Any, library: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(library)
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            return next(
                kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"
            )


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_pytorchs(name):
    theirs = answer(ANSWERS[name], torch)
    with enabled():
        ours = answer(ANSWERS[name], OURS)
    assert ours == theirs


REFUSED = {
    "machine code": lambda: OURS.compiler.load_compiled_function(None),
    "artifacts": lambda: OURS.compiler.load_cache_artifacts(b""),
    "bytecode": lambda: OURS.jit.export_opnames(None),
    "nvprof": lambda: OURS.autograd.profiler.load_nvprof("a.nvvp"),
    "execution traces": lambda: OURS.profiler.ExecutionTraceObserver(),
    "calls of C++": lambda: OURS.utils.get_cpp_backtrace(),
    "a kind of device": lambda: OURS.utils.rename_privateuse1_backend("abacus"),
    "modules elsewhere": lambda: OURS.distributed.nn.RemoteModule("worker", len),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_act_says_what_is_missing(name):
    with pytest.raises(NotImplementedError, match=r"`torch\.[^`]*`: "):
        REFUSED[name]()


@pytest.mark.parametrize("call", ["XPUGraph", "MemPool", "graph", "use_mem_pool"])
def test_devices_that_are_not_here(call):
    with pytest.raises(RuntimeError, match="no such device"):
        getattr(OURS.xpu, call)()


def test_samples_and_pipes_are_of_their_types():
    # PyTorch's decorators look for types that its pipes have had in earlier versions.
    data = OURS.utils.data

    class Numbers(data.IterDataPipe[int]):
        def __init__(self, numbers):
            self.numbers = numbers

        @data.runtime_validation
        def __iter__(self):
            yield from self.numbers

    def total(pipe):
        return list(pipe)

    total.__annotations__["pipe"] = data.IterDataPipe[str]
    total = data.argument_validation(total)

    results = [list(Numbers([1, 2]))]
    for call in (
        lambda: list(Numbers(["a"])),
        lambda: total(Numbers([1])),
        lambda: total([1]),
        lambda: data.runtime_validation(len),
    ):
        try:
            results.append(call())
        except (TypeError, RuntimeError) as error:
            results.append(type(error).__name__)
    with data.runtime_validation_disabled():
        results.append(list(Numbers(["a"])))
    assert results == [
        [1, 2],
        "RuntimeError",
        "TypeError",
        "TypeError",
        "TypeError",
        ["a"],
    ]
