"""Broken and hostile models, and wrong inputs: refused with an error that says why."""

from __future__ import annotations

import itertools
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import oneflow as flow
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from tests.onnx.models import parsed

RELU = "g (float[n, 2] x) => (float[n, 2] y) { y = Relu(x) }"


def test_all_unsupported_operators_are_listed():
    nodes = [
        helper.make_node("Fancy", ["x"], ["a"], name="first", domain="com.example"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Strange", ["b"], ["y"], name="second", domain="com.example"),
    ]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 3)]
    with pytest.raises(NotImplementedError) as raised:
        from_onnx(helper.make_model(graph, opset_imports=opsets))
    for part in ("2 nodes", "Fancy (first)", "Strange (second)", "com.example 3", "onnx_op"):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, r"missing inputs \['x'\]"),
        ((flow.ones(1, 2), flow.ones(1)), {}, TypeError, "2 inputs given"),
        ((), {"z": flow.ones(1, 2)}, TypeError, r"no inputs named \['z'\]"),
        ((flow.ones(1, 2),), {"x": flow.ones(1, 2)}, TypeError, "given twice"),
        ((flow.ones(1, 3),), {}, ValueError, r"`x` must have the shape \['n', 2\], not \[1, 3\]"),
        ((flow.ones(2),), {}, ValueError, "must have the shape"),
        ((flow.ones(1, 2, dtype=flow.int32),), {}, TypeError, "type FLOAT, not INT32"),
    ],
)
def test_wrong_inputs(args, kwargs, error, message):
    with pytest.raises(error, match=message):
        from_onnx(parsed(RELU))(*args, **kwargs)


def test_example_inputs_are_checked_at_once():
    with pytest.raises(ValueError, match="must have the shape"):
        from_onnx(parsed(RELU), flow.ones(3))
    with pytest.raises(TypeError, match="no inputs named"):
        from_onnx(parsed(RELU), {"z": flow.ones(1, 2)})


def test_errors_name_the_node():
    model = parsed("g (float[n] x, float[m] z) => (float[k] y) { y = Add(x, z) }")
    with pytest.raises(RuntimeError, match=r"in node Add \(y\)"):
        from_onnx(model)(flow.ones(2), flow.ones(3))


@pytest.mark.parametrize("data", [b"", b"no model", b"\x08\x0a" * 50])
def test_bytes_that_are_no_model(data):
    with pytest.raises(ValueError, match="model"):
        from_onnx(data)


def doubled(operator, kind, is_constant):
    """A value joined with itself 36 times."""
    names = ["x", *[f"t{number}" for number in range(35)], "y"]
    attributes = {"axis": 0} if operator == "Concat" else {}
    nodes = [
        helper.make_node(operator, [before, before], [after], **attributes)
        for before, after in itertools.pairwise(names)
    ]
    infos = [helper.make_tensor_value_info(name, kind, [None]) for name in "xy"]
    text = np.array(["ab"], object) if kind == TensorProto.STRING else np.ones(2, np.int64)
    constants = [numpy_helper.from_array(text, "x")] if is_constant else []
    graph = helper.make_graph(nodes, "g", infos[: not is_constant], infos[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    return model, () if is_constant else (text,)


@pytest.mark.parametrize(
    ("operator", "kind", "is_constant"),
    [
        ("Concat", TensorProto.INT64, True),
        ("StringConcat", TensorProto.STRING, True),
        ("StringConcat", TensorProto.STRING, False),
    ],
)
def test_values_that_double_are_refused(operator, kind, is_constant):
    model, arguments = doubled(operator, kind, is_constant)
    with pytest.raises((ValueError, RuntimeError), match="at most"):
        from_onnx(model)(*arguments)


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62])
@pytest.mark.parametrize(
    ("operator", "attributes"),
    [("Split", lambda n: {"num_outputs": n}), ("MaxRoiPool", lambda n: {"pooled_shape": [n, n]})],
)
def test_counts_without_bound_are_refused(operator, attributes, size):
    names = ["x", "rois"] if operator == "MaxRoiPool" else ["x"]
    node = helper.make_node(operator, names, ["y"], **attributes(size))
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in (*names, "y")]
    graph = helper.make_graph([node], "g", infos[:-1], infos[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    arguments = [flow.ones(1, 1, 4, 4), flow.tensor([[0.0, 0, 0, 3, 3]])][: len(names)]
    with pytest.raises((ValueError, RuntimeError), match=r"at most|num_outputs"):
        from_onnx(model)(*arguments)


WINDOWS = {
    "MaxPool": {"pads": 0.5},
    "MaxPool to the same size": {"auto_pad": "SAME_UPPER"},
    "AveragePool": {"pads": 0.5, "count_include_pad": 1},
    "AveragePool to the same size": {"auto_pad": "SAME_LOWER"},
    "LpPool": {"pads": 0.5},
    "LpPool to the same size": {"auto_pad": "SAME_UPPER"},
}


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_without_bound_are_refused(name, size):
    options = dict(WINDOWS[name])
    if "pads" in options:
        options["pads"] = [size // 2] * 4
    operator = name.partition(" ")[0]
    node = helper.make_node(operator, ["x"], ["y"], kernel_shape=[size, size], **options)
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * 4) for n in "xy"]
    graph = helper.make_graph([node], "g", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises((ValueError, RuntimeError), match="at most"):
        from_onnx(model)(flow.ones(1, 1, 4, 4))


def test_truncated_file(tmp_path):
    model = parsed("g (float[9] x) => (float[9] y) { y = Add(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.ones(9, np.float32), "w"))
    whole = model.SerializeToString()
    path = tmp_path / "model.onnx"
    for length in range(1, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"."):
            from_onnx(path)


def external(path, location, **entries):
    """Write a model whose initializer is stored elsewhere."""
    model = parsed("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    tensor = model.graph.initializer.add()
    tensor.name, tensor.data_type = "w", TensorProto.FLOAT
    tensor.dims.append(2)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_outside_the_folder(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(8))
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    for location in ("../secret", str(tmp_path / "secret"), "a/../../secret", "link", ""):
        with pytest.raises(ValueError, match="external data of `w`"):
            from_onnx(external(folder / "model.onnx", location))


def test_external_data_beyond_the_end(tmp_path):
    (tmp_path / "data").write_bytes(bytes(8))
    path = tmp_path / "model.onnx"
    for entries in ({"offset": 4, "length": 8}, {"offset": -8}, {"length": 10**12}):
        with pytest.raises(ValueError, match="which has 8"):
            from_onnx(external(path, "data", **entries))
    assert from_onnx(external(path, "data", length=8))(flow.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(FileNotFoundError):
        from_onnx(external(path, "nothing"))
    with pytest.raises(FileNotFoundError, match="external data of `w`"):
        from_onnx(external(path, "."))
    # Reading a pipe that nobody writes to would not end.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="external data of `w`"):
        from_onnx(external(path, "pipe"))
    with pytest.raises(ValueError, match="stored outside the model"):
        from_onnx(onnx.load(str(path), load_external_data=False))


def test_cycle():
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Neg", ["a"], ["b"])]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xa"]
    with pytest.raises(ValueError, match="cycle"):
        from_onnx(helper.make_model(helper.make_graph(nodes, "g", infos[:1], infos[1:])))


def test_nodes_out_of_order_are_sorted():
    nodes = [helper.make_node("Neg", ["a"], ["y"]), helper.make_node("Exp", ["x"], ["a"])]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy"]
    opset = helper.make_opsetid("", 21)
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[opset])
    assert from_onnx(model)(flow.zeros(1)).tolist() == [-1.0]


def test_values_that_nothing_makes():
    with pytest.raises(ValueError, match=r"nothing makes: \['ghost'\]"):
        from_onnx(parsed("g (float[n] x) => (float[n] y) { y = Add(x, ghost) }"))


def test_function_that_calls_itself():
    model = parsed(
        'g (float[n] x) => (float[n] y) { y = local.f (x) } <domain: "local", opset_import: '
        '["": 21, "local": 1]> f (a) => (b) { b = local.f (a) }',
        more='"local": 1',
    )
    with pytest.raises(ValueError, match="levels deep, or a function calls itself"):
        from_onnx(model)


def test_functions_in_functions():
    calls = "".join(
        f'<domain: "local", opset_import: ["": 21, "local": 1]> f{index} (a) => (b) '
        f"{{ b = local.f{index + 1} (a) }}"
        for index in range(60)
    )
    last = '<domain: "local", opset_import: ["": 21]> f60 (a) => (b) { b = Neg(a) }'
    text = "g (float[n] x) => (float[n] y) { y = local.f0 (x) }"
    with pytest.raises(ValueError, match="levels deep"):
        from_onnx(parsed(text + calls + last, more='"local": 1'))


def test_functions_that_double():
    """As a file they are small, and written out they have 2^30 nodes."""
    calls = "".join(
        f'<domain: "local", opset_import: ["": 21, "local": 1]> f{index} (a) => (b) '
        f"{{ c = local.f{index + 1} (a) b = local.f{index + 1} (c) }}"
        for index in range(30)
    )
    last = '<domain: "local", opset_import: ["": 21]> f30 (a) => (b) { b = Neg(a) }'
    text = "g (float[n] x) => (float[n] y) { y = local.f0 (x) }"
    with pytest.raises(ValueError, match="written out, have more than"):
        from_onnx(parsed(text + calls + last, more='"local": 1'))


def test_subgraphs_in_memory():
    """Models that were never parsed can be nested more deeply than files."""
    model = parsed("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    graph = model.graph
    for _ in range(3000):
        node = graph.node.add(op_type="If")
        graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    with pytest.raises(ValueError, match="levels deep"):
        from_onnx(model)


def test_subgraphs_in_subgraphs():
    def field(number, content):
        size, length = len(content), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    graph = b""
    for _ in range(5000):
        graph = field(1, field(5, field(6, graph)))
    with pytest.raises(ValueError, match="not an ONNX model"):
        from_onnx(field(7, graph))


AS_IMAGE = "r = Constant <value = int64[4] {1, 1, 1, 1}> () a = Reshape(x, r)"
HUGE = "Constant <value = int64[2] {100000, 100000}> ()"


@pytest.mark.parametrize(
    "body",
    [
        f"s = {HUGE} y = ConstantOfShape(s)",
        f"s = {HUGE} y = Expand(x, s)",
        f"s = {HUGE} r = Constant <value = int64[2] {{1, 1}}> () v = Reshape(x, r) y = Tile(v, s)",
        "a = Constant <value = int64 {0}> () b = Constant <value = int64 {9000000000}> ()"
        " c = Constant <value = int64 {1}> () y = Range(a, b, c)",
        "y = RandomNormal <shape = [100000, 100000]> ()",
        "p = Constant <value = int64[2] {0, 9000000000}> () y = Pad(x, p)",
        "s = Constant <value = float[1] {1e10}> () y = Resize(x, , s)",
        "d = Constant <value = int64 {9000000000}> () v = Constant <value = float[2] {0, 1}> ()"
        " i = Cast <to = 7> (x) y = OneHot(i, d, v)",
        "s = Constant <value = int64[1] {9000000000}> () y = CenterCropPad(x, s)",
        f"{AS_IMAGE} y = Conv <pads = [50000, 50000, 50000, 50000]> (a, a)",
        f"{AS_IMAGE} y = ConvTranspose <output_shape = [100000, 100000]> (a, a)",
        f"{AS_IMAGE} s = Constant <value = int64[4] {{1, 1, 100000, 100000}}> ()"
        " i = Constant <value = int64[1, 1, 1, 1] {0}> ()"
        " y = MaxUnpool <kernel_shape = [1, 1]> (a, i, s)",
        f"{AS_IMAGE} q = Constant <value = float[1, 4] {{0, 0, 1, 1}}> ()"
        " i = Constant <value = int64[1] {0}> ()"
        " y = RoiAlign <output_height = 100000, output_width = 100000> (a, q, i)",
        "s = Constant <value = int64[2] {60000, 1}> () c = Expand(x, s) r = Transpose(c)"
        " y = MatMul(c, r)",
        "s = Constant <value = int64[2] {60000, 1}> () c = Expand(x, s) r = Transpose(c)"
        " y = Mul(c, r)",
        "r = Constant <value = int64[3] {1, 1, 1}> () a = Reshape(x, r)"
        f" s = {HUGE} k = {HUGE} y = Col2Im(a, s, k)",
    ],
)
def test_values_of_a_billion_elements(body):
    """Nothing of that size is made: results of tensors are refused before they are computed."""
    with pytest.raises(RuntimeError, match="elements"):
        from_onnx(parsed(f"g (float[1] x) => (float y) {{ {body} }}"))(flow.ones(1))


FLOAT, INT4, STRING = TensorProto.FLOAT, TensorProto.INT4, TensorProto.STRING


@pytest.mark.parametrize(
    "fields",
    [
        {"dims": [-1]},
        {"dims": [10**6, 10**6]},
        {"dims": [2**62, 2**62]},
        {"dims": [2**14, 2**14], "float_data": [1.0]},
        {"dims": [2], "float_data": [1.0, 2.0, 3.0]},
        {"dims": [5], "raw_data": bytes(30)},
        {"dims": [2], "raw_data": bytes(4)},
        {"dims": [3], "raw_data": bytes(1), "data_type": INT4},
        {"dims": [2], "string_data": [b"one"], "data_type": STRING},
        {"dims": [2], "raw_data": bytes(8), "data_type": 0},
        {"dims": [2], "raw_data": bytes(8), "data_type": 99},
    ],
    ids=str,
)
def test_tensors_that_their_data_do_not_fill(fields):
    model = parsed("g (float[2] x) => (float y) { y = Add(x, w) }")
    model.graph.initializer.append(TensorProto(name="w", **{"data_type": FLOAT, **fields}))
    with pytest.raises(ValueError, match="tensor `w`"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("dims", "place", "message"),
    [
        ([100_000, 100_000], 0, "10000000000 elements"),
        ([-1], 0, "must not be negative"),
        ([2], 7, "indices outside its shape"),
        ([2], -1, "indices outside its shape"),
    ],
)
def test_sparse_tensors(dims, place, message):
    model = parsed("g (float[2] x) => (float y) { y = Add(x, w) }")
    sparse = model.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.asarray([place])))
    with pytest.raises(ValueError, match=message):
        from_onnx(model)


def test_two_nodes_make_one_value():
    with pytest.raises(ValueError, match="two nodes have an output named `y`"):
        from_onnx(parsed("g (float[n] x) => (float[n] y) { y = Neg(x) y = Exp(x) }"))
