"""Faults in samples, workers and loops: nothing is lost, nothing waits forever."""

import gc
import itertools
import multiprocessing
import os
import signal
import traceback

import pytest

from oneflow.data import pool
from oneflow.utils.data import DataLoader
from tests.data import samples
from tests.data.loaders import workers
from tests.data.scripts import run


@workers
def test_exceptions_of_samples(num_workers):
    def load(how):
        return DataLoader(samples.Misbehaves(how), num_workers=num_workers)

    with pytest.raises(ValueError, match="sample 3 is broken") as caught:
        list(load("raise"))
    if num_workers:
        assert "in DataLoader worker process 1" in str(caught.value)
        assert "in misbehave" in str(caught.value)
    with pytest.raises(KeyError, match="missing"):
        list(load("key"))


@workers
@pytest.mark.parametrize("kind", samples.ODD_EXCEPTIONS)
def test_exceptions_that_cannot_be_made_again_of_a_text(num_workers, kind):
    loader = DataLoader(samples.Misbehaves(kind), num_workers=num_workers)
    with pytest.raises((samples.ODD_EXCEPTIONS[kind], RuntimeError)) as caught:
        list(loader)
    if num_workers:
        text = "".join(traceback.format_exception(caught.value))
        assert f"Caught {kind} in DataLoader worker process 1" in text
        assert "in misbehave" in text


@workers
@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (samples.Misbehaves("stop"), {}, "`__getitem__` .* StopIteration for index 3"),
        (samples.Misbehaves("stop"), {"batch_size": None}, "StopIteration for index 3"),
        (samples.InBatches(), {"batch_size": 2}, r"StopIteration for the indices \[0, 1\]"),
        (samples.Squares(), {"collate_fn": samples.stop}, "`collate_fn` raised StopIteration"),
        (samples.Count(), {"collate_fn": samples.stop}, "`collate_fn` raised StopIteration"),
    ],
)
def test_no_sample_is_lost_by_stop_iteration(num_workers, dataset, options, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        list(DataLoader(dataset, num_workers=num_workers, **options))
    assert not num_workers or "in DataLoader worker process" in str(caught.value)


@pytest.mark.parametrize(
    ("dataset", "options"),
    [(samples.StopsAtOnce(), {}), (samples.Squares(), {"worker_init_fn": samples.stop})],
)
def test_no_epoch_is_empty_by_stop_iteration(dataset, options):
    with pytest.raises(RuntimeError, match="Caught StopIteration in DataLoader worker process 0"):
        list(DataLoader(dataset, num_workers=2, **options))


def test_batches_that_cannot_be_sent():
    loader = DataLoader(range(2), num_workers=1, collate_fn=samples.generate)
    with pytest.raises(TypeError, match="cannot pickle 'generator' object"):
        list(loader)


def test_batches_larger_than_what_fits_between_processes(tmp_path):
    result = run(
        """
        from oneflow.utils.data import DataLoader
        from tests.data.samples import Texts, keep_list
        loader = DataLoader(Texts(300_000), 50_000, num_workers=1, collate_fn=keep_list)
        print([len(batch) for batch in loader])
        loader = DataLoader(
            Texts(300_000), 1_000, num_workers=1, collate_fn=keep_list, prefetch_factor=300
        )
        print(sum(len(batch) for batch in loader))
        """,
        tmp_path,
    )
    assert result.stdout == f"{[50_000] * 6}\n300000\n", result.stderr


def test_the_epoch_goes_on_after_an_exception():
    batches = iter(DataLoader(samples.Misbehaves("raise"), num_workers=2))
    seen = []
    for _ in range(6):
        try:
            seen.append(next(batches).item())
        except ValueError:
            seen.append("error")
    assert seen == [0, 1, 2, "error", 4, 5]


@pytest.mark.parametrize(("how", "message"), [("exit", "exit code 7"), ("kill", "SIGKILL")])
def test_dead_workers(how, message):
    batches = iter(DataLoader(samples.Misbehaves(how), num_workers=2))
    with pytest.raises(RuntimeError, match=message):
        list(batches)
    assert next(batches, "over") == "over"


def test_timeout(monkeypatch):
    """The worker that sleeps does so for ever: nothing waits until it is done."""
    monkeypatch.setattr(pool, "MP_STATUS_CHECK_INTERVAL", 0.1)
    before = loader_processes()
    with pytest.raises(RuntimeError, match=r"timed out after .* seconds"):
        list(DataLoader(samples.Misbehaves("sleep"), num_workers=1, timeout=0.5))
    assert loader_processes() == before


def test_timeout_while_a_worker_takes_nothing(monkeypatch):
    monkeypatch.setattr(pool, "MP_STATUS_CHECK_INTERVAL", 0.1)
    loader = DataLoader(
        samples.Texts(10**6), 1_000, num_workers=1, timeout=0.5, collate_fn=samples.to_length
    )
    batches = iter(loader)
    (process,) = batches._source._pool._processes
    os.kill(process.pid, signal.SIGSTOP)
    # It may have fetched some before it was stopped.
    with pytest.raises(RuntimeError, match="timed out"):
        list(itertools.islice(batches, 900))
    assert not process.is_alive()


def leave(loader, how):
    """Leave a loop over the loader in the middle."""
    if how == "interrupt while waiting":
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    for _ in loader:
        if how == "break":
            break
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "error":
            raise ValueError("of the loop")


def failing_order():
    yield from range(8)
    raise ValueError("of the sampler")


@pytest.mark.parametrize(
    ("how", "loading", "error"),
    [
        ("break", (samples.Squares(), {}), None),
        ("error", (samples.Squares(), {}), ValueError),
        ("interrupt", (samples.Squares(), {}), KeyboardInterrupt),
        ("interrupt while waiting", (samples.Misbehaves("sleep"), {}), KeyboardInterrupt),
        ("worker's error", (samples.Misbehaves("raise"), {}), ValueError),
        ("sampler's error", (samples.Squares(), {"sampler": failing_order()}), ValueError),
    ],
)
def test_workers_end_when_the_loop_is_left(monkeypatch, how, loading, error):
    monkeypatch.setattr(pool, "MP_STATUS_CHECK_INTERVAL", 0.1)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    dataset, options = loading
    before = loader_processes()
    gc.disable()
    try:
        leave(DataLoader(dataset, num_workers=2, **options), how)
    except (ValueError, KeyboardInterrupt) as problem:
        # The exception, with all that its traceback refers to, still exists.
        seen = type(problem), loader_processes()
    else:
        seen = None, loader_processes()
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, previous)
    assert seen == (error, before)


def loader_processes():
    children = multiprocessing.active_children()
    return {child.pid for child in children if child.name.startswith("oneflow-loader")}


def test_persistent_workers_after_an_error_and_an_interrupt():
    loader = DataLoader(samples.Misbehaves("raise"), num_workers=2, persistent_workers=True)
    for _ in range(2):
        with pytest.raises(ValueError, match="sample 3"):
            list(loader)
    processes = loader._pool._processes
    assert all(process.is_alive() for process in processes)
    batches = iter(loader)
    loader._pool.answer = interrupt
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    # Values that they were sending may be half read.
    assert not any(process.is_alive() for process in processes)
    assert next(iter(loader)).item() == 0


def interrupt(number):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("dataset", "options", "error", "message"),
    [
        (samples.FailsToUnpack([1]), {}, OSError, "no such disk"),
        (samples.FailsToStart(), {}, LookupError, "nothing to read"),
        (
            samples.Squares(),
            {"worker_init_fn": samples.fail_at_start},
            RuntimeError,
            "cannot start",
        ),
        (samples.HoldsGenerator(), {}, RuntimeError, "cannot be sent .* 'generator'"),
    ],
)
def test_workers_that_cannot_start(dataset, options, error, message):
    with pytest.raises(error, match=message):
        list(DataLoader(dataset, num_workers=1, **options))


# The ways in which a script ends within an epoch, with its exit code.
ENDINGS = (("signal.raise_signal(signal.SIGINT)", -signal.SIGINT), ("sys.exit(3)", 3))


@pytest.mark.parametrize(("ending", "code"), ENDINGS, ids=["interrupted", "exits"])
def test_ctrl_c_and_leaving_early_end_cleanly(tmp_path, ending, code, sample):
    sample.take_turns(ENDINGS, (ending, code))
    result = run(
        f"""
        import signal, sys
        from oneflow.utils.data import DataLoader
        from tests.data.samples import Squares
        # The signal is ignored from the start where tests run in the background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        loader = DataLoader(Squares(100), num_workers=2, persistent_workers=True)
        for batch in loader:
            {ending}
        """,
        tmp_path,
    )
    assert result.returncode == code
    errors = [line for line in result.stderr.splitlines() if "Error" in line]
    assert errors == [], result.stderr
