"""Which process the launcher names as the cause."""

import itertools
import signal

import pytest

from oneflow.control_plane.root_cause import End, Word, blames_others, find_cause

GLOO = "ValueError: UNKNOWN: Gloo all-reduce failed: Connection reset by peer"
KILLED = -int(signal.SIGKILL)
ABORTED = -int(signal.SIGABRT)


def word(rank: int, reason: str, culprit: int | None = None, verdict: bool = False) -> tuple:
    return rank, rank if culprit is None else culprit, reason, verdict


# Ends, words, the cause. All orders of what was seen must lead to the same.
CASES = {
    "a signal, and an error that blames others": (
        [End(0, KILLED), End(1, 1)],
        [word(1, f"rank 1 failed: {GLOO}")],
        (0, "rank 0 was killed by SIGKILL"),
    ),
    "a signal, and JAX ends another process": (
        [End(0, KILLED), End(1, 1, last_lines="the JAX distributed service detected fatal errors")],
        [],
        (0, "rank 0 was killed by SIGKILL"),
    ),
    "a signal, and another aborts": (
        [End(0, ABORTED), End(1, -int(signal.SIGSEGV)), End(2, 1)],
        [word(2, f"rank 2 failed: {GLOO}")],
        (1, "rank 1 was killed by SIGSEGV"),
    ),
    "a signal that others have seen": (
        [End(0, KILLED), End(1, 1), End(2, 1)],
        [word(1, "rank 0 ended abruptly", 0, True), word(2, f"rank 2 failed: {GLOO}")],
        (0, "rank 0 ended abruptly"),
    ),
    "signals of the launcher": (
        [End(0, KILLED, told=True), End(1, 3), End(2, KILLED, told=True)],
        [],
        (1, "rank 1 ended with exit code 3"),
    ),
    "a verdict": (
        [End(0, 1), End(1, 1)],
        [word(0, "rank 1 sleeps", 1, True), word(1, "rank 1 sleeps", 1, True)],
        (1, "rank 1 sleeps"),
    ),
    "a verdict on a process of another machine": (
        [End(0, 1), End(1, 1)],
        [word(0, "rank 5 sleeps", 5, True), word(1, f"rank 1 failed: {GLOO}")],
        (5, "rank 5 sleeps"),
    ),
    "an exception, known to others as an abrupt end": (
        [End(0, 1), End(1, 1)],
        [word(0, "rank 0 failed: ValueError: x"), word(1, "rank 0 ended abruptly", 0, True)],
        (0, "rank 0 failed: ValueError: x"),
    ),
    "an exception, and an error that blames others": (
        [End(0, 1), End(1, 1)],
        [word(0, f"rank 0 failed: {GLOO}"), word(1, "rank 1 failed: ValueError: x")],
        (1, "rank 1 failed: ValueError: x"),
    ),
    "a verdict that blames others": (
        [End(0, 1), End(1, 1)],
        [word(0, f"rank 1 failed: {GLOO}", 1, True), word(1, "rank 1 failed: KeyError: 'x'")],
        (1, "rank 1 failed: KeyError: 'x'"),
    ),
    "an exit without a word": (
        [End(0, 7), End(1, 1)],
        [word(1, f"rank 1 failed: {GLOO}")],
        (0, "rank 0 ended with exit code 7"),
    ),
    "an end before the others": (
        [End(0, 0), End(1, 1)],
        [word(1, f"rank 1 failed: {GLOO}")],
        (0, "rank 0 ended with exit code 0"),
    ),
    "one that fails and one that is well": (
        [End(0, 0), End(1, 4)],
        [],
        (1, "rank 1 ended with exit code 4"),
    ),
    "nothing but blame": (
        [End(0, 1), End(1, 1)],
        [word(0, f"rank 0 failed: {GLOO}"), word(1, f"rank 1 failed: {GLOO}")],
        (0, f"rank 0 failed: {GLOO}"),
    ),
    "a signal without a name": ([End(0, -40)], [], (0, "rank 0 was killed by signal 40")),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_does_not_depend_on_the_order(case):
    ends, words, expected = CASES[case]
    for some_ends in itertools.permutations(ends):
        for some_words in itertools.permutations(words):
            written = [Word(*each, time=0.0) for each in some_words]
            assert find_cause(some_ends, written) == expected


def test_among_equals_the_first_is_the_cause():
    ends = [End(0, 3, time=2.0), End(1, 4, time=1.0)]
    assert find_cause(ends, []) == (1, "rank 1 ended with exit code 4")


def test_whom_an_exception_blames():
    assert blames_others(GLOO)
    assert blames_others("XlaRuntimeError: UNAVAILABLE: the coordination service has gone")
    assert not blames_others("ValueError: shapes differ")
