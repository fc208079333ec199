"""Chips as data, and plans for one that is not here."""

import dataclasses
import os
import re
import sys
from types import SimpleNamespace

import pytest

import oneflow as flow
from oneflow.base.device import platform_devices
from oneflow.compiler import options, topologies
from oneflow.compiler.options import compiler_options
from oneflow.plan import chip_named, chip_names, command, plan_graph, planning, register_chip
from oneflow.plan.command import main
from oneflow.plan.hlo_account import account_of
from oneflow.plan.xla import collectives_in
from oneflow.primitives.cost.time_model import boxing_seconds

H100 = chip_named("h100")


class Product(flow.nn.Graph):
    def build(self, x, y):
        return x @ y


def product_plan(dtype=flow.float32, **options):
    with planning():
        grid = flow.placement("cuda", [0])
        x = flow.ones(4096, 4096, dtype=dtype, placement=grid, sbp=flow.sbp.broadcast)
        return plan_graph(Product(), x, x, **options)


@pytest.fixture
def cpu_as_chip(monkeypatch):
    """XLA compiles for CPU devices in place of a chip's."""
    monkeypatch.setattr(topologies, "missing_devices", lambda chip, count: platform_devices("cpu"))
    monkeypatch.setattr(command, "missing_devices", lambda chip, count: ())


@pytest.mark.parametrize("name", chip_names())
def test_chips_are_whole(name):
    chip = chip_named(name)
    assert set(chip.flops) == {"float16", "bfloat16", "float32", "float64"}
    assert 0 < chip.network < chip.link < chip.bandwidth < min(chip.flops.values())
    assert chip.memory > 1 << 33


def test_links_between_nodes_are_slower():
    assert H100.link_rate(group=8, stride=1) == H100.link
    # All eight of a node send what one would.
    assert H100.link_rate(group=64, stride=1) == 8 * H100.network
    # One of each node.
    assert H100.link_rate(group=8, stride=8) == H100.network


def test_conversions_know_their_links():
    with planning():
        grid = flow.placement("cuda", range(64), (8, 8))
        spec = flow.ones(1 << 24, placement=grid, sbp=[flow.sbp.broadcast] * 2).spec
    whole, summed = flow.sbp.broadcast, flow.sbp.partial_sum
    between = boxing_seconds(H100, spec, (summed, whole), (whole, whole))
    within = boxing_seconds(H100, spec, (whole, summed), (whole, whole))
    assert between == pytest.approx(within * H100.link / H100.network, rel=0.1)


def test_half_precision_computes_faster():
    options = {"compile": False, "chip": H100}
    single, half = (product_plan(dtype, **options) for dtype in (flow.float32, flow.bfloat16))
    assert single.seconds == pytest.approx(2 * half.seconds, rel=0.01)


def test_a_chip_of_ones_own():
    slow = dataclasses.replace(H100, name="slow", flops=dict.fromkeys(H100.flops, 1e12))
    register_chip(slow)
    register_chip(slow)
    assert product_plan(chip=chip_named("slow"), compile=False).seconds > 0.1
    with pytest.raises(ValueError, match="another chip is called 'slow'"):
        register_chip(dataclasses.replace(slow, link=1.0))
    with pytest.raises(ValueError, match=r"no chip is called 'h1000'; there are a100, h100.*"):
        chip_named("h1000")


def test_xla_compiles_for_the_chip(cpu_as_chip):
    plan = product_plan(chip=H100)
    assert "on 1 h100 device\n" in repr(plan)
    assert re.search(r"runs kernels +\d", repr(plan))
    assert re.search(r"fits into 79.1 GiB +yes", repr(plan))
    assert "compiled for h100" in repr(plan)
    small = dataclasses.replace(H100, name="small", memory=1 << 20)
    assert re.search(r"fits into 1.00 MiB +no", repr(product_plan(chip=small)))


def test_the_command_line(cpu_as_chip, capsys):
    main(["--chips", "list"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == chip_names()
    main(["examples/plans.py:mlp", "--chips", "v5e:1", "width=32", "layers=2"])
    assert "on 1 v5e device\n" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no chip is called 'h1000'"):
        main(["examples/plans.py:mlp", "--chips", "h1000:8"])


def test_a_missing_compiler_says_what_to_install(monkeypatch):
    monkeypatch.setattr(topologies, "_is_installed", lambda package: package == "jax-cuda12-plugin")
    for name, missing in (("v6e", "libtpu"), ("b200", "jax-cuda12-pjrt nvidia-cuda-nvcc-cu12")):
        with pytest.raises(SystemExit, match=f"`{name}` needs .*: pip install --no-deps {missing}"):
            main(["examples/plans.py:mlp", "--chips", f"{name}:2"])


def test_the_compiler_for_gpus_is_loaded_where_no_driver_answers(monkeypatch):
    skipped = []

    def describe(**options):
        if not skipped:
            raise NotImplementedError("topology not implemented for cuda")
        return SimpleNamespace(devices=["chip"])

    def initialize():
        skipped.append(os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"])

    monkeypatch.setattr(topologies, "missing_packages", lambda device_type: [])
    monkeypatch.setattr(topologies, "_find_cuda_tools", lambda: None)
    monkeypatch.setattr(topologies.topologies, "get_topology_desc", describe)
    plugin = SimpleNamespace(initialize=initialize)
    monkeypatch.setitem(sys.modules, "jax_plugins.xla_cuda12", plugin)
    monkeypatch.setenv("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "")
    assert topologies.missing_devices.__wrapped__(H100, 1) == ("chip",)
    assert skipped == ["1"]
    assert not os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"]


def test_an_unknown_strategy_lists_the_others():
    with pytest.raises(ValueError, match="must be one of data, tensor, 2d, free, got 'x'"):
        main(["examples/plans.py:mlp", "--model", "strategy=x"])


TEXT = """\
HloModule step

%fused (p0: f32[1024,64], p1: s32[]) -> f32[64] {
  %p0 = f32[1024,64]{1,0} parameter(0)
  %p1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %row = f32[1,64]{1,0} dynamic-slice(%p0, %p1, %zero), dynamic_slice_sizes={1,64}
  ROOT %flat = f32[64]{0} bitcast(%row)
}

%body (state: (f32[64], s32[])) -> (f32[64], s32[]) {
  %state = (f32[64]{0}, s32[]) parameter(0)
  %x = f32[64]{0} get-tuple-element(%state), index=0
  %i = s32[] get-tuple-element(%state), index=1
  %exp = f32[64]{0} exponential(%x)
  ROOT %pair = (f32[64]{0}, s32[]) tuple(%exp, %i)
}

ENTRY %main (a: f32[1024,64], i: s32[]) -> f32[64] {
  %a = f32[1024,64]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %fusion = f32[64]{0} fusion(%a, %i), kind=kLoop, calls=%fused
  %start = f32[64]{0} all-reduce-start(%fusion), replica_groups={{0,1}}
  %done = f32[64]{0} all-reduce-done(%start)
  %init = (f32[64]{0}, s32[]) tuple(%done, %i)
  %loop = (f32[64]{0}, s32[]) while(%init), body=%body, config={"known_trip_count":{"n":"5"}}
  ROOT %result = f32[64]{0} get-tuple-element(%loop), index=0
}
"""


def test_kernels_and_bytes_of_a_compiled_program():
    account = account_of(TEXT)
    # The fusion reads one row and an index, and the loop runs five times.
    row = 64 * 4
    assert account.kernels == 1 + 1 + 5
    assert account.bytes == (2 * row + 4) + 2 * row + 5 * 2 * row
    assert account.asynchronous == 1


COLLECTIVE = """\
ENTRY %main (p: {operand}) -> {result} {{
  %p = {operand} parameter(0)
  ROOT %collective = {type} {opcode}(%p), replica_groups={{{{0,1}}}}
}}
"""


@pytest.mark.parametrize(
    ("kind", "operand", "result", "started"),
    [
        ("all-reduce", 64, 64, "f32[64]{0}"),
        ("all-gather", 32, 64, "(f32[32]{0}, f32[64]{0})"),
        ("reduce-scatter", 64, 32, "((f32[64]{0:T(256)}), f32[32]{0})"),
        ("all-to-all", 64, 64, "((f32[64]{0}), f32[64]{0})"),
        ("collective-permute", 64, 64, "(f32[64]{0}, f32[64]{0}, u32[], u32[])"),
    ],
)
def test_asynchronous_collectives_send_what_others_send(kind, operand, result, started):
    types = {"operand": f"f32[{operand}]{{0}}", "result": f"f32[{result}]{{0}}"}
    text = COLLECTIVE.format(**types, type=types["result"], opcode=kind)
    begun = COLLECTIVE.format(**types, type=started, opcode=f"{kind}-start")
    (total,), (asynchronous,) = collectives_in(text), collectives_in(begun)
    counters = 8 if kind == "collective-permute" else 0
    assert total.sent == {"all-reduce": 256}.get(kind, 128)
    assert asynchronous.sent == pytest.approx(total.sent, abs=counters)
    assert account_of(text).bytes == 4 * (operand + result)
    assert account_of(begun).bytes == pytest.approx(account_of(text).bytes, abs=counters)


@pytest.mark.parametrize("name", ["h100", "v5e"])
def test_the_real_compiler(name):
    missing = topologies.missing_packages(chip_named(name).type)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    text = repr(product_plan(chip=chip_named(name)))
    assert re.search(r"runs kernels +[1-9]", text)


def test_the_compiler_for_tpus_orders_updates():
    """Long programs copy large weights without this option, which a later compiler may not have."""
    missing = topologies.missing_packages("tpu")
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    with topologies.compiling_for(chip_named("v5e"), 4), planning():
        assert compiler_options("tpu") == options._PROGRAM_OPTIONS["tpu"]
    # A plan for TPUs without their compiler is compiled for CPUs.
    with planning():
        assert compiler_options("tpu") == {}
