"""Names that training scripts of PyTorch import and set besides tensors and layers."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed.algorithms._checkpoint.checkpoint_wrapper
import torch.distributed.elastic.multiprocessing.errors
import torch.nn.attention.bias
import torch.utils.checkpoint

from oneflow import mock_torch
from oneflow.mock_torch.pytorch.distributed.algorithms._checkpoint import checkpoint_wrapper
from tests.in_place import in_place_of

_WRAPPERS = "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"


@pytest.mark.parametrize("name", ["torch._dynamo.config", "torch._inductor.config"])
def test_settings_of_compilers_are_kept(name: str) -> None:
    settings = in_place_of(name)
    first = "suppress_errors" if "dynamo" in name else "max_autotune"
    assert getattr(settings, first) is False
    settings.a_setting_of_some_version = 3
    assert settings.a_setting_of_some_version == 3
    with settings.patch({first: True}, a_setting_of_some_version=5):
        assert (getattr(settings, first), settings.a_setting_of_some_version) == (True, 5)
        with settings.patch(first, None):
            assert getattr(settings, first) is None
        if "inductor" in name:
            before = settings.triton.cudagraphs
            with settings.patch({"triton.cudagraphs": True}):
                assert settings.triton.cudagraphs is True
            assert settings.triton.cudagraphs == before
    assert (getattr(settings, first), settings.a_setting_of_some_version) == (False, 3)
    assert settings.patch(first, 7)(lambda: getattr(settings, first))() == 7
    del settings.a_setting_of_some_version
    with pytest.raises(AttributeError), settings.patch(no_such_setting=1):
        pass


def test_settings_are_found_by_their_paths() -> None:
    with mock_torch.enable():
        import torch

        torch._dynamo.config.cache_size_limit = 64
        torch._inductor.config.triton.unique_kernel_names = True
        torch._functorch.config.donated_buffer = False
        assert torch._dynamo.config.cache_size_limit == 64
        torch._dynamo.config.cache_size_limit = 8
        with torch.compiler.set_stance("force_eager"):
            assert torch.compiler.nested_compile_region(max)(1, 2) == 2
        with pytest.raises(RuntimeError, match="stance"):
            torch.compiler.set_stance("no such stance")
        for module in ("mkl", "openmp", "nnpack"):
            assert getattr(torch.backends, module).is_available() is False


def test_the_capability_of_the_processor_is_torchs() -> None:
    ours = in_place_of("torch.backends.cpu").get_cpu_capability()
    assert ours == torch.backends.cpu.get_cpu_capability()


@pytest.mark.filterwarnings("ignore:Lower right causal bias")
@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("size", [(2, 5), (5, 2), (3, 3), (1, 4)])
def test_causal_masks_are_torchs(name: str, size: tuple[int, int]) -> None:
    theirs = getattr(torch.nn.attention.bias, name)(*size)
    ours = getattr(in_place_of("torch.nn.attention.bias"), name)(*size)
    assert ours.tolist() == theirs._materialize().tolist()
    assert (ours.variant, ours.seq_len_q, ours.seq_len_kv) == (
        theirs.variant,
        theirs.seq_len_q,
        theirs.seq_len_kv,
    )


def test_masks_that_hide_all_keys_of_a_query_warn() -> None:
    for find in (importlib.import_module, in_place_of):
        with pytest.warns(UserWarning, match="NaNs in the output when seq_len_q > seq_len_kv"):
            find("torch.nn.attention.bias").causal_lower_right(3, 2)


def test_attention_takes_causal_masks() -> None:
    def result(library: Any, bias: Any) -> list:
        q, k = (library.linspace(-1, 1, 8 * n).reshape(1, 2, n, 4) for n in (3, 5))
        attention = library.nn.functional.scaled_dot_product_attention
        return attention(q, k, k, attn_mask=bias.causal_lower_right(3, 5)).flatten().tolist()

    ours = result(in_place_of("torch"), in_place_of("torch.nn.attention.bias"))
    assert ours == pytest.approx(result(torch, torch.nn.attention.bias), rel=1e-5, abs=1e-6)


def _wrapped(library: Any, wrappers: Any, policy: Any) -> Any:
    """A small model whose layers that a policy chooses are wrapped, with weights by number."""
    layers = library.nn
    model = layers.Sequential(
        layers.Linear(2, 3), layers.Sequential(layers.Linear(3, 3), layers.ReLU())
    )
    for number, parameter in enumerate(model.parameters()):
        with library.no_grad():
            parameter.copy_(library.linspace(-1, number, parameter.numel()).view(parameter.shape))
    wrappers.apply_activation_checkpointing(model, **policy(layers))
    return model


_POLICIES = {
    "all": lambda layers: {},
    "checked": lambda layers: {"check_fn": lambda module: isinstance(module, layers.Linear)},
    "reentrant": lambda layers: {},
}


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("policy", _POLICIES)
def test_wrapped_modules_are_torchs(policy: str) -> None:
    outcomes = []
    for library, wrappers in (
        (torch, torch.distributed.algorithms._checkpoint.checkpoint_wrapper),
        (in_place_of("torch"), in_place_of(_WRAPPERS)),
    ):
        options: dict[str, Any] = {}
        if policy == "reentrant":
            implementation = wrappers.CheckpointImpl.REENTRANT
            wrap = partial(wrappers.checkpoint_wrapper, checkpoint_impl=implementation)
            options = {"checkpoint_wrapper_fn": wrap}
        model = _wrapped(library, wrappers, lambda x, o=options: {**_POLICIES[policy](x), **o})
        state = model.state_dict()
        assert not any(model.load_state_dict(state))
        x = library.ones(2, 2, requires_grad=True)
        model(x).sum().backward()
        outcomes.append(
            (
                list(state),
                [name for name, _ in model.named_parameters()],
                [type(module).__name__ for module in model.modules()],
                x.grad.tolist(),
                [p.grad.tolist() for p in model.parameters()],
            )
        )
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("kind", ["function", "object", "size"])
def test_policies_of_fsdp_choose_modules(kind: str) -> None:
    kinds = []
    for path in ("torch", "mock"):
        find = importlib.import_module if path == "torch" else in_place_of
        wrap = find("torch.distributed.fsdp.wrap")

        def policy(layers: Any, wrap: Any = wrap) -> dict[str, Any]:
            if kind == "size":  # the sequence within has 12 elements, the layer before it 9
                function = partial(wrap.size_based_auto_wrap_policy, min_num_params=10)
                return {"auto_wrap_policy": function}
            if kind == "function":
                chosen = {layers.Linear}
                function = partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls=chosen)
                return {"auto_wrap_policy": function}
            return {"auto_wrap_policy": wrap.ModuleWrapPolicy({layers.Linear})}

        model = _wrapped(find("torch"), find(_WRAPPERS), policy)
        kinds.append([type(module).__name__ for module in model.modules()])
    assert kinds[0] == kinds[1]
    assert "CheckpointWrapper" in kinds[1]


def test_wrapped_modules_run_again_and_offloaded_ones_do_not() -> None:
    outcomes = []
    for path in ("torch", "mock"):
        find = importlib.import_module if path == "torch" else in_place_of
        library, wrappers = find("torch"), find(_WRAPPERS)
        runs: list[str] = []

        class Within(library.nn.Module):
            def forward(self, x: Any, runs: list[str] = runs) -> Any:
                runs.append("forward")
                return x.exp().sin()

        for wrap in (lambda module: module, wrappers.checkpoint_wrapper):
            wrap(Within())(library.ones(2, requires_grad=True)).sum().backward()
            runs.append("end")
        outcomes.append(runs)
    assert outcomes[0] == outcomes[1] == ["forward", "end", "forward", "forward", "end"]


def test_offloaded_modules_keep_what_they_save_on_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers, saved = in_place_of("torch").nn, []
    opened = checkpoint_wrapper.save_on_cpu

    def save_on_cpu(pin_memory: bool) -> Any:
        saved.append(pin_memory)
        return opened(pin_memory=pin_memory)

    monkeypatch.setattr(checkpoint_wrapper, "save_on_cpu", save_on_cpu)
    layer = layers.Linear(2, 1)
    checkpoint_wrapper.offload_wrapper(layer)(in_place_of("torch").ones(2)).backward()
    assert saved == [True]
    assert layer.weight.grad.tolist() == [[1, 1]]


def test_ranges_that_are_started_are_in_profiles() -> None:
    with mock_torch.enable():
        import torch

        with torch.profiler.profile() as profile:
            started = torch.cuda.nvtx.range_start("a range")
            torch.ones(2).exp().tolist()
            torch.cuda.nvtx.range_end(started)
    assert "a range" in {event.key for event in profile.key_averages()}


def test_a_sharded_gradient_scaler_takes_torchs_arguments() -> None:
    path = "torch.distributed.fsdp.sharded_grad_scaler"
    theirs, ours = (find(path).ShardedGradScaler for find in (importlib.import_module, in_place_of))
    assert ours.__name__ == theirs.__name__
    names = list(inspect.signature(theirs).parameters)
    assert list(inspect.signature(ours).parameters) == names
    made = [scaler("cpu", 8.0, 0.25, 4.0, 3, process_group=None) for scaler in (theirs, ours)]
    assert made[0].state_dict() == made[1].state_dict()


@pytest.mark.parametrize("policy", [[], lambda ctx, op, *args, **kwargs: None])
def test_selective_checkpoints_have_the_same_gradients(policy: Any) -> None:
    with mock_torch.enable():
        import torch
        from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

        contexts = partial(create_selective_checkpoint_contexts, policy)
        x = torch.ones(3, requires_grad=True)
        checkpoint(
            lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=contexts
        ).sum().backward()
        y = torch.ones(3, requires_grad=True)
        y.exp().sin().sum().backward()
        assert x.grad.tolist() == y.grad.tolist()
        with pytest.raises(TypeError):
            create_selective_checkpoint_contexts(3)


def test_checkpoints_refuse_what_torchs_do() -> None:
    for find in (importlib.import_module, in_place_of):
        library, module = find("torch"), find("torch.utils.checkpoint")
        x = library.ones(2, requires_grad=True)
        aten = library.ops.aten
        module.create_selective_checkpoint_contexts([aten.mm.default])
        for operator in (aten.mm, library.mm, 3):
            with pytest.raises(ValueError, match=r"aten\.mm\.default|OpOverload"):
                module.create_selective_checkpoint_contexts([operator])
        options: tuple[dict[str, Any], ...] = (
            {"context_fn": lambda m=module: m.noop_context_fn()},
            {"debug": True},
        )
        for option in options:
            with pytest.raises(ValueError, match="use_reentrant=False"):
                module.checkpoint(library.exp, x, use_reentrant=True, **option)
        noop = {"context_fn": module.noop_context_fn}
        y = module.checkpoint(library.exp, x, use_reentrant=True, **noop)
        assert y.requires_grad
        names = [policy.name for policy in module.CheckpointPolicy]
        assert names.index("PREFER_CPU_OFFLOAD") == 5


def test_a_module_for_pickles_needs_trust(tmp_path: Any) -> None:
    for find in (importlib.import_module, in_place_of):
        library, file = find("torch"), tmp_path / "saved"
        library.save({"a": 1}, file)
        with pytest.raises(RuntimeError, match="pickle_module"):
            library.load(file, pickle_module=pickle, weights_only=True)
        assert library.load(file, pickle_module=pickle, weights_only=False) == {"a": 1}


def test_exceptions_are_recorded(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = []
    for find in (importlib.import_module, in_place_of):
        file = tmp_path / "error.json"
        monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(file))
        record = find("torch.distributed.elastic.multiprocessing.errors").record

        @record
        def main(value: int) -> int:
            if value < 0:
                raise ValueError(f"{value} is negative")
            return value

        @record
        def leave(code: Any) -> None:
            raise SystemExit(code)

        assert leave(0) is None
        for code in (None, 1, "text"):
            with pytest.raises(SystemExit):
                leave(code)
        assert main(3) == 3
        assert not file.exists()
        with pytest.raises(ValueError, match="-1 is negative"):
            main(-1)
        message = json.loads(file.read_text())["message"]
        assert set(message["extraInfo"]) == {"py_callstack", "timestamp"}
        messages.append(message["message"])
        file.unlink()
    assert messages[0] == messages[1]
