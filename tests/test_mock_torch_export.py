"""``torch.export``: modules as recorded programs, beside PyTorch's."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import io
import json
import zipfile

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.in_place import in_place_of


def libraries():
    return torch, in_place_of("torch")


def network(library):
    class Network(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = library.nn.Linear(2, 3)
            self.register_buffer("scale", library.full((3,), 2.0))

        def forward(self, x, mask=None):
            y = self.linear(x) * self.scale
            return {"y": y if mask is None else y * mask["rows"], "size": x.shape[1]}

    made = Network()
    for parameter in made.parameters():
        parameter.data.copy_(library.arange(parameter.numel()).reshape(parameter.shape) / 4)
    return made


def example(library, rows=4):
    return library.arange(rows * 2.0).reshape(rows, 2)


def mask(library, rows=4):
    return {"mask": {"rows": library.arange(rows * 1.0).reshape(rows, 1)}}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_program_computes_what_the_module_does(masked, grad):
    outcomes = []
    for library in libraries():
        model = network(library)
        kwargs = mask(library) if masked else {}
        program = library.export.export(model, (example(library),), kwargs)
        exported = program.module()
        with library.set_grad_enabled(grad):
            result = exported(example(library) + 1, **kwargs)
        if grad:
            result["y"].cos().sum().backward()
            assert model.linear.weight.grad is exported.linear.weight.grad
        gradient = model.linear.weight.grad if grad else library.zeros(1)
        outcomes.append([x.detach().numpy() for x in (result["y"], gradient)])
        assert result["size"] == 2
        names = [
            [n for n, _ in program.named_parameters()],
            [n for n, _ in program.named_buffers()],
        ]
        assert names == [["linear.weight", "linear.bias"], ["scale"]]
        assert list(program.state_dict) == ["linear.weight", "linear.bias", "scale"]
        assert program.example_inputs[0][0].shape == (4, 2)
    for mine, its in zip(*outcomes, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-5)


def test_a_program_in_a_file_needs_no_module(tmp_path):
    outcomes = []
    for library in libraries():
        program = library.export.export(network(library).eval(), (example(library),))
        file = io.BytesIO()
        library.export.save(program, file)
        library.export.save(program, tmp_path / f"{library.__name__}.pt2")
        file.seek(0)
        for target in (file, tmp_path / f"{library.__name__}.pt2"):
            again = library.export.load(target)
            with library.no_grad():
                result = again.module()(example(library))
            outcomes.append(result["y"].numpy())
            assert sorted(again.state_dict) == ["linear.bias", "linear.weight", "scale"]
    for outcome in outcomes[1:]:
        np.testing.assert_allclose(outcome, outcomes[0], rtol=1e-5)
    with pytest.raises(RuntimeError, match=r"no file that `torch\.export\.save` wrote"):
        in_place_of("torch").export.load(io.BytesIO(b"text"))


@pytest.mark.parametrize("by_name", [False, True])
def test_sizes_that_may_change(by_name):
    outcomes = []
    for library in libraries():
        batch = library.export.Dim("batch", min=2, max=8)
        spec = {0: batch}
        inner = {"rows": spec}
        shapes = {"x": spec, "mask": inner} if by_name else (spec, inner)
        args, kwargs = (example(library),), mask(library)
        program = library.export.export(network(library), args, kwargs, dynamic_shapes=shapes)
        found = []
        for rows, masked in ((7, 7), (2, 2), (9, 9), (7, 6)):
            try:
                result = program.module()(example(library, rows), **mask(library, masked))
                found.append(result["y"].tolist())
            except (AssertionError, RuntimeError):
                found.append("refused")
        outcomes.append(found)
        ((name, limits),) = (
            [(key, range_constraint) for key, range_constraint in program.range_constraints.items()]
            if library is not torch
            else [("batch", (2, 8))]
        )
        assert limits == (2, 8), name
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda library, program: program.module()(example(library, 5)),
        lambda library, program: program.module()(example(library), **mask(library)),
        lambda library, program: program(example(library)),
        lambda library, program: program.module().eval(),
        lambda library, program: library.export.export(lambda x: x, (example(library),)),
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    kinds = []
    for library in libraries():
        program = library.export.export(network(library), (example(library),))
        with pytest.raises(Exception, match=r".") as caught:
            wrong(library, program)
        kinds.append(caught.type)
    assert kinds[1] is kinds[0]


def changing(library):
    class Changing(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = library.nn.Linear(2, 2)
            self.drop = library.nn.Dropout(0.9)
            self.gain = library.nn.Parameter(library.ones(1))
            self.unused = library.nn.Parameter(library.ones(1))
            self.register_buffer("calls", library.zeros(1))
            self.register_buffer("idle", library.ones(2))

        def forward(self, x, n=2):
            self.calls.add_(1)
            return self.drop(self.linear(x)) * self.gain * n

    made = Changing().eval()
    for parameter in made.linear.parameters():
        parameter.data.fill_(0.5)
    return made


def zero_weight(library, source, exported):
    exported.linear.weight = library.nn.Parameter(library.zeros(2, 2))


def zero_gain(library, source, exported):
    exported.gain = library.nn.Parameter(library.zeros(1))


def write_to_source(library, source, exported):
    source.linear.weight.data.fill_(2.0)


def replace_child(library, source, exported):
    source.linear = library.nn.Linear(2, 2)


def train_source(library, source, exported):
    source.train()


def hook_source(library, source, exported):
    source.linear.register_forward_hook(lambda module, args, output: output * 0)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "change", [zero_weight, zero_gain, write_to_source, replace_child, train_source, hook_source]
)
def test_a_program_stays_as_it_was_exported(change, grad):
    outcomes = []
    for library in libraries():
        source = changing(library)
        exported = library.export.export(source, (example(library),)).module()
        change(library, source, exported)
        with library.set_grad_enabled(grad):
            results = [exported(example(library)).tolist() for _ in range(2)]
        outcomes.append((results, exported.calls.tolist(), source.calls.tolist()))
    assert outcomes[1] == outcomes[0]


def test_children_are_copies_that_keep_their_mode():
    source = changing(flow)
    exported = in_place_of("torch").export.export(source, (example(flow),)).module()
    assert exported.linear is not source.linear
    assert exported.linear.weight is source.linear.weight
    for refused in (exported.train, exported.drop.train, exported.drop.eval):
        with pytest.raises(NotImplementedError, match="not supported"):
            refused()
    assert source.train().drop.training
    assert not exported.drop.training


def test_a_loaded_module_has_parameters_and_buffers():
    outcomes = []
    for library in libraries():
        program = library.export.export(changing(library), (example(library),))
        file = io.BytesIO()
        library.export.save(program, file)
        file.seek(0)
        module = library.export.load(file).module()
        with library.no_grad():
            results = [module(example(library)).tolist() for _ in range(2)]
            module.linear.bias.fill_(3.0)
            results.append(module(example(library)).tolist())
        state = {name: value.tolist() for name, value in module.state_dict().items()}
        names = sorted(name for name, _ in module.named_parameters())
        outcomes.append((results, state, names))
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize(
    ("args", "kwargs", "refused"),
    [((), {"n": 2}, False), ((), {"n": 5}, True), ((), {"n": 2.0}, False)],
)
def test_values_of_arguments_are_part_of_the_program(args, kwargs, refused):
    for library in libraries():
        program = library.export.export(changing(library), (example(library),), {"n": 2})
        caught = pytest.raises(AssertionError, match="Guard failed: n == 2")
        with caught if refused else contextlib.nullcontext():
            program.module()(example(library), *args, **kwargs)


def test_sizes_are_the_same_by_name():
    outcomes = []
    for library in libraries():

        class Sums(library.nn.Module):
            def forward(self, x, y):
                return x.sum() + y.sum()

        x, y = library.ones(3), library.ones(3)
        sizes = [{0: library.export.Dim("n", min=2)} for _ in range(2)]
        program = library.export.export(Sums(), (x, y), dynamic_shapes=tuple(sizes))
        with pytest.raises(AssertionError, match="Guard failed"):
            program.module()(library.ones(4), library.ones(5))
        outcomes.append(float(program.module()(library.ones(4), library.ones(4))))
        sizes[1] = {0: library.export.Dim("n", min=3)}
        with pytest.raises(Exception, match=r"limits|different definitions"):
            library.export.export(Sums(), (x, y), dynamic_shapes=tuple(sizes))
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda names: {**names, "others": []},
        lambda names: {**names, "parameters": ["unknown"]},
        lambda names: {**names, "buffers": [1]},
        lambda names: {**names, "buffers": None},
        lambda names: {"buffers": []},
        lambda names: ["buffers"],
        lambda names: None,
    ],
)
def test_damaged_files_are_refused(damage):
    export = in_place_of("torch").export
    file, damaged = io.BytesIO(), io.BytesIO()
    export.save(export.export(flow.nn.ReLU(), (flow.ones(2),)), file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "names.json":
                content = json.dumps(damage(json.loads(content)))
            new.writestr(name, content)
    with pytest.raises(RuntimeError, match=r"no file that `torch\.export\.save` wrote"):
        export.load(damaged)


def test_refusals_say_what_must_hold():
    export = in_place_of("torch").export
    model, x = network(flow), example(flow)
    with pytest.raises(TypeError, match="`args` must be a tuple"):
        export.export(model, x)
    with pytest.raises(ValueError, match=r"names of the arguments, \['x'\]"):
        export.export(model, (x,), dynamic_shapes={"z": None})
    with pytest.raises(ValueError, match="size 0 of `x` is 5"):
        export.export(model, (x,), dynamic_shapes=({0: 5},))
    with pytest.raises(ValueError, match="above `min`"):
        export.Dim("n", min=3, max=2)
    file = io.BytesIO()
    export.save(export.export(model, (x,)), file)
    loaded = export.load(file)
    with pytest.raises(NotImplementedError, match="no backward pass"):
        loaded.module()(flow.ones(4, 2, requires_grad=True))
    with pytest.raises(NotImplementedError, match="copy its file"):
        export.save(loaded, io.BytesIO())


@pytest.mark.parametrize("target", ["nothing", "a path", "a file"])
def test_exporting_to_onnx_returns_the_model(target, tmp_path):
    torch = in_place_of("torch")
    model, x = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()), example(torch)
    file = {"nothing": None, "a path": tmp_path / "model.onnx", "a file": io.BytesIO()}[target]
    program = torch.onnx.export(model, (x,), file, dynamo=True)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Gemm", "Relu"]
    assert [value.name for value in program.model.graph.inputs] == ["input"]
    for results in (program(x + 1), program.call_reference(x + 1)):
        np.testing.assert_allclose(results[0].numpy(), model(x + 1).detach().numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="1 inputs, input; got 2 tensors"):
        program(x, x)
    program.save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == program.model_proto.SerializeToString()
    if file is not None:
        assert torch.onnx.export(model, (x,), file, dynamo=False) is None


def point_class(library, name):
    """A data class of tensors whose second field may be None, registered for programs."""
    fields = [("x", library.Tensor), ("bias", library.Tensor, None)]
    point = dataclasses.make_dataclass(name, fields)
    library.export.register_dataclass(point)
    return point


def test_programs_take_and_return_data_classes():
    results = []
    for library in libraries():
        point, result = point_class(library, "Point"), point_class(library, "Result")

        class Model(library.nn.Module):
            def forward(self, p, result=result):
                return result(p.x * 2, None if p.bias is None else p.bias + 1)

        numbers = []
        for bias in (None, library.ones(1)):
            program = library.export.export(Model(), (point(library.arange(3.0), bias),))
            output = program.module()(point(library.arange(3.0) + 1, bias))
            numbers.append((output.x.tolist(), None if bias is None else output.bias.tolist()))
        tree = library.utils._pytree
        paths = [str(path[0]) for path, _ in tree.tree_flatten_with_path(point(1, 2))[0]]
        doubled = tree.tree_map(lambda x: 2 * x, point(1, None))
        for wrong in (
            lambda tree=tree: tree.register_dataclass(int),
            lambda p=point: tree_again(p),
        ):
            with pytest.raises(ValueError, match=r"field_names|registered"):
                wrong()
        results.append((numbers, paths, dataclasses.astuple(doubled)))
    assert results[0] == results[1]


def tree_again(point):
    library = in_place_of("torch")
    library.utils._pytree.register_dataclass(point, field_names=["x", "y"])


EXAMPLES = {
    "another batch": [(7, 2)],
    "two other batches": [(7, 2), (9, 2)],
    "no other size": [(4, 2)],
    "another number of dimensions": [(2,)],
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("size", [4, 6])
def test_further_examples_say_which_sizes_change(name, size):
    outcomes = []
    for library in libraries():
        model = network(library)
        examples = library.export.AdditionalInputs()
        for shape in EXAMPLES[name]:
            examples.add((library.ones(shape),))
        try:
            program = library.export.export(model, (example(library),), dynamic_shapes=examples)
            result = program.module()(library.ones(size, 2))["y"].tolist()
        except Exception:
            result = "refused"
        outcomes.append(result)
    assert outcomes[0] == outcomes[1]


def test_further_examples_are_tuples_and_dicts():
    for library in libraries():
        for arguments in (([1],), ((1,), [2])):
            with pytest.raises(AssertionError):
                library.export.AdditionalInputs().add(*arguments)


# PyTorch's `draft_export` leaves the file of its log open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")  # PyTorch's own
@pytest.mark.parametrize("export", ["export", "draft_export"])
def test_unflattened_programs_have_children_and_adapt_arguments(export):
    results = []
    for library in libraries():

        class Adapter(library.export.FlatArgsAdapter):
            def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
                return input_args[1:]

        model = library.nn.Sequential(network(library).linear, library.nn.ReLU())
        program = getattr(library.export, export)(model, (example(library),))
        plain = library.export.unflatten(program)
        adapted = library.export.unflatten(program, Adapter())
        assert isinstance(adapted, library.export.UnflattenedModule)
        outputs = [plain(example(library)), adapted("left out", example(library))]
        with pytest.raises((ValueError, TypeError)):
            plain("left out", example(library))
        with pytest.raises(TypeError, match="abstract"):
            library.export.FlatArgsAdapter()
        results.append(
            (
                [name for name, _ in plain.named_modules()],
                sorted(plain.state_dict()),
                [output.tolist() for output in outputs],
            )
        )
    assert results[0] == results[1]
    gc.collect()
