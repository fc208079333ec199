"""Requests that wait together run together, and each has its own answer or error."""

import asyncio
import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from oneflow import nn
from oneflow.serving.batching import Batcher, BatchingOptions, PendingRequest
from oneflow.serving.model_graph import Bucket, ModelGraph
from oneflow.serving.statistics import Statistics
from tests.serving.helpers import Affine, save, save_affine, serving, wait_until


class Lookup(nn.Graph):
    """Rows of a table; fails for an index that is out of range."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 2)

    def build(self, i):
        return self.table(i)


class Gate:
    """Holds the runs of all graphs, and notes their rows and sizes."""

    def __init__(self, monkeypatch):
        self.open = threading.Event()
        self.sizes = []
        run = ModelGraph.run

        def gated(graph, bucket, size, arrays):
            self.sizes.append(size)
            assert self.open.wait(30)
            return run(graph, bucket, size, arrays)

        monkeypatch.setattr(ModelGraph, "warm_up", lambda graph: None)
        monkeypatch.setattr(ModelGraph, "run", gated)


@pytest.fixture
def gate(monkeypatch):
    return Gate(monkeypatch)


def config(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.pbtxt").write_text(text)


def rows_of(server, model="m"):
    """The number of runs by their rows."""
    (stats,) = server.get(f"/v2/models/{model}/stats")["model_stats"]
    return {stat["batch_size"]: stat["compute_infer"]["count"] for stat in stats["batch_stats"]}


def waiting(server):
    """The number of requests in all queues."""
    lines = server.request("GET", "/metrics")[2].decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("oneflow_queue{"))


def x_of(index, rows=1, columns=3):
    return np.full((rows, columns), float(index), np.float32)


def test_requests_that_wait_run_together_and_are_padded(tmp_path, gate):
    save_affine(tmp_path / "m")
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        first = pool.submit(server.values, "m", {"x": x_of(0)})
        wait_until(lambda: gate.sizes)
        others = [pool.submit(server.values, "m", {"x": x_of(i, rows=i)}) for i in (1, 2, 4, 3)]
        wait_until(lambda: waiting(server) == 4)
        gate.open.set()
        np.testing.assert_array_equal(first.result(), x_of(1))
        for index, other in zip((1, 2, 4, 3), others, strict=True):
            np.testing.assert_array_equal(other.result(), x_of(2 * index + 1, rows=index))
        # 1; then of 1, 2, 4 and 3 rows, in whatever order they came, as many as fit into 8.
        rows = rows_of(server)
        assert sum(count * size for size, count in rows.items()) == 11
        assert sum(rows.values()) == 3
    assert set(gate.sizes) <= {1, 2, 4, 8}


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ({}, 8),
        ({1: 1.0, 2: 1.1, 8: 2.0}, 8),
        ({1: 1.0, 2: 1.5, 8: 16.0}, 2),
        ({1: 1.0, 2: 2.1, 8: 9.0}, 8),  # as good as equal
        ({1: 1.0, 2: 4.0, 8: 40.0}, 1),
    ],
)
def test_batches_are_as_large_as_is_a_gain(seconds, best):
    assert Bucket((), dict.fromkeys((1, 2, 8)), seconds).best_rows == best


def test_the_shortest_run_counts():
    bucket = Bucket((), dict.fromkeys((1, 2)), {1: 2.0})
    for seconds in (1.0, 3.0):
        bucket.note_time(1, seconds)
    bucket.note_time(2, 5.0)  # compiled meanwhile, for all that is known
    assert bucket.seconds == {1: 1.0}


def test_requests_are_joined_as_far_as_it_is_a_gain(tmp_path, gate, monkeypatch):
    monkeypatch.setattr(Bucket, "best_rows", 2)
    save_affine(tmp_path / "m")
    with serving(tmp_path / "m") as server, ThreadPoolExecutor(8) as pool:
        first = pool.submit(server.values, "m", {"x": x_of(0)})
        wait_until(lambda: gate.sizes)
        others = [pool.submit(server.values, "m", {"x": x_of(i)}) for i in range(1, 5)]
        wait_until(lambda: waiting(server) == 4)
        large = pool.submit(server.values, "m", {"x": x_of(5, rows=7)})
        wait_until(lambda: waiting(server) == 5)
        gate.open.set()
        for index, future in enumerate([first, *others, large]):
            np.testing.assert_array_equal(future.result()[0], 2.0 * index + 1)
    assert gate.sizes == [1, 2, 2, 8]


def test_an_idle_instance_waits_for_more(tmp_path, monkeypatch):
    monkeypatch.setattr(Bucket, "best_rows", 8)  # else measured, so that a busy machine decides
    save_affine(tmp_path / "m" / "1")
    config(tmp_path / "m", "dynamic_batching { max_queue_delay_microseconds: 60000000 }")
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: server.values("m", {"x": x_of(i)}), range(8)))
        assert rows_of(server) == {8: 1}


DELAY = "dynamic_batching { max_queue_delay_microseconds: 1000 }"


@pytest.mark.parametrize(
    ("seconds", "settings", "is_in_instance"),
    [(0.0005, "", False), (0.5, "", True), (0.0005, DELAY, True)],
)
def test_a_short_run_of_one_request_takes_no_other_thread(
    tmp_path, monkeypatch, seconds, settings, is_in_instance
):
    monkeypatch.setattr(ModelGraph, "_seconds", lambda *_: seconds)
    monkeypatch.setattr(Bucket, "note_time", lambda *_: None)
    save_affine(tmp_path / "m" / "1")
    config(tmp_path / "m", settings)
    names, run = [], ModelGraph.run

    def noted(*arguments):
        names.append(threading.current_thread().name)
        return run(*arguments)

    with serving(tmp_path) as server:
        monkeypatch.setattr(ModelGraph, "run", noted)
        for index in range(3):
            values = server.values("m", {"x": x_of(index)})
            np.testing.assert_array_equal(values, x_of(2 * index + 1))
        assert rows_of(server) == {1: 3}
    assert [name.startswith("m-1-") for name in names] == [is_in_instance] * 3


def test_short_requests_that_arrive_together_run_together():
    sizes = []

    class Graph:
        max_batch_size = 8

        def run(self, bucket, size, arrays):
            sizes.append(size)
            return arrays

    async def answers():
        batcher = Batcher("m", Graph(), BatchingOptions(), Statistics())
        bucket = Bucket(((1,),), dict.fromkeys((1, 2)), {1: 1e-4, 2: 1e-4})

        def answer(index):
            future = asyncio.get_running_loop().create_future()
            rows = [x_of(index, columns=1)]
            return asyncio.ensure_future(batcher.infer(PendingRequest(bucket, 1, rows, future)))

        found = await asyncio.gather(answer(0), answer(1))
        cancelled = answer(9)
        await asyncio.sleep(0)  # it waits for others
        cancelled.cancel()
        found.append(await answer(2))
        found.append(await answer(3))
        await batcher.close()
        return [rows.item() for (rows,) in found]

    assert asyncio.run(answers()) == [0, 1, 2, 3]
    assert sizes == [2, 1, 1]


def test_each_of_several_instances_runs(tmp_path, gate):
    save_affine(tmp_path / "m" / "1")
    config(tmp_path / "m", "instance_group { count: 3 }")
    with serving(tmp_path) as server, ThreadPoolExecutor(3) as pool:
        found = []
        for index in range(3):
            found.append(pool.submit(server.values, "m", {"x": x_of(index)}))
            wait_until(lambda count=index + 1: len(gate.sizes) == count)
        gate.open.set()
        for index, future in enumerate(found):
            np.testing.assert_array_equal(future.result(), x_of(2 * index + 1))


def test_requests_of_other_shapes_run_by_themselves(tmp_path, gate):
    graph_sizes = [(rows, columns) for columns in (2, 3) for rows in (1, 4)]
    save(
        Affine(),
        tmp_path / "m",
        *[(np.zeros(graph_size, np.float32),) for graph_size in graph_sizes],
    )
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        first = pool.submit(server.values, "m", {"x": x_of(9)})
        wait_until(lambda: gate.sizes)
        found = [pool.submit(server.values, "m", {"x": x_of(i, 1, 2 + i % 2)}) for i in range(6)]
        wait_until(lambda: waiting(server) == 6)
        gate.open.set()
        first.result()
        for index, future in enumerate(found):
            expected = x_of(2 * index + 1, 1, 2 + index % 2)
            np.testing.assert_array_equal(future.result(), expected)
        assert rows_of(server) == {1: 1, 3: 2}
        assert server.get("/v2/models/m")["inputs"][0]["shape"] == [-1, -1]


def test_an_error_is_that_of_its_own_request(tmp_path, gate):
    indices = [(np.zeros((rows, 1), np.int64),) for rows in (1, 8)]
    save(Lookup(), tmp_path / "m", *indices)
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        found = []
        for index in (1, 2, 77, 3, 99, 4):
            found.append(pool.submit(server.infer, "m", {"i": np.array([[index]])}))
            wait_until(lambda: gate.sizes)
        wait_until(lambda: waiting(server) == 5)
        gate.open.set()
        answers = [future.result() for future in found]
        assert [status for status, _ in answers] == [200, 200, 400, 200, 400, 200]
        assert "77" in answers[2][1]["error"]
        assert "99" in answers[4][1]["error"]


def test_a_full_queue_refuses(tmp_path, gate):
    save_affine(tmp_path / "m" / "1")
    queue = "dynamic_batching { default_queue_policy { max_queue_size: 2 } }"
    config(tmp_path / "m", queue)
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        found = [pool.submit(server.infer, "m", {"x": x_of(0)})]
        wait_until(lambda: gate.sizes)
        found += [pool.submit(server.infer, "m", {"x": x_of(0)}) for _ in range(2)]
        wait_until(lambda: waiting(server) == 2)
        status, data = server.infer("m", {"x": x_of(0)})
        assert status == 429
        assert "2 requests are waiting" in data["error"]
        gate.open.set()
        assert [future.result()[0] for future in found] == [200, 200, 200]


def test_deadlines_pass_in_the_queue(tmp_path, gate):
    save_affine(tmp_path / "m" / "1")
    queue = "dynamic_batching { default_queue_policy { default_timeout_microseconds: 50000 } }"
    config(tmp_path / "m", queue)
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        patient = {"parameters": {"timeout": 60_000_000}}
        first = pool.submit(server.infer, "m", {"x": x_of(0)}, **patient)
        wait_until(lambda: gate.sizes)
        status, data = server.infer("m", {"x": x_of(0)}, parameters={"timeout": 20_000})
        assert (status, data) == (504, {"error": "no answer within 0.02 s"})
        assert server.infer("m", {"x": x_of(0)})[0] == 504
        gate.open.set()
        assert first.result()[0] == 200
        assert gate.sizes == [1]


def test_nothing_runs_for_clients_that_are_gone(tmp_path, gate):
    save_affine(tmp_path / "m" / "1")
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        first = pool.submit(server.infer, "m", {"x": x_of(0)})
        wait_until(lambda: gate.sizes)
        body = json.dumps(
            {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}
        )
        gone = http.client.HTTPConnection("127.0.0.1", server.http)
        gone.request("POST", "/v2/models/m/infer", body)
        wait_until(lambda: waiting(server) == 1)
        gone.sock.shutdown(socket.SHUT_RDWR)
        gone.close()
        text = 'oneflow_requests_total{model="m",outcome="CANCELLED",version="1"} 1.0'
        wait_until(lambda: text in server.request("GET", "/metrics")[2].decode())
        gate.open.set()
        assert first.result()[0] == 200
        assert gate.sizes == [1]


def test_a_failing_run_is_an_error_and_no_more(tmp_path, monkeypatch):
    save_affine(tmp_path / "m")
    with serving(tmp_path) as server:
        with monkeypatch.context() as patch:

            def fail(*_):
                raise MemoryError("no memory is left")

            patch.setattr(ModelGraph, "run", fail)
            status, data = server.infer("m", {"x": x_of(0)})
            assert (status, data) == (500, {"error": "MemoryError: no memory is left"})
        assert server.infer("m", {"x": x_of(0)})[0] == 200
