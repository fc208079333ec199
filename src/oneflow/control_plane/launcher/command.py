"""The command line of the launcher."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
import uuid
from collections.abc import Sequence

from oneflow.base import environment
from oneflow.base.command_parser import CommandParser
from oneflow.control_plane.channel import free_port
from oneflow.control_plane.launcher.worker_group import WorkerGroup
from oneflow.tuning.linux import THREAD_CACHE_SETTING
from oneflow.tuning.settings import Setting, is_on

_DEFAULT_PORT = 29500


def parse_args(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the launcher's options, from the command line unless given."""
    parser = CommandParser(
        prog="python -m oneflow launch",
        description="Start a script in several processes that train together.",
    )
    add = parser.add_argument
    add("--nnodes", type=int, default=1, help="number of machines")
    add("--node_rank", type=int, default=0, help="index of this machine, from 0")
    add("--nproc_per_node", type=int, default=1, help="processes on each machine")
    add("--master_addr", default="127.0.0.1", help="address of the machine of rank 0")
    add(
        "--master_port",
        type=int,
        default=None,
        help="port on that machine on which the processes rendezvous; default: a free one, "
        f"{_DEFAULT_PORT} for several machines",
    )
    add("-m", "--module", action="store_true", help="the script is the name of a module")
    add("--no_python", action="store_true", help="the script is an executable program")
    add(
        "--redirect_stdout_and_stderr",
        action="store_true",
        help="write the output of processes to LOGDIR/local_rank_N/stdout and stderr instead of "
        "showing it",
    )
    add("--logdir", default=None, help="also write the output of rank N to LOGDIR/rank_N.log")
    add("training_script", help="script to run; everything after it is passed to it")
    add("training_script_args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    _check(parser, options)
    return options


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.nproc_per_node < 1 or options.nnodes < 1:
        parser.error("--nproc_per_node and --nnodes must be at least 1")
    if not 0 <= options.node_rank < options.nnodes:
        parser.error(f"--node_rank must be from 0 to {options.nnodes - 1}, got {options.node_rank}")
    if options.module and options.no_python:
        parser.error("--module and --no_python exclude each other")
    if options.redirect_stdout_and_stderr and options.logdir is None:
        parser.error("--redirect_stdout_and_stderr needs --logdir")
    local = options.master_addr == "localhost" or options.master_addr.startswith("127.")
    if options.nnodes > 1 and not local and not environment.SECRET.read():
        parser.error(
            "a job of several machines needs a secret, so that nobody else can join it; run this "
            "on all of them, with the same text, and start again:\n"
            f"  export {environment.SECRET.name}={secrets.token_hex(16)}"
        )
    if options.master_port is None:
        options.master_port = _DEFAULT_PORT if options.nnodes > 1 else free_port()
    elif options.node_rank == 0:
        problem = _port_problem(options.master_port)
        if problem:
            parser.error(f"--master_port {options.master_port} cannot be used: {problem}")


def _port_problem(port: int) -> str | None:
    if not 0 < port < 65536:
        return "ports are from 1 to 65535"
    try:
        socket.create_server(("", port)).close()
    except OSError as error:
        return error.strerror
    return None


def environment_of(options: argparse.Namespace, local_rank: int) -> dict[str, str]:
    """Return the environment of the process with this local rank."""
    variables = {
        environment.MASTER_ADDR: options.master_addr,
        environment.MASTER_PORT: options.master_port,
        environment.WORLD_SIZE: options.nnodes * options.nproc_per_node,
        environment.RANK: options.node_rank * options.nproc_per_node + local_rank,
        environment.LOCAL_RANK: local_rank,
        environment.LOCAL_WORLD_SIZE: options.nproc_per_node,
        environment.CLUSTER: "auto",
    }
    result = {**os.environ, **{variable.name: str(value) for variable, value in variables.items()}}
    # The launcher may itself have been started by a rank of another job.
    for variable in (environment.RANK_PROCESS, environment.JOB, environment.AGENT_STORE):
        result.pop(variable.name, None)
    if is_on(Setting.THREAD_CACHE):
        result.setdefault("GLIBC_TUNABLES", THREAD_CACHE_SETTING)
    return result


def command_of(options: argparse.Namespace) -> list[str]:
    """Return the command that each process runs."""
    command = [] if options.no_python else [sys.executable, "-u"]
    if options.module:
        command.append("-m")
    return [*command, options.training_script, *options.training_script_args]


def main() -> int:
    """Start the processes, wait for them, and return the exit code."""
    options = parse_args()
    envs = [environment_of(options, local) for local in range(options.nproc_per_node)]
    if options.nnodes == 1:
        job_variables = {environment.JOB.name: uuid.uuid4().hex}
        job_variables[environment.SECRET.name] = secrets.token_hex(16)
        for env in envs:
            env.update(job_variables)
    workers = WorkerGroup(command_of(options), envs)
    return workers.run(options.logdir, options.redirect_stdout_and_stderr)
