"""Which process of a failed job is the cause, from how all of them ended.

When one process ends, others fail too, in milliseconds or seconds, and nothing says in which order
that is observed. So the kind of an end decides, and only among equals the time.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

# What an exception says, or JAX prints, if it comes from the connection to another process.
_SIGNS_OF_OTHERS = (
    *("Gloo", "NCCL", "Connection reset", "Connection closed", "Connection refused", "Broken pipe"),
    *("JAX distributed service", "coordination service", "CoordinationService"),
)


def blames_others(failure: str) -> bool:
    """Whether a failure probably comes from the end of another process."""
    return any(sign in failure for sign in _SIGNS_OF_OTHERS)


@dataclass(frozen=True)
class End:
    """How a process of this machine ended.

    Attributes:
        rank: the process.
        code: its exit code, negative for a signal.
        time: when that was seen, in seconds.
        told: it was told to end before, by a signal of the launcher.
        last_lines: the end of its standard error.
    """

    rank: int
    code: int
    time: float = 0.0
    told: bool = False
    last_lines: str = ""

    def in_words(self) -> str:
        """The exit code or signal in words."""
        if self.code < 0:
            names = {each.value: each.name for each in signal.Signals}
            return f"was killed by {names.get(-self.code, f'signal {-self.code}')}"
        return f"ended with exit code {self.code}"


@dataclass(frozen=True)
class Word:
    """What a process left about why it ended.

    Attributes:
        rank: who wrote it.
        culprit: the process that is the cause, as far as it knew.
        reason: the cause in words.
        verdict: it was told so by the watch over all processes, or saw that end.
        time: when, in seconds.
    """

    rank: int
    culprit: int
    reason: str
    verdict: bool
    time: float


def find_cause(ends: Sequence[End], words: Sequence[Word]) -> tuple[int, str]:
    """The rank that is the cause, and the reason in words.

    Args:
        ends: of all processes of this machine, in any order; one at least.
        words: what processes left, in any order.
    """
    suspects = [(_weight_of_word(word), word.time, word.culprit, word.reason) for word in words]
    spoken = {word.rank for word in words}
    for end in ends:
        weight = _weight_of_end(end, end.rank in spoken)
        if weight is not None:
            reason = f"rank {end.rank} {end.in_words()}"
            suspects.append((weight, end.time, end.rank, reason))
    _, _, culprit, reason = min(suspects)
    return culprit, _best_reason(culprit, reason, words)


# The smaller the weight, the more likely is the cause.
_BY_SIGNAL, _BY_VERDICT, _BY_ITSELF, _IN_SILENCE, _TOO_EARLY, _BY_OTHERS = range(6)


def _weight_of_word(word: Word) -> int:
    if blames_others(word.reason):
        return _BY_OTHERS
    return _BY_VERDICT if word.verdict else _BY_ITSELF


def _weight_of_end(end: End, spoken: bool) -> int | None:
    """None: this end says nothing that the process has not said itself."""
    # What libraries do when they cannot go on without the others.
    aborted = end.code == -signal.SIGABRT
    if end.code < 0 and not end.told and not aborted:
        return _BY_SIGNAL
    if spoken:
        return None
    if end.told or aborted:
        return _BY_OTHERS
    if end.code == 0:
        # It counts only if others fail without it: in a whole job nobody ends before the others.
        return _TOO_EARLY
    return _BY_OTHERS if blames_others(end.last_lines) else _IN_SILENCE


def _best_reason(culprit: int, reason: str, words: Sequence[Word]) -> str:
    """What is known of a cause, from the process itself if it could still say something."""
    about = [word for word in words if word.culprit == culprit and not blames_others(word.reason)]
    about.sort(key=lambda word: (word.rank != culprit, not word.verdict, word.time, word.rank))
    return about[0].reason if about else reason
