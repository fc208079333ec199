"""The names of upstream's private modules that programs read."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import struct
import subprocess
import sys
import typing
import unittest

import pytest

import oneflow as flow
import oneflow.unittest
from oneflow.core.record import record_pb2
from oneflow.framework import args_tree, balanced_splitter
from oneflow.framework.check_point_v2 import _broadcast_py_object
from oneflow.nn import common_types
from oneflow.support import env_var_util

SUITES = ["1n1d", "1n2d", "1n4d", "2n1d", "2n2d", "2n4d"]


def test_every_path_is_an_attribute_of_the_package_around_it():
    program = (
        "import functools, oneflow; from oneflow.base.import_paths import _NAMESPACES\n"
        "for path in _NAMESPACES:\n"
        "    if not path.startswith('oneflow.functional.'):  # names in files, which import them\n"
        "        functools.reduce(getattr, path.split('.')[1:], oneflow)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("suite", SUITES)
def test_tests_run_on_the_devices_that_they_are_for(monkeypatch, suite):
    monkeypatch.setenv("ONEFLOW_TEST_NODE_NUM", suite[0])
    monkeypatch.setenv("ONEFLOW_TEST_DEVICE_NUM", suite[2])

    class Case(flow.unittest.TestCase):
        """One test for each suite."""

    for suite_name in SUITES:
        skip_unless = getattr(flow.unittest, f"skip_unless_{suite_name}")
        setattr(Case, f"test_{suite_name}", skip_unless()(lambda self: None))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert (result.testsRun, len(result.skipped), result.failures, result.errors) == (6, 5, [], [])


def test_a_job_of_one_process_is_one_machine_with_one_device():
    assert (flow.unittest.node_size(), flow.unittest.device_num()) == (1, 1)


def test_a_test_case_forgets_the_jobs_of_earlier_ones():
    class Case(flow.unittest.TestCase):
        def test(self):
            @flow.global_function()
            def job() -> flow.typing.Numpy:
                return flow.get_variable("w", (2,), initializer=flow.ones_initializer())

            job()
            assert list(flow.get_all_variables()) == ["w"]
            self.setUp()
            assert list(flow.get_all_variables()) == []

    result = unittest.TestResult()
    Case("test").run(result)
    assert (result.failures, result.errors) == ([], [])


def test_messages_write_records_that_readers_read(tmp_path):
    record = record_pb2.OFRecord(
        feature={
            "label": record_pb2.Feature(int32_list=record_pb2.Int32List(value=[7])),
            "box": record_pb2.Feature(float_list=record_pb2.FloatList(value=[0.5, 2.0])),
            "name": record_pb2.Feature(bytes_list=record_pb2.BytesList(value=[b"cat"])),
        }
    )
    content = record.SerializeToString()
    assert flow.record.OFRecord.FromString(content) == record
    (tmp_path / "part-0").write_bytes(struct.pack("<q", len(content)) + content)
    reader = flow.nn.OFRecordReader(str(tmp_path), batch_size=1, data_part_num=1)
    label = flow.nn.OFRecordRawDecoder("label", shape=(1,), dtype=flow.int32)
    box = flow.nn.OFRecordRawDecoder("box", shape=(2,), dtype=flow.float32)
    batch = reader()
    assert (label(batch).tolist(), box(batch).tolist()) == ([[7]], [[0.5, 2.0]])


def test_parts_are_those_of_a_split_tensor():
    for total, parts in ((5, 3), (4, 4), (2, 3), (0, 2)):
        sizes = balanced_splitter.BalancedPartNums(total, parts)
        assert sizes == sorted(sizes, reverse=True)
        assert (sum(sizes), max(sizes) - min(sizes) <= 1) == (total, True)
        ranges = balanced_splitter.BalancedRanges(total, parts)
        assert [end - start for start, end in ranges] == sizes


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Output:
    loss: typing.Any
    hidden: typing.Any


def test_trees_of_arguments():
    arguments = ([1, (2, None)], {"x": 3, "more": Pair(4, Output(5, [6]))})
    tree = args_tree.ArgsTree(arguments)
    ten = tree.map_leaf(lambda leaf: None if leaf is None else 10 * leaf)
    assert ten == ([10, (20, None)], {"x": 30, "more": Pair(40, Output(50, [60]))})
    assert [node for node in tree.iter_nodes() if isinstance(node, int)] == [1, 2, 3, 4, 5, 6]
    assert args_tree.ArgsTree([1, 2]).map_tuple_leaf(str) == ["1", "2"]
    assert list(args_tree.ArgsTree([1, [2, 3]]).iter_tuple_nodes()) == [1, 2, 3]


def test_trees_of_named_arguments():
    tree = args_tree.ArgsTree([1, {"x": 3, 5: [4]}], gen_name=True, root_name="in")
    named = {path: node for path, node in tree.iter_named_nodes() if node.is_leaf()}
    assert {path: node.value() for path, node in named.items()} == {
        "0_1": 1,
        "1.0_x": 3,
        "1.1.0_5": 4,
    }
    assert [node.global_index() for node in tree.iter_nodes()] == [0, 1, 2, 3, 4, 5]
    assert tree.map_leaf(lambda node: node.value() + 1) == [2, {"x": 4, 5: [5]}]
    with pytest.raises(ValueError, match="gen_name=True"):
        args_tree.ArgsTree([1]).iter_named_nodes()
    with pytest.raises(ValueError, match="set_value"):
        args_tree.NamedArg("0", "x").value()


def test_the_extension_module():
    internal = flow._oneflow_internal
    assert internal.cpu_broadcast(b"text", 0) == b"text"
    assert _broadcast_py_object({"step": [3]}) == {"step": [3]}
    assert (internal.Tensor, internal.Size, internal.device) == (
        flow.Tensor,
        flow.Size,
        flow.device,
    )
    assert (internal.GetRank(), internal.GetWorldSize(), internal.IsMultiClient()) == (0, 1, True)
    assert internal.UniqueStr("a") != internal.UniqueStr("a")
    assert internal.GetCPUMemoryUsed() > 0
    assert internal.flags.with_cuda() == flow.sysconfig.with_cuda()
    assert internal.flags.cuda_version() == flow.sysconfig.get_cuda_version()
    internal.eager.Sync()
    internal.profiler.RangePush("step")
    internal.profiler.RangePop()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("oneflow.core.job.job_conf_pb2", "flow.function_config"),
        ("oneflow.framework.session_context", "clear_default_session"),
        ("oneflow.mock_torch.mock_utils", "enable and disable"),
        ("oneflow.nn.utils.parameters_grouping", "XLA lays parameters out"),
    ],
)
def test_modules_that_do_not_exist_say_what_stands_for_them(path, text):
    with pytest.raises(ModuleNotFoundError, match=text):
        importlib.import_module(path)


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("oneflow._oneflow_internal", "dtr", "activation_checkpointing"),
        ("oneflow._oneflow_internal", "InsertOps", "part in C"),
        ("oneflow.core.operator.op_conf_pb2", "VariableOpConf", "no messages"),
    ],
)
def test_names_that_do_not_exist_say_what_stands_for_them(path, name, text):
    with pytest.raises(AttributeError, match=text):
        getattr(importlib.import_module(path), name)


@pytest.mark.parametrize(
    ("text", "expected"), [("1", True), ("ON", True), ("y", True), ("0", False), ("", False)]
)
def test_switches_in_environment_variables(monkeypatch, text, expected):
    monkeypatch.setenv("A_SWITCH", text)
    assert env_var_util.parse_boolean_from_env("A_SWITCH", not expected) is expected
    monkeypatch.delenv("A_SWITCH")
    assert env_var_util.parse_boolean_from_env("A_SWITCH", expected) is expected


def test_what_a_tensor_depends_on_changes_nothing():
    x = flow.ones(2)
    depend = flow.nn.functional.depend
    assert depend(x, x * 2) is x
    assert depend(x, [x * 2, x + 1]) is x
    with pytest.raises(TypeError, match="`depend` must be tensors, got int"):
        depend(x, [3])


@pytest.mark.parametrize("name", common_types.__all__)
def test_types_of_sizes_can_be_taken_apart_and_written(name):
    kind = getattr(common_types, name)
    assert kind.__origin__ is typing.Union
    number, several = kind.__args__
    assert (number in (int, float), several.__origin__) == (True, tuple)
    assert eval(repr(kind), {"typing": typing}) == kind


def test_a_group_must_set_what_has_no_default():
    required = flow.nn.optimizer.optimizer.required

    class Descent(flow.optim.Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr})

    weight = flow.nn.Parameter(flow.ones(2))
    with pytest.raises(ValueError, match="lacks the option `lr`"):
        Descent([weight])
    assert Descent([{"params": [weight], "lr": 0.5}]).param_groups[0]["lr"] == 0.5
    assert issubclass(flow.optim.lr_scheduler.StepLR, flow.nn.optimizer.lr_scheduler.LrScheduler)
