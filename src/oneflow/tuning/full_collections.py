"""The frequency at which Python looks for garbage among all its objects.

Python does so after some 80,000 new objects that stay, and the first training step of a small model
makes 40,000 to 50,000. A process that has imported a library of models holds 300,000, which takes
0.2 s: in one of the first steps, and in others after it. Nearly all garbage is young, and found in
the collections of young objects, which stay as they are.
"""

from __future__ import annotations

import gc

from oneflow.tuning.settings import Setting, is_on

# Python's own thresholds, and what takes the place of the last one: collections of younger objects
# for each full one.
_DEFAULTS, _FULL_INTERVAL = ((700, 10, 10), (2000, 10, 10)), 100


def collect_rarely() -> None:
    """Make full collections a tenth as frequent, unless the user has set their threshold."""
    thresholds = gc.get_threshold()
    if thresholds in _DEFAULTS and is_on(Setting.FULL_COLLECTIONS):
        gc.set_threshold(*thresholds[:2], _FULL_INTERVAL)
