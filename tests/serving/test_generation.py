"""Generation: sequences continued token by token, many of them in one running batch."""

import contextlib
import json
import math
import queue
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.serving.generation import GenerationRequest, TokenSampler
from oneflow.serving.generator_graph import GeneratorGraph
from tests.graph.helpers import graph_of
from tests.serving.helpers import Affine, save, serving, wait_until

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("serving_generation")

VOCABULARY, LENGTH, WIDTH, HEADS = 31, 24, 16, 2
CONFIG = """
model_transaction_policy {{ decoupled: true }}
parameters {{ key: "max_length" value {{ string_value: "{length}" }} }}
dynamic_batching {{ default_queue_policy {{ max_queue_size: {queue} }} }}
"""


class Attention(nn.Module):
    """Causal attention, of whole sequences or of one further token with a cache."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def heads(self, x):
        shape = (*x.shape[:-1], HEADS, WIDTH // HEADS)
        return [each.view(*shape) for each in self.qkv(x).chunk(3, dim=-1)]

    def forward(self, x):
        q, k, v = (each.transpose(1, 2) for each in self.heads(x))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        mask = flow.ones(x.shape[1], x.shape[1]).tril() == 0
        weights = scores.masked_fill(mask, -1e9).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

    def step(self, x, position, keys, values):
        q, k, v = self.heads(x)
        at = (flow.arange(LENGTH)[None] == position[:, None])[:, :, None, None]
        keys = flow.where(at, k[:, None], keys)
        values = flow.where(at, v[:, None], values)
        scores = (q[:, None] * keys).sum(-1) / math.sqrt(q.shape[-1])
        later = (flow.arange(LENGTH)[None] > position[:, None])[:, :, None]
        weights = scores.masked_fill(later, -1e9).softmax(dim=1)
        return self.out((weights[..., None] * values).sum(1).flatten(1)), keys, values


class Gpt(nn.Module):
    """A decoder of two layers."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.attention = nn.ModuleList([Attention() for _ in range(2)])
        self.feed = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(2)])
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(flow.arange(tokens.shape[1]))
        for attention, feed in zip(self.attention, self.feed, strict=True):
            x = x + attention(x)
            x = x + feed(x).tanh()
        return self.head(x * 3)

    def step(self, token, position, caches):
        x = self.tokens(token) + self.positions(position)
        new = []
        for attention, feed, (keys, values) in zip(self.attention, self.feed, caches, strict=True):
            change, keys, values = attention.step(x, position, keys, values)
            new.append((keys, values))
            x = x + change
            x = x + feed(x).tanh()
        return self.head(x * 3), new


class Decode(nn.Graph):
    """One step of the decoder as it is served."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def build(self, token, position, cache):
        logits, cache = self.model.step(token, position, cache)
        return {"logits": logits, "cache": cache}


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A model for whole sequences, and the folder where it is saved to continue several."""
    flow.manual_seed(0)
    model = Gpt().eval()
    folder = tmp_path_factory.mktemp("models")
    for name, sizes, waiting in (("gpt2", [2], 3), ("gpt8", [8], 100), ("gpt124", [1, 2, 4], 100)):
        graph = Decode(model)
        for places in sizes:
            shape = (places, LENGTH, HEADS, WIDTH // HEADS)
            zeros = flow.zeros(places, dtype=flow.int64)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*is compiled again", UserWarning)
                graph(zeros, zeros, [(flow.zeros(*shape), flow.zeros(*shape)) for _ in range(2)])
        graph.save(folder / name / "1")
        text = CONFIG.format(length=LENGTH, queue=waiting)
        (folder / name / "config.pbtxt").write_text(text)
    return graph_of(lambda tokens: model(tokens), model=model), folder


@pytest.fixture(scope="module")
def server(decoder):
    with serving(decoder[1]) as running:
        yield running


def expected_tokens(decoder, tokens, count):
    """The likeliest continuation, by the whole sequence each time."""
    tokens = list(tokens)
    for _ in range(count):
        # What comes later does not matter, so that one program is enough.
        whole = tokens + [0] * (LENGTH - len(tokens))
        logits = decoder[0](flow.tensor([whole])).numpy()
        tokens.append(int(logits[0, len(tokens) - 1].argmax()))
    return tokens[-count:]


def generate(server, tokens, model="gpt8", **options):
    """The status and the answer to a request."""
    body = json.dumps({"tokens": tokens, **options})
    status, _, content = server.request("POST", f"/v2/models/{model}/generate", body)
    return status, json.loads(content)


PROMPTS = [[1], [2, 3], [4, 5, 6], [7, 8, 9, 10], [30, 0, 30], [11] * 10, [12, 13], [0]]


def test_tokens_are_those_of_the_model(decoder, server):
    for prompt in PROMPTS[:4]:
        status, data = generate(server, prompt, max_tokens=6)
        assert status == 200
        assert data["tokens"] == expected_tokens(decoder, prompt, 6)


@pytest.mark.parametrize(("name", "sizes"), [("gpt2", {2}), ("gpt8", {8}), ("gpt124", {1, 2, 4})])
def test_sequences_join_and_leave_a_running_batch(decoder, server, name, sizes, monkeypatch):
    used, run = set(), GeneratorGraph.advance

    def advance(graph, *arguments):
        used.add(graph.places)
        return run(graph, *arguments)

    monkeypatch.setattr(GeneratorGraph, "advance", advance)
    requests = [(prompt, 8 + index) for index, prompt in enumerate(PROMPTS)]
    requests = requests[:4] if name == "gpt2" else requests
    together = threading.Barrier(len(requests))

    def ask(request):
        together.wait()
        return generate(server, request[0], name, max_tokens=request[1])

    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(ask, requests))
    for (prompt, count), (status, data) in zip(requests, answers, strict=True):
        assert status == 200
        assert data["tokens"] == expected_tokens(decoder, prompt, count)
    (stats,) = server.get(f"/v2/models/{name}/stats")["model_stats"]
    assert max(each["batch_size"] for each in stats["batch_stats"]) > 1
    assert used == sizes


def test_a_sequence_goes_on_where_it_was_when_places_change(decoder):
    graph = GeneratorGraph(decoder[1] / "gpt124" / "1")
    prompts = [[7, 8], [1, 2], [3, 4]]
    tokens = [expected_tokens(decoder, each, 4) for each in prompts]
    sequences = [prompt + continued for prompt, continued in zip(prompts, tokens, strict=True)]
    graph.rearrange((), 4)
    running = [0, 1, 2]
    for position, (kept, places) in enumerate(
        [([0, 1, 2], 4), ([2, 0], 2), ([0, 1], 4), ([1], 1), ([0], 2)]
    ):
        graph.rearrange(kept, places)
        running = [running[place] for place in kept]
        fed = [sequences[each][position] for each in running] + [0] * (places - len(running))
        logits = graph.advance(fed, [position] * places)
        assert logits.shape == (places, VOCABULARY)
        if position > 0:
            expected = [sequences[each][position + 1] for each in running]
            assert logits.argmax(1)[: len(running)].tolist() == expected


def test_events_of_a_stream(decoder, server):
    body = json.dumps({"tokens": [1, 2], "max_tokens": 5})
    status, headers, content = server.request("POST", "/v2/models/gpt8/generate_stream", body)
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    events = [
        json.loads(each.removeprefix("data: ")) for each in content.decode().split("\n\n")[:-1]
    ]
    assert [each["token"] for each in events] == expected_tokens(decoder, [1, 2], 5)
    assert events[0]["model_name"] == "gpt8"


def test_a_sequence_ends_at_a_token_or_when_it_is_full(decoder, server):
    expected = expected_tokens(decoder, [5], LENGTH - 1)
    assert generate(server, [5])[1]["tokens"] == expected
    stop = expected[3]
    tokens = generate(server, [5], stop_token=stop)[1]["tokens"]
    assert tokens == expected[: expected.index(stop) + 1]


def test_draws_follow_the_distribution_and_the_seed(server):
    sampler = TokenSampler(GenerationRequest([0], temperature=0.5, seed=3))
    logits = np.log(np.array([0.2, 0.3, 0.5]))
    counts = np.bincount([sampler.draw(logits) for _ in range(4000)], minlength=3) / 4000
    expected = np.array([0.2, 0.3, 0.5]) ** 2
    np.testing.assert_allclose(counts, expected / expected.sum(), atol=0.03)
    options = {"temperature": 5.0, "max_tokens": 12}
    one, two, three = (generate(server, [1], seed=seed, **options)[1] for seed in (1, 1, 2))
    assert one == two
    assert one != three


BAD = {
    "no tokens": ({}, "list of integers"),
    "text": ({"tokens": "abc"}, "list of integers"),
    "fractions": ({"tokens": [1.5]}, "list of integers"),
    "nothing": ({"tokens": []}, "not be empty"),
    "an unknown token": ({"tokens": [1, VOCABULARY]}, "token 31 is none of 0 to 30"),
    "a negative token": ({"tokens": [-1]}, "token -1"),
    "too many": ({"tokens": [1] * LENGTH}, "24 tokens and 1 more"),
    "too many more": ({"tokens": [1], "max_tokens": LENGTH}, "1 tokens and 24 more"),
    "a negative temperature": ({"tokens": [1], "temperature": -1}, "`temperature`"),
    "no number": ({"tokens": [1], "seed": "x"}, "`seed` must be a number"),
    "no finite number": ({"tokens": [1], "temperature": math.nan}, "`temperature` must be"),
}


@pytest.mark.parametrize("path", ["generate", "generate_stream"])
@pytest.mark.parametrize("name", BAD)
def test_bad_requests(server, name, path):
    body, message = BAD[name]
    status, _, content = server.request("POST", f"/v2/models/gpt8/{path}", json.dumps(body))
    assert (status, message in json.loads(content)["error"]) == (400, True), content


def test_models_of_the_other_kind_say_so(decoder, server, tmp_path):
    assert server.get("/v2/models/gpt8")["inputs"][0]["name"] == "tokens"
    assert server.infer("gpt8", {"tokens": np.array([1])})[0] == 501
    save(Affine(), tmp_path / "m", (np.zeros((1, 3), np.float32),))
    with serving(tmp_path / "m") as other:
        status, data = generate(other, [1], "m")
        assert (status, "one answer" in data["error"]) == (501, True)


def test_places_of_clients_that_are_gone_are_free_again(server, monkeypatch):
    run = GeneratorGraph.advance

    def advance(graph, *arguments):
        time.sleep(0.02)  # so that nothing ends by itself
        return run(graph, *arguments)

    monkeypatch.setattr(GeneratorGraph, "advance", advance)
    body = json.dumps({"tokens": [1]})
    head = (
        f"POST /v2/models/gpt2/generate_stream HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}"
    )
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.http)))
            client.sendall(f"{head}\r\n\r\n{body}".encode())
            assert client.recv(1000)
    text = 'oneflow_requests_total{model="gpt2",outcome="CANCELLED",version="1"} 2.0'
    wait_until(lambda: text in server.request("GET", "/metrics")[2].decode())
    assert generate(server, [1], "gpt2", max_tokens=2)[0] == 200


def test_a_failing_run_ends_its_sequences_and_no_more(decoder, server, monkeypatch):
    with monkeypatch.context() as patch:

        def fail(*_):
            raise MemoryError("no memory is left")

        patch.setattr(GeneratorGraph, "advance", fail)
        assert generate(server, [1])[0] == 500
    tokens = generate(server, [1], max_tokens=4)[1]["tokens"]
    assert tokens == expected_tokens(decoder, [1], 4)


def test_streams_of_grpc(decoder, server):
    client_grpc = pytest.importorskip("tritonclient.grpc")
    answers = queue.Queue()
    with client_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for index, prompt in enumerate([*PROMPTS, [99]]):
            tensor = client_grpc.InferInput("tokens", [len(prompt)], "INT64")
            tensor.set_data_from_numpy(np.array(prompt))
            client.async_stream_infer(
                "gpt8",
                [tensor],
                request_id=str(index),
                parameters={"max_tokens": 3 + index},
                enable_empty_final_response=True,
            )
        found, ended = {}, set()
        while len(ended) < len(PROMPTS) + 1:
            result, error = answers.get(timeout=60)
            if error is not None:
                assert "token 99" in str(error)
                ended.add("error")
                continue
            response = result.get_response()
            if response.parameters["triton_final_response"].bool_param:
                ended.add(response.id)
            else:
                found.setdefault(int(response.id), []).append(int(result.as_numpy("token")[0]))
        client.stop_stream()
    for index, prompt in enumerate(PROMPTS):
        assert found[index] == expected_tokens(decoder, prompt, 3 + index)


class NoLogits(nn.Graph):
    def build(self, token, position):
        return token + position


class SharedState(nn.Graph):
    def build(self, token, position, cache):
        return {"logits": (token + position)[:, None] + cache.sum(0), "cache": cache}


class OtherState(nn.Graph):
    def build(self, token, position, cache):
        return {"logits": cache[:, :3], "cache": cache[:, :3]}


@pytest.mark.parametrize(
    ("graph", "calls", "message"),
    [
        (NoLogits(), [(np.zeros(2, np.int64),) * 2], "returns `logits`"),
        (OtherState(), [(*[np.zeros(2, np.int64)] * 2, np.zeros((2, 4), np.float32))], "its state"),
        (OtherState(), [(*[np.zeros(2, np.int32)] * 2, np.zeros((2, 3), np.float32))], "`token`"),
        (
            SharedState(),
            [(*[np.zeros(n, np.int64)] * 2, np.zeros((4, 3), np.float32)) for n in (1, 2)],
            "the number of sequences, the first",
        ),
        (
            OtherState(),
            [(*[np.zeros(2, np.int64)] * 2, np.zeros((2, 3, n), np.float32)) for n in (1, 2)],
            "`logits`",
        ),
    ],
)
def test_graphs_that_do_not_generate_say_why(tmp_path, graph, calls, message):
    save(graph, tmp_path / "graph", *calls)
    with pytest.raises(ValueError, match=message):
        GeneratorGraph(tmp_path / "graph")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "max_length"),
        ('parameters { key: "max_length" value { string_value: "x" } }', "max_length"),
        (
            'parameters { key: "max_length" value { string_value: "9" } } max_batch_size: 3',
            "max_batch_size",
        ),
    ],
)
def test_configurations_that_do_not_fit_say_why(decoder, tmp_path, text, message):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "1").symlink_to(decoder[1] / "gpt2" / "1")
    policy = "model_transaction_policy { decoupled: true }"
    (tmp_path / "m" / "config.pbtxt").write_text(f"{policy} {text}")
    with serving(tmp_path) as server:
        status, _, body = server.request("GET", "/v2/models/m/ready")
        assert (status, message in body.decode()) == (503, True), body
