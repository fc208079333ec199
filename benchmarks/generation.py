"""Tokens per second of a GPT-2: our server with many streams, and `transformers` on PyTorch.

    python -m benchmarks.generation --sequences 1 8 16      # needs torch, transformers

The weights are random, and the same; the likeliest tokens are taken, and compared. Our server
continues up to `--places` sequences together, by programs for one of them, for half of them and for
all, with three lengths of the caches, and reads prompts in chunks of two sizes. Each sequence is a
request that is answered token by token, by server-sent events. `transformers` computes in this
process, without any server: `generate` with its cache of keys and values, all sequences in one
batch that begins and ends together.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from pathlib import Path

import aiohttp
import numpy as np
import torch
import transformers

import oneflow as flow
from benchmarks.models.gpt2 import Decode, Gpt2

SIZES = {"vocabulary": 8192, "length": 256, "width": 384, "heads": 6, "layers": 6}
CONFIG = """
model_transaction_policy {{ decoupled: true }}
parameters {{ key: "max_length" value {{ string_value: "{length}" }} }}
"""
# The tokens that caches hold, and those of prompts that are read at once.
LENGTHS, CHUNKS = (64, 128, 256), (16, 64)


def make_reference() -> torch.nn.Module:
    """GPT-2 in `transformers`, with random weights."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=SIZES["vocabulary"],
        n_positions=SIZES["length"],
        n_embd=SIZES["width"],
        n_head=SIZES["heads"],
        n_layer=SIZES["layers"],
        initializer_range=0.2,  # logits far enough from each other to be compared
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config).eval()


def save(reference: torch.nn.Module, folder: Path, places: int) -> None:
    """Save the same model to be served."""
    model = Gpt2(**SIZES).eval()
    state = reference.transformer.state_dict()
    names = model.state_dict()
    model.load_state_dict({name: flow.tensor(state[name].numpy()) for name in names})
    graph = Decode(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for length, count in itertools.product(LENGTHS, {1, max(places // 2, 1), places}):
            zeros = flow.zeros(count, dtype=flow.int64)
            graph(zeros, zeros, model.empty_caches(count, length))
            if count > 1 and count < places:
                continue
            for chunk in CHUNKS:
                tokens = flow.zeros(count, chunk, dtype=flow.int64)
                graph(tokens, zeros, model.empty_caches(count, length), zeros + 1)
    graph.save(folder / "1")
    (folder / "config.pbtxt").write_text(CONFIG.format(length=SIZES["length"]))


def start(folder: Path, port: int) -> subprocess.Popen:
    """A server that is ready."""
    command = [sys.executable, "-m", "oneflow.serving", str(folder), "--grpc", "0"]
    process = subprocess.Popen([*command, "--http", str(port)], stderr=subprocess.DEVNULL)
    while True:
        assert process.poll() is None
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready"):
                return process
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)


async def ask_server(port: int, prompts: np.ndarray, tokens: int) -> list[list[int]]:
    """Continue all prompts at the same time."""

    async def continue_one(session: aiohttp.ClientSession, prompt: list[int]) -> list[int]:
        data = {"tokens": prompt, "max_tokens": tokens}
        url = f"http://127.0.0.1:{port}/v2/models/gpt/generate_stream"
        async with session.post(url, json=data) as response:
            lines = [line async for line in response.content if line.startswith(b"data:")]
        return [json.loads(line.removeprefix(b"data:"))["token"] for line in lines]

    async with aiohttp.ClientSession() as session:
        return await asyncio.gather(*(continue_one(session, prompt) for prompt in prompts.tolist()))


def ask_reference(model: torch.nn.Module, prompts: np.ndarray, tokens: int) -> list[list[int]]:
    """Continue all prompts in one batch."""
    given = torch.from_numpy(prompts)
    with torch.inference_mode():
        result = model.generate(
            given,
            attention_mask=torch.ones_like(given),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
        )
    return result[:, prompts.shape[1] :].tolist()


def main() -> None:
    """Print a line for each number of sequences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--places", type=int, default=16, help="sequences that run together")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each answer")
    parser.add_argument("--prompt", type=int, default=8, help="tokens of each prompt")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=8600)
    options = parser.parse_args()
    reference = make_reference()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as temporary:
        save(reference, Path(temporary) / "gpt", options.places)
        process = start(Path(temporary), options.port)
        try:
            print("| sequences | server tokens/s | transformers tokens/s | equal tokens |")
            print("|---|---|---|---|", flush=True)
            for count in options.sequences:
                prompts = random.integers(0, SIZES["vocabulary"], (count, options.prompt))
                rates: tuple[list[float], list[float]] = [], []
                for _ in range(options.rounds + 1):  # the first one warms up
                    begin = time.perf_counter()
                    ours = asyncio.run(ask_server(options.port, prompts, options.tokens))
                    middle = time.perf_counter()
                    theirs = ask_reference(reference, prompts, options.tokens)
                    end = time.perf_counter()
                    rates[0].append(count * options.tokens / (middle - begin))
                    rates[1].append(count * options.tokens / (end - middle))
                equal = np.mean(np.array(ours) == np.array(theirs))
                server, library = (statistics.median(rate[1:]) for rate in rates)
                print(f"| {count} | {server:.0f} | {library:.0f} | {equal:.1%} |", flush=True)
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    main()
