"""Settings of the process, facts about the build, and names of PyTorch's that stand for nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow as flow
import oneflow.backends.cudnn as cudnn
from oneflow.base.replaced_variables import REPLACED
from oneflow.command_line import commands, completion, doctor
from oneflow.command_line.doctor import main, report


def threads_of_xla(setup: str, **variables: str) -> int:
    """The number of XLA's threads in a process of its own."""
    code = f"""
import os, oneflow as flow
{setup}
(flow.ones(300, 300) @ flow.ones(300, 300)).sum().item()
flow.linalg.inv(flow.eye(3)).numpy()
names = [open(f"/proc/self/task/{{each}}/comm").read() for each in os.listdir("/proc/self/task")]
print(sum(name.startswith("tf_XLAEigen") for name in names))
"""
    kept = {name: value for name, value in os.environ.items() if name != "NPROC"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, **variables, "ONEFLOW_CPU_DEVICES": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_threads_of_xla() -> None:
    assert threads_of_xla("flow.set_num_threads(3)") == 3
    assert threads_of_xla("assert flow.get_num_threads() == 5", OMP_NUM_THREADS="5") == 5


def test_threads_that_run_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPROC", "2")
    flow.linalg.inv(flow.eye(3)).numpy()
    with pytest.warns(UserWarning, match="before the first tensor"):
        flow.set_num_threads(1)
    assert flow.get_num_threads() == 1


def test_default_tensor_types() -> None:
    try:
        flow.set_default_tensor_type(flow.DoubleTensor)
        assert flow.tensor(0.5).dtype is flow.float64
        flow.set_default_tensor_type("torch.HalfTensor")
        assert flow.tensor(0.5).dtype is flow.float16
    finally:
        flow.set_default_tensor_type(flow.FloatTensor)
    assert flow.tensor(0.5).dtype is flow.float32
    for bad in (flow.LongTensor, "oneflow.NoTensor", 3):
        with pytest.raises(TypeError, match="floating point tensors"):
            flow.set_default_tensor_type(bad)


def test_dtypes_and_their_sizes() -> None:
    for dtype in flow.dtypes():
        assert dtype.bytes == flow.empty(1, dtype=dtype).element_size()
        assert flow.convert_oneflow_dtype_to_numpy_dtype(dtype).itemsize == dtype.bytes


def test_numbers_of_pytorchs() -> None:
    assert (flow.pi, flow.e, flow.inf) == (np.pi, np.e, np.inf)
    assert np.isnan(flow.nan)
    assert flow.ones(2)[flow.newaxis].shape == (1, 2)


def test_scripting_returns_what_it_is_given() -> None:
    layer = flow.nn.Linear(2, 2)
    assert flow.jit.script(layer) is flow.compile(layer, fullgraph=True) is layer
    assert flow.compile(dynamic=True)(layer) is layer
    assert flow.jit.trace(layer, flow.ones(1, 2)) is layer
    assert flow.jit.trace(flow.add, (flow.ones(1), flow.ones(1))) is flow.add
    with pytest.raises(RuntimeError):
        flow.jit.trace(layer, flow.ones(1, 5))

    @flow.jit.ignore
    def plain() -> int:
        return 1

    @flow.jit.ignore(drop=True)
    def dropped() -> int:
        return 2

    @flow.jit.unused
    def unused() -> int:
        return 3

    assert (plain(), dropped(), unused()) == (1, 2, 3)
    assert not flow.jit.is_scripting()
    assert flow.jit.annotate(list[int], [1]) == [1]


def test_switches_of_libraries_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cudnn, "benchmark", True)
    assert flow.backends.cudnn.benchmark is True
    assert not flow.backends.mps.is_available()
    assert flow.backends.cuda.is_built() == flow.cuda.is_available()
    before = flow.get_float32_matmul_precision()
    flow.backends.cuda.matmul.allow_tf32 = False
    assert flow.get_float32_matmul_precision() == "highest"
    flow.set_float32_matmul_precision(before)
    assert flow.backends.cuda.matmul.allow_tf32 is (before != "highest")


def test_worker_threads() -> None:
    with flow.asyncs.thread(flow.asyncs.Thread()):
        x = flow.ones(2) * 3
    assert x.tolist() == [3, 3]
    wrong: Any = 1
    with pytest.raises(TypeError, match="Thread"), flow.asyncs.thread(wrong):
        pass


def test_facts_about_the_build() -> None:
    build = flow.sysconfig
    assert build.with_xla()
    assert build.with_mlir()
    assert build.has_rpc_backend_grpc()
    assert build.has_rpc_backend_local()
    assert not build.with_rdma()
    assert not build.with_tensorrt()
    assert build.with_mlir_cuda_codegen() == build.with_cuda()
    with pytest.raises(NotImplementedError, match="operators are written in Python"):
        build.get_include()
    assert (build.get_cuda_version() > 0) == build.with_cuda()


def test_doctor(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    flow.zeros(1).item()  # a process that starts with such variables warns
    monkeypatch.setenv("ONEFLOW_DRY_RUN", "1")
    monkeypatch.setenv("ONEFLOW_EAGER_HOT_AFTER", "7")
    monkeypatch.setenv("ONEFLOW_EAGR", "immediate")
    requirements = {
        "oneflow-xla": [
            "jax>=0",
            "onnx>=1; extra == 'onnx'",
            'cnn<2; extra == "vision"',
            "jax[tpu]>=0; extra == 'tpu'",
        ],
        "jax": ["numpy", "libtpu[fast]==1; extra == 'tpu'", "six; extra == 'cuda'"],
        "onnx": None,
    }
    monkeypatch.setattr(doctor, "requires", requirements.__getitem__)
    monkeypatch.setattr(doctor, "_is_installed", requirements.__contains__)
    monkeypatch.setenv("ONEFLOW_JOB_SECRET", "hidden")
    main(["--no-checks"])
    shown = capsys.readouterr().out
    assert f"version: {flow.__version__}" in shown
    assert "8 cpu" in shown
    assert "ONEFLOW_EAGER_HOT_AFTER=7" in shown
    assert f"ONEFLOW_DRY_RUN is not read; in its place: {REPLACED['ONEFLOW_DRY_RUN']}" in shown
    assert "ONEFLOW_EAGR is not read; did you mean 'ONEFLOW_EAGER'" in shown
    assert "extras: onnx, vision (without cnn), tpu (without libtpu)" in shown
    assert "hidden" not in shown
    assert len(list(report())) >= 8
    monkeypatch.setattr(doctor, "_is_installed", {}.__contains__)
    assert any("not installed" in line for line in report())


def test_doctor_tries_the_installation(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    main([])
    assert capsys.readouterr().out.count(": works (") == len(doctor.CHECKS)
    monkeypatch.setitem(doctor.CHECKS, "a compiled graph", lambda: 1 // 0)
    with pytest.raises(SystemExit, match="1"):
        main([])
    assert "a compiled graph: FAILED, ZeroDivisionError" in capsys.readouterr().out


def test_commands_are_listed_and_run(capsys: pytest.CaptureFixture) -> None:
    commands.main([])
    shown = capsys.readouterr().out
    assert all(f"  {name}" in shown for name in commands.COMMANDS)
    for name in ("launch", "plan", "serve", "onnx"):
        with pytest.raises(SystemExit, match="0"):
            commands.main([name, "--help"])
        assert "usage: " in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        commands.main(["nothing"])


def test_launch_is_a_command(tmp_path: Path) -> None:
    """The module and the console script start it; the launcher itself imports no JAX."""
    script = tmp_path / "oneflow"
    script.write_text("from oneflow.command_line.commands import main\nmain()\n")
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('ran', sys.argv[1], 'jax' in sys.modules)\n")
    for command in (["-m", "oneflow"], [str(script)]):
        told = subprocess.run(
            [sys.executable, "-X", "importtime", *command, "launch", str(program), "once"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "ran once False" in told.stdout
        assert not re.search(r"\| +jax$", told.stderr, re.MULTILINE)


def test_a_shell_completes_the_commands(capsys: pytest.CaptureFixture) -> None:
    completion.main(["bash"])
    script = capsys.readouterr().out + "COMP_WORDS=(oneflow d); COMP_CWORD=1; _oneflow; "
    done = subprocess.run(
        ["bash", "-c", f'{script} echo "${{COMPREPLY[@]}}"'], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "doctor\n")
    completion.main(["zsh"])
    assert " ".join(commands.COMMANDS) in capsys.readouterr().out
