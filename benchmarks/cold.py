"""The first time of everything: operators, steps, and steps of ever new shapes.

    python benchmarks/cold.py                  # all
    python benchmarks/cold.py relu lengths     # some of them
    python benchmarks/cold.py --shapes 5000    # the memory that so many new shapes leave

Each figure is the median over fresh processes; the compilation cache is off, and imports, data and
one unrelated operator come before the clock starts.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

ROUNDS = 5
LIBRARIES = ("oneflow", "torch", "jax")
CLOCKS = {"time": time.perf_counter, "thread": time.thread_time, "process": time.process_time}
UNARY = (
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "isfinite",
    "isinf",
    "isnan",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "logit",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "std",
    "var",
    "argmax",
    "cumsum_0",
    "any",
)


def _array(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 0.9, shape).astype(np.float32)


def _operator(run: Callable[[Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
    def prepare(lib: Any) -> Callable[[], Any]:
        x = lib.tensor(_array(64, 96))
        return lambda: run(lib, x).numpy()

    return prepare


def _jax_operator(run: Callable[[Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
    def prepare(jax: Any) -> Callable[[], Any]:
        x = jax.numpy.asarray(_array(64, 96))
        return lambda: np.asarray(run(jax, x))

    return prepare


def _jax_layer_norm(jax: Any, x: Any) -> Any:
    deviation = x - x.mean(-1, keepdims=True)
    return deviation * jax.lax.rsqrt((deviation * deviation).mean(-1, keepdims=True) + 1e-5)


def _jax_attention(jax: Any, x: Any) -> Any:
    heads = x.reshape(2, 4, 8, 96)
    weights = jax.nn.softmax(heads @ heads.swapaxes(-1, -2) / 96**0.5)
    return weights @ heads


def _unary(lib: Any) -> Callable[[], Any]:
    x = lib.tensor(_array(32, 33))

    def run() -> None:
        for name in UNARY:
            name, _, argument = name.partition("_") if name.endswith("_0") else (name, "", "")
            getattr(x, name)(*([0] if argument else [])).numpy()

    return run


def _perceptron(steps: int) -> Callable[[Any], Callable[[], Any]]:
    def prepare(lib: Any) -> Callable[[], Any]:
        nn, x = lib.nn, lib.tensor(_array(16, 32))
        labels = lib.tensor(np.arange(16) % 10)

        def run() -> None:
            layers = [nn.Linear(32, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()]
            model = nn.Sequential(*layers, nn.Linear(64, 10))
            optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
            for _ in range(steps):
                _step(nn.functional.cross_entropy(model(x), labels), optimizer)

        return run

    return prepare


def _step(loss: Any, optimizer: Any) -> None:
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    loss.item()


def _steps_of_lengths(lib: Any, lengths: Iterable[int]) -> Iterator[int]:
    """A training step for each sequence length; yields the lengths."""
    nn = lib.nn
    table, layer = nn.Embedding(100, 16), nn.Linear(16, 100)
    optimizer = lib.optim.SGD([*table.parameters(), *layer.parameters()], lr=0.1)
    for length in lengths:
        tokens = lib.tensor(np.arange(length) % 100)
        _step(nn.functional.cross_entropy(layer(table(tokens)), tokens), optimizer)
        yield length


def _lengths(lib: Any) -> Callable[[], Any]:
    return lambda: list(_steps_of_lengths(lib, range(10, 50)))


def _jax_steps_of_lengths(jax: Any, lengths: Iterable[int]) -> Iterator[int]:
    step = importlib.import_module("benchmarks.jax_steps.varying").embedding_step()
    for length in lengths:
        float(step(np.arange(length) % 100))
        yield length


def _measure_memory(shapes: int, library: str) -> None:
    """Print the resident memory after steps of ever new shapes."""
    steps = _jax_steps_of_lengths if library == "jax" else _steps_of_lengths
    page = os.sysconf("SC_PAGE_SIZE")
    print("| shapes | resident MiB | processor seconds |\n|---|---|---|")
    for length in steps(importlib.import_module(library), range(1, shapes + 1)):
        if length == 100 or not length % 500:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            print(
                f"| {length} | {pages * page / 2**20:.0f} | {time.process_time():.1f} |", flush=True
            )


def _encoder(lib: Any) -> Callable[[], Any]:
    x = lib.tensor(_array(4, 16, 32))

    def run() -> None:
        layer = lib.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        layer(x).sum().backward()
        layer.linear1.weight.grad.numpy()

    return run


def _gpt(lib: Any) -> Callable[[], Any]:
    from benchmarks.models.gpt import make_model

    tokens = np.random.default_rng(1).integers(0, 512, (2, 65))
    batch, labels = lib.tensor(tokens[:, :-1]), lib.tensor(tokens[:, 1:].reshape(-1))

    def run() -> None:
        model = make_model(lib, width=64, layers=2, context=64)
        optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
        logits = model(batch).reshape(-1, 512)
        _step(lib.nn.functional.cross_entropy(logits, labels), optimizer)

    return run


def _resnet18(lib: Any) -> Callable[[], Any]:
    from benchmarks.models.vision import import_torchvision

    is_torch = lib.__name__ == "torch"
    vision = import_torchvision(lib) if is_torch else importlib.import_module("flowvision")
    images, labels = lib.tensor(_array(8, 3, 64, 64)), lib.tensor(np.arange(8))

    def run() -> None:
        model = vision.models.resnet18()
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        _step(lib.nn.functional.cross_entropy(model(images), labels), optimizer)

    return run


def _batches_of_lengths(steps: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    lengths = rng.integers(32, 257, steps)
    return [rng.integers(0, 512, (2, int(length) + 1)) for length in lengths]


def _gpt_lengths(steps: int) -> Callable[[Any], Callable[[], Any]]:
    """Training steps of a small GPT, each of another random length."""

    def prepare(lib: Any) -> Callable[[], Any]:
        from benchmarks.models.gpt import make_model

        batches = _batches_of_lengths(steps)

        def run() -> None:
            model = make_model(lib, width=128, layers=2, context=256)
            optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
            for batch in batches:
                logits = model(lib.tensor(batch[:, :-1]))
                labels = lib.tensor(batch[:, 1:]).reshape(-1)
                loss = lib.nn.functional.cross_entropy(logits.reshape(-1, 512), labels)
                _step(loss, optimizer)

        return run

    return prepare


def _sequences() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Batches of sequences, and the lengths in each."""
    rng = np.random.default_rng(1)
    lengths = [np.sort(rng.integers(16, 65, 16))[::-1].copy() for _ in range(100)]
    return [rng.integers(0, 512, (16, int(length[0]) + 1)) for length in lengths], lengths


def _packed_lstm(lib: Any) -> Callable[[], Any]:
    """100 training steps of an LSTM over packed sequences of random lengths."""
    batches, lengths = _sequences()

    def run() -> None:
        nn = lib.nn
        table, head = nn.Embedding(512, 64), nn.Linear(64, 512)
        lstm = nn.LSTM(64, 64, batch_first=True)
        parameters = [p for module in (table, lstm, head) for p in module.parameters()]
        optimizer = lib.optim.SGD(parameters, lr=0.1)
        for batch, length in zip(batches, lengths, strict=True):
            embedded = table(lib.tensor(batch[:, :-1]))
            packed = nn.utils.rnn.pack_padded_sequence(
                embedded, lib.tensor(length), batch_first=True
            )
            hidden, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
            labels = lib.tensor(batch[:, 1:]).reshape(-1)
            _step(nn.functional.cross_entropy(head(hidden).reshape(-1, 512), labels), optimizer)

    return run


def _images() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [
        rng.standard_normal((4, 3, int(height), int(width))).astype(np.float32)
        for height, width in rng.integers(24, 65, (100, 2))
    ]


def _image_sizes(lib: Any) -> Callable[[], Any]:
    """100 training steps of a small convolutional network over images of random sizes."""
    batches = _images()

    def run() -> None:
        nn, channels, layers = lib.nn, (3, 16, 32, 64), []
        for inner, outer, stride in zip(channels, channels[1:], (1, 2, 2), strict=False):
            layers += [nn.Conv2d(inner, outer, 3, stride, 1), nn.BatchNorm2d(outer), nn.ReLU()]
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
        model = nn.Sequential(*layers, *head)
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        labels = lib.tensor(np.arange(4))
        for batch in batches:
            _step(nn.functional.cross_entropy(model(lib.tensor(batch)), labels), optimizer)

    return run


def _jax_steps(make_step: str, make_batches: Callable[[], Any]) -> Callable[[Any], Any]:
    """Steps of `benchmarks/jax_steps/varying.py`, each with one of some batches."""

    def prepare(jax: Any) -> Callable[[], Any]:
        varying = importlib.import_module("benchmarks.jax_steps.varying")
        batches = list(make_batches())

        def run() -> None:
            step = getattr(varying, make_step)()
            for batch in batches:
                float(step(*batch))

        return run

    return prepare


def _tokens_and_labels(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return batch[:, :-1], batch[:, 1:]


def _jax_gpt_lengths(steps: int) -> Callable[[Any], Any]:
    return _jax_steps("gpt_step", lambda: map(_tokens_and_labels, _batches_of_lengths(steps)))


def _jax_sequences() -> Iterator[tuple[np.ndarray, ...]]:
    for batch, lengths in zip(*_sequences(), strict=True):
        yield *_tokens_and_labels(batch), lengths


def _jax_images() -> Iterator[tuple[np.ndarray, ...]]:
    for images in _images():
        yield images.transpose(0, 2, 3, 1), np.arange(4)


# Each prepares what is measured, given a library.
WORKLOADS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "relu": _operator(lambda lib, x: lib.relu(x)),
    "sum": _operator(lambda lib, x: x.sum()),
    "softmax": _operator(lambda lib, x: lib.softmax(x, -1)),
    "layer_norm": _operator(lambda lib, x: lib.nn.functional.layer_norm(x, (96,))),
    "sort": _operator(lambda lib, x: lib.sort(x)[0]),
    "indexing": _operator(lambda lib, x: x[lib.tensor([5, 3, 60])]),
    "matmul": _operator(lambda lib, x: x @ x.T),
    "attention": _operator(
        lambda lib, x: lib.nn.functional.scaled_dot_product_attention(*[x.view(2, 4, 8, 96)] * 3)
    ),
    "unary": _unary,
    "perceptron": _perceptron(1),
    "perceptron_10": _perceptron(10),
    "lengths": _lengths,
    "encoder": _encoder,
    "gpt": _gpt,
    "resnet18": _resnet18,
    "gpt_lengths": _gpt_lengths(20),
    "gpt_lengths_100": _gpt_lengths(100),
    "packed_lstm_100": _packed_lstm,
    "image_sizes_100": _image_sizes,
}

# The same as one writes it in JAX, which runs operators one by one (a function under `jax.jit`
# takes longer the first time), and whole training steps under `jax.jit`.
JAX_WORKLOADS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "relu": _jax_operator(lambda jax, x: jax.nn.relu(x)),
    "sum": _jax_operator(lambda jax, x: x.sum()),
    "softmax": _jax_operator(lambda jax, x: jax.nn.softmax(x, -1)),
    "layer_norm": _jax_operator(_jax_layer_norm),
    "sort": _jax_operator(lambda jax, x: jax.numpy.sort(x)),
    "indexing": _jax_operator(lambda jax, x: x[jax.numpy.array([5, 3, 60])]),
    "matmul": _jax_operator(lambda jax, x: x @ x.T),
    "attention": _jax_operator(_jax_attention),
    "lengths": _jax_steps("embedding_step", lambda: [[np.arange(n) % 100] for n in range(10, 50)]),
    "gpt_lengths": _jax_gpt_lengths(20),
    "gpt_lengths_100": _jax_gpt_lengths(100),
    "packed_lstm_100": _jax_steps("lstm_step", _jax_sequences),
    "image_sizes_100": _jax_steps("image_step", _jax_images),
}


def _measure_here(name: str, library: str, clock: Callable[[], float]) -> None:
    """Print the seconds that a workload takes in this process by a clock."""
    lib = importlib.import_module(library)
    if library == "jax":
        run = JAX_WORKLOADS[name](lib)
        np.asarray(lib.numpy.asarray(_array(3)) * 2)
    else:
        run = WORKLOADS[name](lib)
        (lib.tensor(_array(3)) * 2).numpy()
    before = clock()
    run()
    print(clock() - before)


def _measure(name: str, library: str, rounds: int, clock: str) -> float:
    """The median over fresh processes, in seconds."""
    command = [sys.executable, __file__, name, "--in-process", library, "--clock", clock]
    environment = {**os.environ, "ONEFLOW_CACHE_DIR": "off"}
    seconds = []
    for _ in range(rounds):
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        seconds.append(float(done.stdout.splitlines()[-1]))
    return statistics.median(seconds)


def main() -> None:
    """Measure the chosen workloads and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="fresh processes per figure")
    parser.add_argument("--shapes", type=int, help="measure the memory of so many shapes")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="time",
        help="on a busy machine: the processor time of the main thread, or of all threads",
    )
    parser.add_argument(
        "--in-process", choices=LIBRARIES, help="measure one library here; with --shapes: which"
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in WORKLOADS]
    if unknown:
        parser.error(f"unknown workload {unknown[0]!r}; known: {', '.join(WORKLOADS)}")
    if options.shapes:
        _measure_memory(options.shapes, options.in_process or "oneflow")
        return
    if options.in_process:
        _measure_here(options.names[0], options.in_process, CLOCKS[options.clock])
        return
    print("| first time | oneflow ms | torch ms | jax ms |\n|---|---|---|---|", flush=True)
    for name in options.names or WORKLOADS:
        measured = [library for library in LIBRARIES if library != "jax" or name in JAX_WORKLOADS]
        cells = [
            f"{_measure(name, library, options.rounds, options.clock) * 1e3:.1f}"
            if library in measured
            else "-"
            for library in LIBRARIES
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
