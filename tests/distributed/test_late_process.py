"""A process that comes late to the first operation.

Alone in its file, it is the last test of jobs: its job sleeps beside the others.
"""

import pytest

from tests.distributed.launching import finish

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]


@pytest.mark.slow
def test_the_others_wait(late_job):
    outcome = finish(late_job)
    assert outcome.code == 0, outcome.error
    assert sorted(outcome.output.split("\n")) == ["", "done 0", "done 1"]
