"""The options of the launcher."""

import socket
import subprocess
import sys

import pytest

from oneflow.distributed.launch import parse_args
from tests.distributed.launching import PATIENCE, environment, launch

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]


def run_launcher(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "oneflow.distributed.launch", *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


SAY_WHO = 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $0"'


def test_environment_of_processes():
    run = run_launcher(
        "--nnodes",
        "2",
        "--node_rank",
        "1",
        "--nproc_per_node",
        "2",
        "--master_port",
        "29777",
        "--no_python",
        "bash",
        "-c",
        SAY_WHO,
        "argument",
    )
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == [
        "2 0 4 2 127.0.0.1 29777 argument",
        "3 1 4 2 127.0.0.1 29777 argument",
    ]


@pytest.mark.parametrize("tunables", [None, "glibc.malloc.tcache_count=9"])
def test_threads_put_more_blocks_aside_unless_the_user_says_otherwise(monkeypatch, tunables):
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if tunables is not None:
        monkeypatch.setenv("GLIBC_TUNABLES", tunables)
    run = run_launcher("--no_python", "bash", "-c", 'echo "$GLIBC_TUNABLES"')
    assert run.stdout.strip() == (tunables or "glibc.malloc.tcache_count=200")


def test_a_module_with_arguments_that_look_like_options():
    run = run_launcher("-m", "json.tool", "--help")
    assert run.returncode == 0, run.stderr
    assert "json.tool" in run.stdout


def test_it_starts_without_jax():
    code = "import sys, runpy; sys.argv = ['-m', '--help']; sys.orig_argv = [*sys.orig_argv[:1], "
    code += "'-m', 'oneflow.distributed.launch', '--help']\ntry:\n import oneflow\n"
    code += "except SystemExit: assert 'jax' not in sys.modules; sys.exit(0)\nsys.exit(1)"
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, check=False
    )
    assert run.returncode == 0


def test_log_files(tmp_path):
    run = run_launcher(
        "--nproc_per_node",
        "2",
        "--logdir",
        str(tmp_path),
        "--no_python",
        "bash",
        "-c",
        "echo out $RANK; echo error $RANK >&2",
    )
    assert sorted(run.stdout.splitlines()) == ["out 0", "out 1"]
    assert sorted(run.stderr.splitlines()) == ["error 0", "error 1"]
    for rank in range(2):
        log = (tmp_path / f"rank_{rank}.log").read_text().splitlines()
        assert sorted(log) == [f"error {rank}", f"out {rank}"]


def test_redirected_output(tmp_path):
    run = run_launcher(
        "--nproc_per_node",
        "2",
        "--logdir",
        str(tmp_path),
        "--redirect_stdout_and_stderr",
        "--no_python",
        "bash",
        "-c",
        "echo out $RANK; echo error $RANK >&2; exit 3",
    )
    assert run.returncode == 3
    assert run.stdout == ""
    assert "exited with code 3; the last lines of its standard error:" in run.stderr
    assert (tmp_path / "local_rank_1" / "stdout").read_text() == "out 1\n"
    assert (tmp_path / "local_rank_1" / "stderr").read_text() == "error 1\n"


def test_a_program_that_does_not_exist():
    run = run_launcher("--no_python", "/nowhere/at/all")
    assert run.returncode == 1
    assert "cannot start" in run.stderr
    assert "/nowhere/at/all" in run.stderr


def test_a_port_in_use():
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = launch("collectives.py", options=("--master_port", str(port)))
    assert outcome.code == 2
    assert f"--master_port {port} cannot be used: Address already in use" in outcome.error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nproc_per_node", "0", "x.py"], "at least 1"),
        (["--nnodes", "2", "--node_rank", "2", "x.py"], "--node_rank must be from 0 to 1"),
        (["-m", "--no_python", "x"], "exclude each other"),
        (["--redirect_stdout_and_stderr", "x.py"], "needs --logdir"),
        (["--master_port", "99999", "x.py"], "from 1 to 65535"),
        (["--nnodes", "2", "--master_addr", "node0", "x.py"], "export ONEFLOW_JOB_SECRET="),
    ],
)
def test_options_that_are_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        parse_args(arguments)
    assert words in capsys.readouterr().err


def test_options_of_the_script():
    options = parse_args(["--nproc_per_node", "2", "train.py", "--nnodes", "7"])
    assert options.training_script == "train.py"
    assert options.training_script_args == ["--nnodes", "7"]
    assert options.nnodes == 1
