"""Programs that JAX keeps no file of are found on disk all the same.

Here one process plays another one than the first; `tests/distributed/test_second_start.py` has two.
"""

import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from oneflow.base.x64 import x64
from oneflow.compiler import jit_function, persistent_cache
from oneflow.compiler.jit_function import JitFunction

VECTOR = jax.ShapeDtypeStruct((3,), np.dtype(np.float32))
ROW = np.arange(3, dtype=np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of programs, in a process whose programs JAX does not keep."""
    monkeypatch.setattr(jit_function, "_is_written_by_jax", lambda devices: False)
    before = jax.config.jax_compilation_cache_dir
    settings = {
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_compilation_cache_max_size": -1,
        "jax_enable_compilation_cache": True,
    }
    values = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    persistent_cache._set_folder(str(tmp_path))
    yield tmp_path
    persistent_cache._set_folder(before)
    for name, value in values.items():
        jax.config.update(name, value)


def compiled(function, *types, jax_finds=False, **options):
    """Compile a function, and return the program and whether it was found on disk.

    Here JAX writes, too; other processes find nothing of it, unless `jax_finds`.
    """
    requests = []
    for path in Path(jax.config.jax_compilation_cache_dir or ".").glob("*-cache"):
        if not jax_finds:
            path.unlink()

    def listen(event, **_):
        if event.endswith("compile_requests_use_cache"):
            requests.append(event)

    jax.monitoring.register_event_listener(listen)
    try:
        with x64():
            program = JitFunction(function, jax.local_devices()[:1], **options).compile(*types)
    finally:
        jax.monitoring.unregister_event_listener(listen)
    return program, not requests


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.program"))


def test_a_program_is_found_again(folder):
    first, is_found = compiled(lambda x: [x * 2, x.sum()], VECTOR)
    assert not is_found
    assert len(files(folder)) == 1
    second, is_found = compiled(lambda x: [x * 2, x.sum()], VECTOR)
    assert is_found
    for program in (first, second):
        double, total = program(ROW)
        assert double.tolist() == [0, 2, 4]
        assert total == 3
    sizes = [program.memory_analysis().output_size_in_bytes for program in (first, second)]
    assert sizes[0] == sizes[1] > 0
    assert [path.suffix for path in folder.iterdir() if "-cache" not in path.name] == [".program"]


@pytest.mark.parametrize(
    ("other", "types", "options"),
    [
        pytest.param(lambda x, y: x * 3, (VECTOR, VECTOR), {}, id="another text"),
        pytest.param(lambda x, y: y * 2, (VECTOR, VECTOR), {}, id="another unused argument"),
        pytest.param(
            lambda x, y: x * 2,
            (VECTOR, jax.ShapeDtypeStruct((4,), np.dtype(np.float32))),
            {},
            id="another type of an unused argument",
        ),
        pytest.param(lambda x, y: (x * 2,), (VECTOR, VECTOR), {}, id="another structure"),
        pytest.param(lambda x, y: x * 2, (VECTOR, (VECTOR,)), {}, id="structure of arguments"),
        pytest.param(lambda x, y: x * 2, (VECTOR, VECTOR), {"donate_argnums": 0}, id="donated"),
        pytest.param(
            lambda x, y: x * 2,
            (VECTOR, VECTOR),
            {"compiler_options": {"xla_backend_optimization_level": "0"}},
            id="options",
        ),
    ],
)
def test_another_program_is_not_taken_for_it(folder, other, types, options):
    compiled(lambda x, y: x * 2, VECTOR, VECTOR)
    program, is_found = compiled(other, *types, **options)
    assert not is_found
    assert len(files(folder)) == 2
    numbers = itertools.count(1)
    arguments = jax.tree.map(lambda kind: np.full(kind.shape, next(numbers), kind.dtype), types)
    loaded, is_found = compiled(other, *types, **options)
    assert is_found
    for result in (program(*arguments), loaded(*arguments)):
        np.testing.assert_array_equal(result, other(*arguments))


@pytest.mark.parametrize(
    "place",
    [
        "oneflow.base.cluster.rank",
        "oneflow.base.cluster.world_size",
        "oneflow.compiler.jit_function.available_cores",
        "oneflow.compiler.jit_function._processor",
        "oneflow.compiler.jit_function._versions",
    ],
)
def test_other_processes_and_machines_have_files_of_their_own(place, monkeypatch):
    compiled(lambda x: x * 2, VECTOR)
    monkeypatch.setattr(place, lambda: 7)
    assert not compiled(lambda x: x * 2, VECTOR)[1]


def test_flags_of_xla_are_part_of_a_name(monkeypatch):
    compiled(lambda x: x * 2, VECTOR)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert not compiled(lambda x: x * 2, VECTOR)[1]


def test_what_jax_finds_is_not_stored_again(folder):
    compiled(lambda x: x * 2, VECTOR)
    (path,) = files(folder)
    path.unlink()
    program, _ = compiled(lambda x: x * 2, VECTOR, jax_finds=True)
    assert not files(folder)
    assert program(ROW).tolist() == [0, 2, 4]


def test_what_a_loaded_program_takes_over_is_gone():
    types = (VECTOR, VECTOR)
    compiled(lambda x, y: [x + y], *types, donate_argnums=(0,))
    program, is_found = compiled(lambda x, y: [x + y], *types, donate_argnums=(0,))
    x, y = jnp.asarray(ROW), jnp.asarray(ROW)
    (total,) = program(x, y)
    assert is_found
    assert total.tolist() == [0, 2, 4]
    assert x.is_deleted()
    assert not y.is_deleted()


def damaged(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    return {
        "empty": b"",
        "short": content[:middle],
        "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "another layout": b"flowprg0" + content[8:],
        "of another program": content,
    }


@pytest.mark.parametrize("damage", damaged(b"--"))
def test_a_damaged_file_is_compiled_anew_and_replaced(folder, damage):
    if damage == "of another program":
        compiled(lambda x: x * 3, VECTOR)
        (path,) = files(folder)
        content = path.read_bytes()
        path.unlink()
        compiled(lambda x: x * 2, VECTOR)
        (path,) = files(folder)
    else:
        compiled(lambda x: x * 2, VECTOR)
        (path,) = files(folder)
        content = path.read_bytes()
    path.write_bytes(damaged(content)[damage])
    program, is_found = compiled(lambda x: x * 2, VECTOR)
    assert not is_found
    assert program(ROW).tolist() == [0, 2, 4]
    assert compiled(lambda x: x * 2, VECTOR)[1]


def test_content_that_xla_does_not_load_is_compiled_anew(folder):
    compiled(lambda x: x * 2, VECTOR)
    (path,) = files(folder)
    jit_function._ProgramFile(folder, path.stem)._write(b"no program")
    program, is_found = compiled(lambda x: x * 2, VECTOR)
    assert not is_found
    assert program(ROW).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("jax_persistent_cache_min_compile_time_secs", 1e6),
        ("jax_persistent_cache_min_entry_size_bytes", 10**9),
        ("jax_compilation_cache_max_size", 10**9),
        ("jax_enable_compilation_cache", False),
        ("jax_compilation_cache_dir", None),
    ],
)
def test_settings_of_jax_hold(folder, setting, value):
    jax.config.update(setting, value)
    for _ in range(2):
        program, _ = compiled(lambda x: x * 2, VECTOR)
        assert program(ROW).tolist() == [0, 2, 4]
    assert not files(folder)


def test_nothing_is_written_to_a_folder_far_away(folder, monkeypatch):
    monkeypatch.chdir(folder)
    jax.config.update("jax_compilation_cache_dir", "gs://bucket/programs")
    assert jit_function._folder() is None
    assert not list(folder.iterdir())


def test_a_program_that_calls_python_is_not_kept(folder):
    def call(x):
        return jax.pure_callback(lambda x: np.asarray(x) * 2, VECTOR, x)

    for _ in range(2):
        program, _ = compiled(call, VECTOR)
        assert program(ROW).tolist() == [0, 2, 4]
    assert not files(folder)


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(folder):
    folder.chmod(0o500)
    try:
        program, _ = compiled(lambda x: x * 2, VECTOR)
    finally:
        folder.chmod(0o700)
    assert program(ROW).tolist() == [0, 2, 4]


def test_a_call_compiles_once_for_each_shape(folder):
    double = JitFunction(lambda x: x * 2, jax.local_devices()[:1])
    for count in (3, 4, 3, 4):
        row = np.arange(count, dtype=np.float32)
        assert double(row).tolist() == (row * 2).tolist()
    assert len(files(folder)) == 2
