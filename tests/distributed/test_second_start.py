"""Every rank finds on disk the programs that it has compiled in an earlier start."""

import json

import pytest

from tests.distributed.launching import assert_succeeds

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]


def run(folder, **changes):
    """Run the program: for each rank and part, the programs that were compiled, and values."""
    # Otherwise times decide which operations are compiled.
    changes |= {"ONEFLOW_EAGER": "compiled", "ONEFLOW_CACHE_DIR": str(folder)}
    outcome = assert_succeeds("second_start.py", **changes)
    lines = [line for line in outcome.output.splitlines() if line.startswith("[")]
    parts = [json.loads(line) for line in lines]
    return {(rank, part): (compiled, values) for rank, part, compiled, values in parts}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The folder that a first start has filled, and what it computed."""
    folder = tmp_path_factory.mktemp("programs")
    return folder, run(folder)


def test_a_second_start_compiles_nothing_on_any_rank(first):
    folder, expected = first
    assert len(expected) == 10
    assert all(compiled for compiled, _ in expected.values())
    assert run(folder) == {part: (0, values) for part, (_, values) in expected.items()}


def test_damaged_and_foreign_files_are_compiled_anew(first):
    folder, expected = first
    files = sorted(folder.rglob("*.program"))
    assert len(files) > 10
    contents = [path.read_bytes() for path in files]
    for number, path in enumerate(files):
        content = contents[number]
        other = contents[number - 1]
        path.write_bytes([content[:-9], other, b"", content[:60] + b"?" + content[61:]][number % 4])
    found = run(folder)
    for (rank, part), (compiled, values) in found.items():
        assert bool(compiled) == (rank == 1), part
        assert values == expected[rank, part][1]


def test_nothing_is_written_where_the_cache_is_off(tmp_path):
    run(tmp_path, JAX_ENABLE_COMPILATION_CACHE="0")
    assert not list(tmp_path.rglob("*.program"))
