"""Generation: sequences continued token by token, many of them in one running batch."""

import contextlib
import json
import math
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.serving import running_batch
from oneflow.serving.generation import GenerationRequest, TokenSampler
from oneflow.serving.generator_graph import GeneratorGraph
from oneflow.tensor.views import unwrap
from tests.graph.helpers import graph_of
from tests.serving.decoder_model import LENGTH, VOCABULARY, Gpt, Saved
from tests.serving.helpers import Affine, save, serving, wait_until, web

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("serving_generation")

CONFIG = """
model_transaction_policy {{ decoupled: true }}
parameters {{ key: "max_length" value {{ string_value: "{length}" }} }}
dynamic_batching {{ default_queue_policy {{ max_queue_size: {queue} }} }}
"""
MODELS = {
    "gpt2": Saved((2,), waiting=3),
    "gpt8": Saved((8,)),
    "gpt124": Saved((1, 2, 4)),
    "chunks": Saved((1, 4), lengths=(8, LENGTH), prompts=(3,), chunks=(2, 4)),
    "one_chunk": Saved((8,), prompts=(1,), chunks=(8,)),
}


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A model for whole sequences, and the folder where it is saved to continue several."""
    flow.manual_seed(0)
    model = Gpt().eval()
    folder = tmp_path_factory.mktemp("models")
    for name, saved in MODELS.items():
        saved.save(model, folder / name / "1")
        text = CONFIG.format(length=LENGTH, queue=saved.waiting)
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
        # Later tokens do not matter, so that one program is enough.
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


@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_those_of_the_model(decoder, server, name):
    for prompt in (*PROMPTS[:4], [14] * 11, [15] * 16, [16] * 18):
        status, data = generate(server, prompt, name, max_tokens=6)
        assert status == 200
        assert data["tokens"] == expected_tokens(decoder, prompt, 6)


@pytest.mark.parametrize("name", MODELS)
def test_sequences_join_and_leave_a_running_batch(decoder, server, name, monkeypatch):
    used, run = set(), GeneratorGraph._run

    def watched(graph, state, chunk, *arguments):
        used.add((state.places, chunk, state.capacity))
        return run(graph, state, chunk, *arguments)

    monkeypatch.setattr(GeneratorGraph, "_run", watched)
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
    assert max(stat["batch_size"] for stat in stats["batch_stats"]) > 1
    largest = {places for places, chunk, _ in used if not chunk}
    assert max(largest) == max(MODELS[name].places)
    assert {chunk for _, chunk, _ in used if chunk} <= set(MODELS[name].chunks)
    if name == "chunks":
        assert {capacity for _, chunk, capacity in used if not chunk} == {8, LENGTH}


def test_fewer_places_run_when_sequences_have_ended(decoder, server, monkeypatch):
    used, run = [], GeneratorGraph._run

    def watched(graph, state, chunk, *arguments):
        used.append((state.places, chunk))
        time.sleep(0.01)  # so that the requests meet
        return run(graph, state, chunk, *arguments)

    monkeypatch.setattr(GeneratorGraph, "_run", watched)
    monkeypatch.setattr(running_batch, "_PATIENCE", 4)
    with ThreadPoolExecutor(3) as pool:
        counts = [2, 2, LENGTH - 1]
        answers = list(pool.map(lambda n: generate(server, [5], "chunks", max_tokens=n), counts))
    assert answers[-1][1]["tokens"] == expected_tokens(decoder, [5], LENGTH - 1)
    steps = [places for places, chunk in used if not chunk]
    assert max(steps) > steps[-1] == 1


def test_a_sequence_goes_on_where_it_was_when_the_state_changes(decoder):
    graph = GeneratorGraph(decoder[1] / "chunks" / "1", LENGTH)
    prompts = [[7, 8], [1, 2], [3, 4]]
    tokens = [expected_tokens(decoder, prompt, 4) for prompt in prompts]
    sequences = [prompt + continued for prompt, continued in zip(prompts, tokens, strict=True)]
    state = graph.empty(4, 8)
    running = [0, 1, 2]
    for position, (kept, places, capacity) in enumerate(
        [([0, 1, 2], 4, LENGTH), ([2, 0], 4, 8), ([0, 1], 4, LENGTH), ([1], 1, 8), ([0], 4, 8)]
    ):
        state = graph.rearrange(state, kept, places, capacity)
        running = [running[place] for place in kept]
        fed = [sequences[index][position] for index in running] + [0] * (places - len(running))
        logits = graph.advance(state, fed, [position] * places)
        assert logits.shape == (places, VOCABULARY)
        if position > 0:
            expected = [sequences[index][position + 1] for index in running]
            assert logits.argmax(1)[: len(running)].tolist() == expected


def test_chunks_are_read_as_token_by_token(decoder):
    graph = GeneratorGraph(decoder[1] / "chunks" / "1", LENGTH)
    tokens, rows = [3, 1, 4, 1, 5, 9], 3
    state = graph.empty(rows, 8)
    graph.read(state, [tokens[:4]] * rows, [0] * rows, [4] * rows)
    logits = graph.read(state, [[*tokens[4:], 0, 0]] * rows, [4] * rows, [2] * rows)
    single = graph.empty(1, LENGTH)
    for position, token in enumerate(tokens):
        expected = graph.advance(single, [token], [position])
    np.testing.assert_allclose(logits, np.repeat(expected, rows, 0), rtol=1e-5, atol=1e-5)
    running = graph.empty(4, LENGTH)
    graph.move(state, 2, running, 3)
    logits = graph.advance(running, [0, 0, 0, 2], [0, 0, 0, 6])
    expected = graph.advance(single, [2], [6])
    np.testing.assert_allclose(logits[3], expected[0], rtol=1e-5, atol=1e-5)


def test_a_state_is_replaced_in_its_place(decoder):
    graph = GeneratorGraph(decoder[1] / "chunks" / "1", LENGTH)
    state = graph.empty(4, 8)
    graph.advance(state, [1, 2, 3, 4], [0] * 4)
    before = dict(state.tensors)
    graph.advance(state, [1, 2, 3, 4], [1] * 4)
    assert all(unwrap(tensor).read().is_deleted() for tensor in before.values())


def test_events_of_a_stream(decoder, server):
    body = json.dumps({"tokens": [1, 2], "max_tokens": 5})
    status, headers, content = server.request("POST", "/v2/models/gpt8/generate_stream", body)
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    events = [
        json.loads(word.removeprefix("data: ")) for word in content.decode().split("\n\n")[:-1]
    ]
    assert [event["token"] for event in events] == expected_tokens(decoder, [1, 2], 5)
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


def test_a_stream_with_many_requests_leaves_others_their_places(server, monkeypatch):
    client_grpc = pytest.importorskip("tritonclient.grpc")
    run = GeneratorGraph.advance

    def advance(graph, *arguments):
        time.sleep(0.005)
        return run(graph, *arguments)

    monkeypatch.setattr(GeneratorGraph, "advance", advance)
    with client_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        answered = queue.Queue()
        client.start_stream(lambda result, error: answered.put(error))
        tensor = client_grpc.InferInput("tokens", [1], "INT64")
        tensor.set_data_from_numpy(np.array([1]))
        for _ in range(500):
            client.async_stream_infer("gpt8", [tensor], parameters={"max_tokens": 1})
        # More than may wait: those that are left over wait in the stream.
        errors = [answered.get(timeout=60) for _ in range(200)]
        assert set(errors) == {None}
        assert generate(server, [1], max_tokens=1)[0] == 200
        client.stop_stream(cancel_requests=True)


def test_a_client_that_goes_away_is_no_error(server, monkeypatch, caplog):
    write = web.StreamResponse.write

    async def write_to_nobody(response, data):
        await write(response, data)
        raise ConnectionResetError("Cannot write to closing transport")

    body = json.dumps({"tokens": [1]})
    with monkeypatch.context() as patch:
        patch.setattr(web.StreamResponse, "write", write_to_nobody)
        server.request("POST", "/v2/models/gpt8/generate_stream", body)
    assert generate(server, [1], max_tokens=2)[0] == 200
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    ("name", "method"),
    [("gpt8", "advance"), ("chunks", "read"), ("chunks", "move"), ("chunks", "empty")],
)
def test_a_failing_run_ends_its_sequences_and_no_more(decoder, server, monkeypatch, name, method):
    run, failures = getattr(GeneratorGraph, method), 1
    with monkeypatch.context() as patch:

        def fail(*arguments):
            nonlocal failures
            failures -= 1
            if failures < 0:
                return run(*arguments)
            raise MemoryError("no memory is left")

        patch.setattr(GeneratorGraph, method, fail)
        assert generate(server, [1] * 9, name)[0] == 500
    tokens = generate(server, [1], name, max_tokens=4)[1]["tokens"]
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


class Positions(nn.Graph):
    """Generates from whatever a decoder is called with."""

    def build(self, token, position, cache, count=None):
        return {"logits": (position + cache.sum(1))[:, None], "cache": cache * 2}


def decode_call(places, chunk, length):
    """Arguments of `Positions`."""
    zeros = np.zeros(places, np.int64)
    cache = np.zeros((places, length), np.float32)
    if not chunk:
        return zeros, zeros, cache
    return np.zeros((places, chunk), np.int64), zeros, cache, zeros + 1


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
            Positions(),
            [decode_call(1, 0, 8), decode_call(2, 0, 16)],
            "a further token of 1 sequences, and state for 16, is missing",
        ),
        (
            Positions(),
            [decode_call(1, 0, 8), decode_call(1, 0, 16), decode_call(1, 2, 16)],
            "2 tokens of 1 sequences, and state for 8, is missing",
        ),
        (
            Positions(),
            [decode_call(1, n, length) for n in (0, 3) for length in (6, 8)],
            "chunks of 3 tokens must fill the state, which holds 8",
        ),
        (Positions(), [decode_call(1, 2, 8)], "a further token of 1 sequences"),
        (Positions(), [decode_call(1, 0, 1), decode_call(1, 0, 2)], "the state holds 2 tokens"),
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
        GeneratorGraph(tmp_path / "graph", 3)


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
