"""Code written for a model holds what its file says as data only, whatever it says."""

from __future__ import annotations

import ast
import math
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, defs, helper, numpy_helper, parser

import oneflow as flow
from oneflow_onnx.x2oneflow.codegen.literals import docstring
from oneflow_onnx.x2oneflow.codegen.templates import TEMPLATES
from oneflow_onnx.x2oneflow.codegen.writer import write_code
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from tests.onnx.test_code import flat, loaded

RUN = '__import__("os").system("echo CODE RAN")'
HOSTILE = {
    "closes a docstring": f'""";{RUN};"""',
    "closes a call": f'"), {RUN}, ("',
    "closes a quotation": f"'), {RUN}, ('",
    "expression": RUN,
    "escapes that do not end": "C:\\Users\\x\\N{a",
    "backslash at the end": "end\\",
    "quote at the end": 'end"',
    "mark of an operand": "{0}{layer0}{0.__class__.__init__.__globals__}",
    "single braces": "}{",
    "comma and brackets": "a, b), [c(" * 20,
    "lines": f"\n{RUN}\r\n\x0c{RUN}\x00",
    "other letters": "é漢\u202e\u2028\ufeff",
}
# A field of every kind that a file has.
MODEL = """
<ir_version: 10, opset_import: ["": 20, "own": 1], producer_name: "maker", doc_string: "about",
 metadata_props: ["key": "value"]>
g (float[n,2] x, bool c) => (float[n,2] y, float[n,2] z, string[k] text)
<float[2,2] w = {0.5, -1.0, 2.0, 0.25}, float[2] v = {1.0, 2.0}> {
    h = MatMul(x, w)
    a = own.scaled<factor = 3.0>(h)
    b = If (c) <
        then_branch = t () => (float[n,2] p) { s = Neg(a) p = Add(s, v) },
        else_branch = e () => (float[n,2] q) { q = Mul(a, v) }
    >
    trips = Constant<value = int64 {3}>()
    y = Loop (trips, c, b) <body = body (int64 i, bool go, float[n,2] r)
        => (bool go2, float[n,2] r2) { go2 = Identity(go) r2 = Add(r, v) }>
    z = Celu<alpha = 2.0>(y)
    words = Constant<value_strings = ["one", "two"]>()
    text, count = StringSplit<delimiter = "/">(words)
}
<domain: "own", opset_import: ["": 20]>
scaled <factor> (d) => (f) { k = Constant<value_float: float = @factor>() f = Mul(d, k) }
"""


def renamed(message, text, functions, bound):
    """Add `text` to each text of a message that does not name something of the standard."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if hasattr(value, "append") else [value]:
                renamed(part, text, functions, bound)
        elif field.type == field.TYPE_STRING and not standard(message, field, functions, bound):
            change(message, field.name, value, lambda old: old and old + text)
        elif field.type == field.TYPE_BYTES and field.name != "raw_data":
            change(message, field.name, value, lambda old: old + text.encode())


def standard(message, field, functions, bound):
    """Test if a text names an operator, an attribute, or a set of them, of the standard."""
    if field.name == "op_type":
        return message.op_type not in functions
    if field.name == "domain":
        return message.domain != "own"
    is_attribute = isinstance(message, onnx.AttributeProto)
    return is_attribute and field.name == "name" and message.name not in bound


def change(message, name, value, function):
    if isinstance(value, str | bytes):
        setattr(message, name, function(value))
    else:
        value[:] = [function(part) for part in value]


def hostile_model(text):
    model = parser.parse_model(MODEL)
    for function in model.functions:
        function.doc_string = "about"
    for node in model.graph.node:
        node.name, node.doc_string = f"node {node.op_type}", "about"
    renamed(model, text, {f.name for f in model.functions}, {"factor"})
    return model


class Skeleton(ast.NodeTransformer):
    """Text removed from a tree."""

    def visit_Constant(self, node):
        return ast.Constant("") if isinstance(node.value, str) else node


def skeleton(source):
    return ast.dump(Skeleton().visit(ast.parse(source)), indent=1)


@pytest.mark.parametrize("kind", HOSTILE)
def test_texts_of_a_file_change_nothing_but_texts(kind, tmp_path):
    source = write_code(hostile_model(""), tmp_path / "plain").read_text("utf8")
    path = write_code(hostile_model(HOSTILE[kind]), tmp_path / "hostile")
    assert skeleton(path.read_text("utf8")) == skeleton(source)
    arguments = flow.tensor([[1.0, -2.0]]), flow.tensor(True)
    y, z, text = loaded(path).load()(*arguments)
    wanted = flat(from_onnx(hostile_model(HOSTILE[kind]))(*arguments))
    for one, other in zip((y, z), wanted[:2], strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert np.asarray(text).tolist() == np.asarray(wanted[2]).tolist()


@pytest.mark.parametrize("kind", HOSTILE)
def test_docstrings_are_one_literal(kind):
    (statement,) = ast.parse(docstring(HOSTILE[kind])).body
    assert ast.literal_eval(statement.value) == HOSTILE[kind]


# --- operators: an attribute that is text, a constant that is text

NODES = re.compile(
    "Module|Expr|ImportFrom|Import|alias|ClassDef|FunctionDef|arguments|arg|Return|Assign|Constant"
    "|Call|Attribute|Name|Load|Store|keyword|Tuple|List|UnaryOp|USub|BinOp|Add|Sub|Mult|Div|MatMult"
    "|Pow|BitOr|Subscript|DictComp|comprehension|IfExp"
)
NAMES = re.compile(
    r"[xyzuvw_]|t\d+|(Model|Block|Part|Body|Branch|Function)\d*"
    "|np|nn|F|flow|Tensor|Path|str|int|tuple|object|float|complex|super|self|_WEIGHTS|__file__"
    "|load_file|load|weights|model|state|name|array|call|loop|scan"
)
MODULES = {"__future__", "pathlib", "numpy", "safetensors.numpy", "oneflow", "oneflow.nn"} | {
    "oneflow_onnx.x2oneflow.calls"
}


def assert_plain(source):
    """Check code against what generated code consists of."""
    for node in ast.walk(ast.parse(source)):
        assert NODES.fullmatch(type(node).__name__)
        if isinstance(node, ast.Name):
            assert NAMES.fullmatch(node.id), node.id
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr == "__init__", node.attr
        if isinstance(node, ast.ImportFrom):
            assert node.module in MODULES, node.module
        if isinstance(node, ast.Import):
            assert {name.name for name in node.names} <= MODULES


def node_model(name, opset, operands, attributes):
    """A model of one operator; operands are constants, or None for an input."""
    names = [f"x{index}" for index in range(len(operands))]
    node = helper.make_node(name, names, ["y"], **attributes)
    kind = TensorProto.FLOAT
    inputs = [
        helper.make_tensor_value_info(n, kind, ["a", "b", "c"])
        for n, operand in zip(names, operands, strict=True)
        if operand is None
    ]
    outputs = [helper.make_tensor_value_info("y", kind, None)]
    initializers = [
        numpy_helper.from_array(operand, n)
        for n, operand in zip(names, operands, strict=True)
        if operand is not None
    ]
    graph = helper.make_graph([node], "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


REFUSALS = (ValueError, TypeError, NotImplementedError, RuntimeError, KeyError, IndexError)


def attribute_cases():
    for name in [*sorted(TEMPLATES), "DepthToSpace", "Einsum", "LSTM"]:
        for opset in (9, 11, 13, 18, 20):
            try:
                schema = defs.get_schema(name, opset)
            except defs.SchemaError:
                continue
            for attribute in schema.attributes:
                yield name, opset, len(schema.inputs), attribute


@pytest.mark.parametrize("text", [RUN, [RUN], [RUN] * 4])
def test_attributes_that_are_text(text, tmp_path):
    for name, opset, count, attribute in attribute_cases():
        given = {"kernel_shape": [2]} if name.endswith("Pool") else {}
        model = node_model(name, opset, [None] * count, {**given, attribute: text})
        try:
            path = write_code(model, tmp_path)
        except REFUSALS:
            continue
        assert_plain(path.read_text())


def operand_cases():
    """Operators with one constant among their operands, and with constants after the first."""
    for name in sorted(TEMPLATES):
        for opset in (9, 13, 18):
            try:
                most = min(len(defs.get_schema(name, opset).inputs), 3)
            except defs.SchemaError:
                continue
            for count in range(1, most + 1):
                for position in range(count):
                    yield name, opset, [index == position for index in range(count)]
                yield name, opset, [index > 0 for index in range(count)]


@pytest.mark.parametrize("dimensions", [(), (1,), (2,)])
def test_constants_that_are_text(dimensions, tmp_path):
    constant = np.full(dimensions, RUN, object)
    for name, opset, constants in operand_cases():
        operands = [constant if flag else None for flag in constants]
        given = {"kernel_shape": [2]} if name.endswith("Pool") else {}
        try:
            path = write_code(node_model(name, opset, operands, given), tmp_path)
        except REFUSALS:
            continue
        assert_plain(path.read_text())


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, -0.5, 1e-30])
def test_every_number_is_a_literal(number, tmp_path):
    constant = np.array([number, 1.0], np.float32)
    graph = onnx.parser.parse_graph("g (float[2] x) => (float[2] y) { y = Max(x, w) }")
    graph.initializer.append(numpy_helper.from_array(constant, "w"))
    graph.node[0].op_type = "PRelu"
    clip = node_model("Celu", 12, [None], {"alpha": 2.0})
    for model in (
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]),
        node_model(
            "Clip", 13, [None, np.float32(number).reshape(()), np.float32(3).reshape(())], {}
        ),
        node_model("LeakyRelu", 13, [None], {"alpha": number}),
        clip,
    ):
        path = write_code(model, tmp_path)
        assert_plain(path.read_text())
        shape = (2,) if model.graph.node[0].op_type == "PRelu" else (1, 1, 2)
        x = flow.tensor([-1.0, 2.0]).reshape(shape)
        wanted = from_onnx(model)(x).numpy()
        np.testing.assert_allclose(loaded(path).load()(x).numpy(), wanted)
