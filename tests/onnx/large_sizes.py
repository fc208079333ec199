"""Models of which a node names a size no machine has, for `tests.little_memory`.

Each is one of ONNX's own cases, or of ours below, with an attribute or an operand replaced. There
are tens of thousands; a seed chooses one for each place of an operator where a size may stand.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, defs, helper, numpy_helper

import oneflow as flow
import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow_onnx.x2oneflow.execution import NodeError
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from oneflow_onnx.x2oneflow.registry import find_operator
from oneflow_onnx.x2oneflow.values import as_tensor, fits_tensor
from tests.little_memory import SIZES, run
from tests.onnx.test_node_cases import node_cases, plain

INTEGERS = {np.dtype(name) for name in ("int32", "int64", "uint32", "uint64")}
NUMBERS = (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOATS)
# The numbers of a place that get the size: all of them, the first, or the last.
WHICH = {"all": slice(None), "first": slice(1), "last": slice(-1, None)}
# The operands that are constants of the model, and so host values.
CONSTANTS = ("none", "this", "all")

IMAGE = np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4)
WINDOW = np.ones((1, 1, 2, 2), np.float32)
ROW = np.arange(4.0, dtype=np.float32).reshape(1, 4)
ZERO, ONE = np.zeros((), np.uint8), np.ones((), np.float32)
WINDOWS = {
    "kernel_shape": [2, 2],
    "strides": [1, 1],
    "pads": [0, 0, 0, 0],
    "dilations": [1, 1],
    "group": 1,
}
TREES = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [1.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "nodes_missing_value_tracks_true": [0, 0, 0],
}
TREE = {
    "nodes_featureids": [0],
    "nodes_splits": numpy_helper.from_array(np.ones(1, np.float32)),
    "nodes_modes": numpy_helper.from_array(np.zeros(1, np.uint8)),
    "nodes_truenodeids": [0],
    "nodes_falsenodeids": [1],
    "nodes_trueleafs": [1],
    "nodes_falseleafs": [1],
    "nodes_missing_value_tracks_true": [0],
    "leaf_targetids": [0, 0],
    "leaf_weights": numpy_helper.from_array(np.ones(2, np.float32)),
    "tree_roots": [0],
    "n_targets": 1,
}
# The body of a scan that gives what it gets.
COPY = helper.make_graph(
    [helper.make_node("Identity", ["a"], ["b"])],
    "copy",
    [helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, None)],
    [helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, None)],
)
SCAN = {
    "body": COPY,
    "num_scan_inputs": 1,
    "scan_input_axes": [0],
    "scan_input_directions": [0],
    "scan_output_axes": [0],
    "scan_output_directions": [0],
}
CLASSICAL = "ai.onnx.ml"

# Nodes with attributes and operands that ONNX has no cases of.
OWN = [
    ("", "Conv", WINDOWS, [IMAGE, WINDOW]),
    ("", "ConvInteger", WINDOWS, [IMAGE.astype(np.uint8), WINDOW.astype(np.uint8)]),
    ("", "ConvTranspose", WINDOWS, [IMAGE, WINDOW]),
    ("", "DeformConv", WINDOWS, [IMAGE, WINDOW, np.zeros((1, 8, 3, 3), np.float32)]),
    (
        "",
        "QLinearConv",
        WINDOWS,
        [
            *(IMAGE.astype(np.uint8), ONE, ZERO, WINDOW.astype(np.uint8), ONE, ZERO, ONE, ZERO),
            np.zeros(1, np.int32),
        ],
    ),
    (
        "",
        "MaxUnpool",
        {k: WINDOWS[k] for k in ("kernel_shape", "strides", "pads")},
        [IMAGE, IMAGE.astype(np.int64)],
    ),
    (
        "",
        "MaxRoiPool",
        {"pooled_shape": [2, 2]},
        [IMAGE, np.asarray([[0, 0, 0, 3, 3]], np.float32)],
    ),
    ("", "MeanVarianceNormalization", {"axes": [0, 2, 3]}, [IMAGE]),
    ("", "Multinomial", {"sample_size": 2}, [ROW]),
    ("", "RandomNormal", {"shape": [2, 2]}, []),
    ("", "RandomUniform", {"shape": [2, 2]}, []),
    ("", "RandomNormalLike", {}, [IMAGE]),
    ("", "RandomUniformLike", {}, [IMAGE]),
    ("", "GlobalLpPool", {"p": 2}, [IMAGE]),
    ("", "Compress", {}, [IMAGE, np.ones(4, bool)]),
    ("", "DFT", {}, [np.ones((1, 8, 1), np.float32), np.asarray(8)]),
    (
        "",
        "LSTM",
        {"hidden_size": 1},
        [
            np.ones((2, 1, 1), np.float32),
            *[np.ones((1, 4, 1), np.float32)] * 2,
            None,
            np.asarray([2], np.int32),
        ],
    ),
    (
        "",
        "GRU",
        {"hidden_size": 1},
        [
            np.ones((2, 1, 1), np.float32),
            *[np.ones((1, 3, 1), np.float32)] * 2,
            None,
            np.asarray([2], np.int32),
        ],
    ),
    (
        "",
        "RNN",
        {"hidden_size": 1},
        [
            np.ones((2, 1, 1), np.float32),
            *[np.ones((1, 1, 1), np.float32)] * 2,
            None,
            np.asarray([2], np.int32),
        ],
    ),
    ("", "ConcatFromSequence", {"axis": 0}, [[ROW, ROW]]),
    ("", "SequenceAt", {}, [[ROW, ROW], np.asarray(1)]),
    ("", "SequenceErase", {}, [[ROW, ROW], np.asarray(1)]),
    ("", "SequenceEmpty", {}, []),
    ("", "Scan", SCAN, [IMAGE]),
    (CLASSICAL, "TreeEnsemble", TREE, [ROW]),
    (CLASSICAL, "FeatureVectorizer", {"inputdimensions": [4, 4]}, [ROW, ROW]),
    (
        CLASSICAL,
        "Imputer",
        {"imputed_value_int64s": [1], "replaced_value_int64": 2},
        [ROW.astype(np.int64)],
    ),
    (
        CLASSICAL,
        "LabelEncoder",
        {"keys_int64s": [1, 2], "values_int64s": [3, 4]},
        [ROW.astype(np.int64)],
    ),
    (CLASSICAL, "LinearClassifier", {"coefficients": [1.0] * 8, "classlabels_ints": [0, 1]}, [ROW]),
    (CLASSICAL, "LinearRegressor", {"coefficients": [1.0] * 4, "targets": 1}, [ROW]),
    (CLASSICAL, "OneHotEncoder", {"cats_int64s": [0, 1], "zeros": 1}, [ROW.astype(np.int64)]),
    (CLASSICAL, "Normalizer", {}, [ROW]),
    (CLASSICAL, "Scaler", {"offset": [1.0], "scale": [1.0]}, [ROW]),
    (
        CLASSICAL,
        "SVMClassifier",
        {
            "classlabels_ints": [0, 1],
            "vectors_per_class": [1, 1],
            "support_vectors": [1.0] * 8,
            "coefficients": [1.0] * 2,
            "rho": [1.0],
            "kernel_params": [1.0, 0.0, 2.0],
        },
        [ROW],
    ),
    (
        CLASSICAL,
        "SVMRegressor",
        {
            "n_supports": 1,
            "support_vectors": [1.0] * 4,
            "coefficients": [1.0],
            "rho": [1.0],
            "kernel_params": [1.0, 0.0, 2.0],
        },
        [ROW],
    ),
    (
        CLASSICAL,
        "TreeEnsembleClassifier",
        {
            **TREES,
            "class_ids": [0, 1],
            "class_nodeids": [1, 2],
            "class_treeids": [0, 0],
            "class_weights": [1.0, 1.0],
            "classlabels_int64s": [0, 1],
        },
        [ROW],
    ),
    (
        CLASSICAL,
        "TreeEnsembleRegressor",
        {
            **TREES,
            "target_ids": [0, 0],
            "target_nodeids": [1, 2],
            "target_treeids": [0, 0],
            "target_weights": [1.0, 1.0],
            "n_targets": 1,
        },
        [ROW],
    ),
]


class Case(NamedTuple):
    """A model without initializers, and the values of its inputs by name."""

    model: onnx.ModelProto
    values: dict[str, Any]


class Place(NamedTuple):
    """The place of a size in an operator: an attribute, or the position of an operand."""

    domain: str
    operator: str
    where: str | int


class Row(NamedTuple):
    """A size in a place of a case's node."""

    case: str
    node: int
    place: Place
    which: str
    constants: str
    size: int


@functools.cache
def cases() -> dict[str, Case]:
    """ONNX's cases and ours by name."""
    found = {}
    for node_case in node_cases():
        if "_expanded" not in node_case.name:
            names = [given.name for given in node_case.model.graph.input]
            values = map(plain, node_case.data_sets[0][0])
            found[node_case.name] = Case(node_case.model, dict(zip(names, values, strict=False)))
    for domain, operator, attributes, operands in OWN:
        values = {f"x{place}": value for place, value in enumerate(operands) if value is not None}
        names = [f"x{place}" if f"x{place}" in values else "" for place in range(len(operands))]
        node = helper.make_node(operator, names, ["y"], domain=domain, **attributes)
        infos = [onnx.ValueInfoProto(name=name) for name in (*values, "y")]
        graph = helper.make_graph([node], "g", infos[:-1], infos[-1:])
        imports = [
            helper.make_opsetid(
                domain, {"": 21, CLASSICAL: 5 if operator == "TreeEnsemble" else 4}[domain]
            )
        ]
        found[f"{operator} of ours"] = Case(helper.make_model(graph, opset_imports=imports), values)
    return found


def rows_of(name: str) -> Iterator[Row]:
    """The rows of a case."""
    model, values = cases()[name]
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    for number, node in enumerate(model.graph.node):
        operator = find_operator(node.domain, node.op_type, opsets[node.domain])
        if operator is None:
            continue
        schema = defs.get_schema(node.op_type, opsets[node.domain], node.domain)
        single = [
            name for name, attribute in schema.attributes.items() if attribute.type.name == "INT"
        ]
        found: dict[str | int, Any] = dict.fromkeys(single, 1)
        found.update(
            (attribute.name, helper.get_attribute_value(attribute))
            for attribute in node.attribute
            if attribute.type in NUMBERS
        )
        for position, operand in enumerate(node.input):
            value = values.get(operand)
            if isinstance(value, np.ndarray) and value.size:
                # Factors that sizes are multiplied by are read on the host.
                is_factor = value.dtype == np.float32 and position in operator.host
                if is_factor or value.dtype in INTEGERS:
                    found[position] = value
        for where, value in found.items():
            place = Place(node.domain, node.op_type, where)
            which = WHICH if np.size(value) > 1 else ["all"]
            constants = CONSTANTS if isinstance(where, int) else ["none", "all"]
            for options in itertools.product(which, constants, SIZES):
                yield Row(name, number, place, *options)


def all_rows() -> list[Row]:
    """The rows of all cases."""
    return [row for name in cases() for row in rows_of(name)]


def chosen(rows: list[Row], seed: str) -> list[Row]:
    """One row of each place and kind of constants."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.place, row.constants), []).append(row)
    return [random.Random(f"{seed} {key}").choice(group) for key, group in groups.items()]


def model_of(row: Row) -> tuple[onnx.ModelProto, list[Any]]:
    """The model of a row, and its inputs."""
    case = cases()[row.case]
    model, values = onnx.ModelProto(), dict(case.values)
    model.CopyFrom(case.model)
    node, where = model.graph.node[row.node], row.place.where
    constants = {name for name, value in values.items() if isinstance(value, np.ndarray)}
    if isinstance(where, str):
        set_attribute(node, where, row)
    else:
        values[node.input[where]] = filled(values[node.input[where]], row)
        if row.constants == "this":
            constants &= {node.input[where]}
    if row.constants == "none":
        constants = set()
    inputs = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(numpy_helper.from_array(values[n], n) for n in sorted(constants))
    return model, [values.get(value.name) for value in inputs]


def set_attribute(node: onnx.NodeProto, name: str, row: Row) -> None:
    """Put the size of a row into an attribute."""
    attribute = next((candidate for candidate in node.attribute if candidate.name == name), None)
    if attribute is None:
        node.attribute.append(helper.make_attribute(name, row.size))
    elif attribute.type == AttributeProto.INT:
        attribute.i = row.size
    elif attribute.type == AttributeProto.INTS:
        attribute.ints[:] = filled(np.asarray(attribute.ints), row).tolist()
    else:
        attribute.floats[:] = filled(np.asarray(attribute.floats), row).tolist()


def filled(value: np.ndarray, row: Row) -> np.ndarray:
    """A copy of an array with the size of a row in it, or as much of it as its type holds."""
    result = value.copy()
    most = np.iinfo(value.dtype).max if value.dtype.kind in "iu" else row.size
    result.reshape(-1)[WHICH[row.which]] = min(row.size, most)
    return result


def run_row(row: Row) -> None:
    """Import a model and read its outputs; raise what a node raises."""
    model, inputs = model_of(row)
    try:
        given = [
            as_tensor(v) if isinstance(v, np.ndarray) and fits_tensor(v) else v for v in inputs
        ]
        outputs = from_onnx(model)(*given)
    except NodeError as error:
        # The node's message, without its name.
        raise RuntimeError(str(error).partition("): ")[2]) from None
    for tensor in outputs if isinstance(outputs, tuple | list) else [outputs]:
        if isinstance(tensor, flow.Tensor) and tensor.numel():
            tensor[(0,) * tensor.ndim].item()


def main(first: str, seed: str = "") -> None:
    """Run the rows from a number on: those that a seed chooses, or all."""
    rows = all_rows()
    if seed:
        rows = chosen(rows, seed)
    run({str(tuple(row)): functools.partial(run_row, row) for row in rows}, int(first))


if __name__ == "__main__":
    main(*sys.argv[1:])
