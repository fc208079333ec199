"""A law: what some processes have saved goes on as before on another number of processes."""

import pytest

from tests.distributed.launching import assert_succeeds

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]

# Classes of the program: FSDP by strategies and states, then ZeRO by stages and files.
WAYS = (
    "Sharded",
    "Zero",
    "InParts",
    "ZeroWhole",
    "GradientsInParts",
    "Zero2",
    "OnMesh",
    "Zero3",
    "OnMeshWhole",
)
SAMPLED_WAYS = 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory, sample):
    """The folder in which two processes have saved, and the ways."""
    folder = tmp_path_factory.mktemp("resumption")
    ways = sample.rotation(WAYS, SAMPLED_WAYS)
    assert_succeeds("resumption.py", "save", str(folder), *ways)
    return str(folder), ways


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_training_goes_on_as_if_it_had_not_ended(saved, processes, sample):
    sample.take_turns([1, 4, 2], processes, 2)
    folder, ways = saved
    assert_succeeds("resumption.py", "resume", folder, *ways, processes=processes)
