"""Raising exceptions at any moment, as a signal handler does."""

import signal

import numpy as np


def run_interrupted(run, seconds, error=KeyboardInterrupt):
    """Call `run` and raise `error` in it after some time; whether it came to that."""
    armed = True

    def interrupt(number, frame):
        if armed:
            raise error

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        run()
    except error:
        return True
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False


def delays(rng, count, longest):
    """Random times in seconds, short ones as likely as long ones."""
    return np.exp(rng.uniform(np.log(2e-6), np.log(longest), count))


def contents(tensors):
    """The values of tensors by name."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def assert_before_or_after(now, before, after):
    """Check that every tensor holds the value of before or after a step."""
    for name, value in now.items():
        kept = np.allclose(value, before[name], rtol=1e-5, atol=1e-7)
        stepped = np.allclose(value, after[name], rtol=1e-5, atol=1e-7)
        assert kept or stepped, f"{name}: {value}, before {before[name]}, after {after[name]}"
