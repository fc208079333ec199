"""Job functions: arguments, results, variables, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp

X = np.float32([[1, 2, 3], [4, 5, 6]])


def _schedule(rate=0.1):
    return flow.optimizer.PiecewiseConstantScheduler([], [rate])


@pytest.mark.parametrize(
    ("annotation", "body", "expected"),
    [
        (tp.Numpy, lambda x: x + 1, X + 1),
        (tuple[tp.Numpy, tp.Numpy], lambda x: (x, x + 1), (X, X + 1)),
        (tuple[tp.Numpy, ...], lambda x: (x, x + 1), (X, X + 1)),
        (list[tp.Numpy], lambda x: [x, x + 1], [X, X + 1]),
        (dict[str, tp.Numpy], lambda x: {"a": x}, {"a": X}),
        (tp.Bundle[tp.Numpy], lambda x: {"a": [x, (x + 1,)]}, {"a": [X, (X + 1,)]}),
        (tp.ListNumpy, lambda x: x, [X]),
        (tp.ListListNumpy, lambda x: x, [[X]]),
        (None, lambda x: x, None),
    ],
)
def test_results_have_the_annotated_structure(annotation, body, expected):
    def job(x: tp.Numpy.Placeholder((2, 3))):
        return body(x)

    job.__annotations__["return"] = annotation
    result = flow.global_function()(job)(X)
    assert type(result) is type(expected)
    np.testing.assert_equal(result, expected)


@pytest.mark.parametrize(
    ("annotation", "body", "message"),
    [
        (tuple[tp.Numpy, tp.Numpy], lambda x: x, "annotated to return several results"),
        (tuple[tp.Numpy, tp.Numpy], lambda x: (x,), "return 2 results, not 1"),
        (dict[str, tp.Numpy], lambda x: x, "annotated to return a dict"),
    ],
)
def test_results_that_are_not_as_annotated(annotation, body, message):
    def job(x: tp.Numpy.Placeholder((2, 3))):
        return body(x)

    job.__annotations__["return"] = annotation
    with pytest.raises(TypeError, match=message):
        flow.global_function()(job)(X)


def test_what_is_refused_at_the_definition():
    with pytest.raises(ValueError, match="type of a job"):
        flow.global_function(type="test")
    with pytest.raises(TypeError, match="argument `x` of job `job` must be annotated"):

        @flow.global_function()
        def job(x) -> tp.Numpy:
            return x

    with pytest.raises(TypeError, match="returns <class 'int'>; a result is annotated with"):

        @flow.global_function()
        def other(x: tp.Numpy.Placeholder((2,))) -> int:
            return x

    with pytest.raises(TypeError, match="an annotation is unknown"):

        @flow.global_function()
        def third(x: Unknown) -> tp.Numpy:  # noqa: F821
            return x

    with pytest.raises(ValueError, match="must be positive"):
        tp.Numpy.Placeholder((0, 2))


def test_what_is_refused_at_the_call():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3)), y: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return x + y

    with pytest.raises(TypeError, match=r"job\(\): missing a required argument: 'y'"):
        job(X)
    with pytest.raises(TypeError, match="`y` must be a NumPy array of shape"):
        job(X, X.tolist())
    with pytest.raises(TypeError, match="`y` must be an array of float32, got complex64"):
        job(X, X.astype(np.complex64))
    assert job(X, y=X).tolist() == (2 * X).tolist()


def test_outside_of_a_job():
    for call in (
        lambda: flow.get_variable("w", (2,)),
        lambda: flow.layers.dense(flow.ones(2, 3), 4),
        lambda: flow.watch(flow.ones(2)),
        lambda: flow.optimizer.SGD(_schedule()).minimize(flow.ones(())),
    ):
        with pytest.raises(RuntimeError, match="belongs into the body of a job"):
            call()


def test_prediction_minimises_nothing():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        loss = flow.layers.dense(x, 2)
        flow.optimizer.SGD(_schedule()).minimize(loss)
        return loss

    with pytest.raises(RuntimeError, match=r'type="train"'):
        job(X)


def test_variables_by_name_and_namespace():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        with flow.scope.namespace("outer"), flow.scope.namespace("inner"):
            w = flow.get_variable("w", (3,), initializer=flow.constant_initializer(2))
        return x * w * flow.get_variable("outer-inner-w")

    assert job(X).tolist() == (4 * X).tolist()
    assert list(flow.get_all_variables()) == ["outer-inner-w"]
    flow.load_variables({"outer-inner-w": np.float32([1, 2, 3]), "other": np.zeros(2)})
    assert job(X).tolist() == (X * np.float32([1, 4, 9])).tolist()
    with pytest.raises(KeyError, match="other"):
        flow.load_variables({"other": np.zeros(2)}, ignore_mismatch=False)
    with pytest.raises(ValueError, match=r"has the shape \(3,\), and its value \(2,\)"):
        flow.load_variables({"outer-inner-w": np.zeros(2)})


def test_variables_that_do_not_fit():
    def job_with(first_shape, **options):
        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
            flow.get_variable("w", first_shape)
            return x * flow.get_variable("w", **options).sum()

        return job

    with pytest.raises(ValueError, match="needs a shape"):
        job_with(None)(X)
    flow.clear_default_session()
    with pytest.raises(ValueError, match=r"has the shape \(3,\), and is asked for with \(4,\)"):
        job_with((3,), shape=(4,))(X)
    flow.clear_default_session()
    with pytest.raises(ValueError, match="reuse=False"):
        job_with((3,), reuse=False)(X)


def test_regularizer_is_part_of_the_gradient():
    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        ones = flow.ones_initializer()
        a = flow.get_variable("a", (3,), initializer=ones, regularizer=flow.regularizers.l2(0.5))
        b = flow.get_variable("b", (3,), initializer=ones, regularizer=flow.regularizers.l1(0.25))
        loss = (x * 0 * a * b).sum()
        flow.optimizer.SGD(_schedule(1.0), momentum=0).minimize(loss)
        return loss

    assert job(X) == 0
    variables = flow.get_all_variables()
    assert variables["a"].tolist() == [0.5] * 3
    assert variables["b"].tolist() == [0.75] * 3


def test_variables_that_are_not_trainable():
    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        ones = flow.ones_initializer()
        fixed = flow.get_variable("fixed", (3,), initializer=ones, trainable=False)
        loss = (x * fixed * flow.get_variable("free", (3,), initializer=ones)).sum()
        flow.optimizer.SGD(_schedule(), momentum=0).minimize(loss)
        return loss

    job(X)
    variables = flow.get_all_variables()
    assert variables["fixed"].tolist() == [1, 1, 1]
    assert variables["free"].tolist() != [1, 1, 1]


def test_watched_blobs_and_gradients():
    values, gradients = [], []

    @flow.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        w = flow.get_variable("w", (3,), initializer=flow.ones_initializer())
        y = x * w
        flow.watch(y, values.append)
        flow.watch_diff(y, gradients.append)
        loss = flow.math.reduce_sum(y)
        flow.optimizer.SGD(_schedule(), momentum=0).minimize(loss)
        return loss

    job(X)
    job(X)
    np.testing.assert_array_equal(values[0], X)
    assert len(values) == 2
    np.testing.assert_array_equal(gradients[0], np.ones_like(X))


def test_snapshots(tmp_path):
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return flow.layers.dense(x, 2, kernel_initializer=flow.truncated_normal(1), name="d")

    check_point = flow.train.CheckPoint()
    check_point.init()
    expected = job(X)
    check_point.save(tmp_path / "snapshot")
    assert sorted(path.name for path in (tmp_path / "snapshot").iterdir()) == [
        "d-bias",
        "d-weight",
        "snapshot_done",
    ]
    with pytest.raises(FileExistsError):
        check_point.save(tmp_path / "snapshot")
    flow.load_variables({"d-weight": np.zeros((2, 3))})
    assert not job(X).any()
    check_point.load(tmp_path / "snapshot")
    np.testing.assert_array_equal(job(X), expected)
    assert set(flow.checkpoint.get(tmp_path / "snapshot")) == {"d-bias", "d-weight"}
    # A module of today reads them, too.
    linear = flow.nn.Linear(3, 2)
    saved = flow.load(tmp_path / "snapshot")
    linear.load_state_dict({"weight": saved["d-weight"], "bias": saved["d-bias"]})
    np.testing.assert_allclose(linear(flow.tensor(X)).numpy(), expected, rtol=1e-6)
    (tmp_path / "snapshot" / "d-bias" / "out").write_bytes(b"123")
    with pytest.raises(RuntimeError, match="damaged"):
        check_point.load(tmp_path / "snapshot")


def test_snapshots_of_earlier_versions(tmp_path):
    """Folders as 0.3 to 0.6 wrote them, with what they hold beside variables, and older ones."""
    weight, bias = np.arange(6, dtype="<f4").reshape(2, 3), np.float32([7, 8])
    step = np.int64([120])
    metas = {
        "model.d-weight": "shape {\n  dim: 2\n  dim: 3\n}\ndata_type: kFloat\n",
        "model.d-bias": "shape { dim: 2 } data_type: kFloat",
        "System-Train-TrainStep-train_job": "shape {\n  dim: 1\n}\ndata_type: kInt64\n",
    }
    for has_metas in (True, False):
        folder = tmp_path / f"snapshot_{has_metas}"
        for (name, meta), array in zip(metas.items(), (weight, bias, step), strict=True):
            (folder / name).mkdir(parents=True)
            (folder / name / "out").write_bytes(array.tobytes())
            if has_metas:
                (folder / name / "meta").write_text(meta)
        (folder / "snapshot_done").touch()
        flow.clear_default_session()

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
            return flow.layers.dense(x, 2, name="model.d")

        flow.train.CheckPoint().load(folder)
        np.testing.assert_allclose(job(X), X @ weight.T + bias, rtol=1e-6)
    assert flow.load(tmp_path / "snapshot_True")["System-Train-TrainStep-train_job"].item() == 120
    (folder / "model.d-bias" / "out").write_bytes(b"12345")
    with pytest.raises(RuntimeError, match="has 5 bytes"):
        flow.train.CheckPoint().load(folder)
    with pytest.raises(RuntimeError, match="no folders with `out`"):
        flow.train.CheckPoint().load(tmp_path)


def _count_of_calls(function):
    """Return how many Python functions a call of `function` calls."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_definition_takes_work_in_proportion_to_operators():
    def work(layers):
        flow.clear_default_session()

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((4, 8))) -> tp.Numpy:
            for index in range(layers):
                x = flow.layers.dense(x, 8, activation=flow.nn.relu, name=f"layer{index}")
            return x

        return _count_of_calls(flow.get_all_variables)

    work(2)
    assert work(80) < 2.2 * work(40)


def test_a_call_of_a_job_does_little_beside_the_call_of_its_graph():
    class Layer(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.linear = flow.nn.Linear(3, 2)

        def build(self, x):
            return self.linear(x)

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return flow.layers.dense(x, 2, name="d")

    graph = Layer()

    def run_graph():
        with flow.no_grad():
            graph(flow.from_numpy(X)).numpy()

    for warm_up in (run_graph, lambda: job(X)):
        warm_up()
        warm_up()
    assert _count_of_calls(lambda: job(X)) <= 1.1 * _count_of_calls(run_graph)


def test_placement_scope_puts_variables_and_layers_on_devices():
    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        ones = flow.ones_initializer()
        with flow.scope.placement("cpu", "0:0-1"):
            split = flow.distribute.split(0)
            return flow.layers.dense(
                x, 4, kernel_initializer=ones, name="wide", model_distribute=split
            )

    np.testing.assert_array_equal(job(X), np.repeat(X.sum(1, keepdims=True), 4, 1))
    weight = flow.get_all_variables()["wide-weight"]
    assert weight.placement == flow.placement("cpu", [0, 1])
    assert weight.sbp == (flow.sbp.split(0),)
    for text in ("0", "1:0", "0:a"):
        with pytest.raises(ValueError, match="devices are named as in"):
            flow.scope.placement("cpu", text)


def test_settings():
    config = flow.FunctionConfig()
    config.enable_inplace(True)
    config.use_xla_jit = True
    config.default_data_type(flow.float32)
    with pytest.raises(AttributeError, match="no setting `enable_magic`"):
        config.enable_magic(True)
    with pytest.raises(TypeError, match="a view is"):
        config.default_logical_view("mirrored")
    flow.config.enable_debug_mode(True)
    flow.env.log_dir("log")
    with pytest.raises(AttributeError, match="no setting `magic`"):
        flow.config.magic(True)
    with pytest.raises(NotImplementedError, match=r"distributed\.launch"):
        flow.config.machine_num(2)


def test_auto_mixed_precision():
    config = flow.FunctionConfig()
    config.enable_auto_mixed_precision(True)
    dtypes = []

    @flow.global_function(function_config=config)
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        y = flow.matmul(x, x, transpose_b=True)
        dtypes.append(y.dtype)
        return flow.cast(y, flow.float32)

    np.testing.assert_array_equal(job(X), X @ X.T)
    assert dtypes[-1].itemsize == 2


def test_an_interrupted_body_leaves_the_session_as_it_was():
    state = {"fails": True}

    @flow.global_function()
    def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        result = flow.layers.dense(x, 2, name="d")
        if state["fails"]:
            raise KeyboardInterrupt
        return result

    with pytest.raises(KeyboardInterrupt):
        job(X)
    assert state.pop("fails")
    state["fails"] = False
    assert job(X).shape == (2, 2)


def _mirrored_job(trains=True, batch_norm=False):
    """A job in mirrored view with a layer whose weights its replicas share."""
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.mirrored_view())

    @flow.global_function(type="train" if trains else "predict", function_config=config)
    def job(x: tp.ListNumpy.Placeholder((4, 6))) -> tp.ListNumpy:
        h = flow.layers.dense(
            x,
            3,
            kernel_initializer=flow.constant_initializer(0.1),
            kernel_regularizer=flow.regularizers.l2(0.01),
            name="dense",
        )
        if batch_norm:
            h = flow.layers.batch_normalization(h, axis=1, momentum=0.5, name="norm")
        places.append((h.placement, flow.get_variable("dense-weight").placement))
        loss = flow.math.square(h - 1)
        if trains:
            flow.optimizer.SGD(_schedule(0.05), momentum=0.9).minimize(loss)
        return loss

    places = job.places = []
    return job


def test_each_replica_runs_on_its_device():
    data = np.random.default_rng(0).standard_normal((5, 2, 4, 6), np.float32)
    sequences = []
    for devices in (1, 2):
        flow.clear_default_session()
        flow.config.cpu_device_num(devices)
        if devices == 2:
            job = _mirrored_job()
            losses = [np.concatenate(job(list(entry))) for entry in data]
            assert job.places[-2:] == [(flow.placement("cpu", [i]),) * 2 for i in (0, 1)]
        else:

            @flow.global_function(type="train")
            def single(x: tp.Numpy.Placeholder((8, 6))) -> tp.Numpy:
                h = flow.layers.dense(
                    x,
                    3,
                    kernel_initializer=flow.constant_initializer(0.1),
                    kernel_regularizer=flow.regularizers.l2(0.01),
                    name="dense",
                )
                loss = flow.math.square(h - 1)
                flow.optimizer.SGD(_schedule(0.05), momentum=0.9).minimize(loss)
                return loss

            losses = [single(entry.reshape(8, 6)) for entry in data]
        sequences.append(losses)
    np.testing.assert_allclose(sequences[1], sequences[0], rtol=1e-5, atol=1e-5)


def test_moving_averages_of_replicas_are_averaged():
    flow.config.cpu_device_num(2)
    job = _mirrored_job(batch_norm=True)
    data = np.random.default_rng(0).standard_normal((2, 4, 6), np.float32)
    job(list(data))
    layer = 0.1 * data.sum(2)
    mean, variance = layer.mean(1), layer.var(1, ddof=1)
    variables = flow.get_all_variables()
    np.testing.assert_allclose(
        variables["norm-moving_mean"].numpy(), np.full(3, 0.5 * mean.mean()), rtol=1e-5
    )
    np.testing.assert_allclose(
        variables["norm-moving_variance"].numpy(),
        np.full(3, 0.5 + 0.5 * variance.mean()),
        rtol=1e-5,
    )


def test_prediction_in_mirrored_view():
    flow.config.cpu_device_num(3)
    job = _mirrored_job(trains=False)
    data = np.random.default_rng(0).standard_normal((3, 4, 6), np.float32)
    expected = np.square(0.1 * data.sum(2, keepdims=True).repeat(3, 2) - 1)
    np.testing.assert_allclose(job(list(data)), expected, rtol=1e-5)
