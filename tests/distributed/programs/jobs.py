"""Job functions run by several processes, in both views, give the losses of one device."""

import sys

import numpy as np

import oneflow as flow
import oneflow.typing as tp

DEVICES = flow.env.get_world_size()
DATA = np.random.default_rng(0).standard_normal((5, DEVICES, 4, 6), np.float32)


def train(config, placeholder, annotation):
    """Return a training job; its argument has the given placeholder."""

    @flow.global_function(type="train", function_config=config)
    def job(x: placeholder) -> annotation:
        start = flow.constant_initializer(0.1)
        h = flow.layers.dense(x, 3, kernel_initializer=start, name="dense")
        loss = flow.math.square(h - 1)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.05])
        flow.optimizer.SGD(schedule, momentum=0.9).minimize(loss)
        return loss

    return job


def expected():
    """The losses of each step, by NumPy."""
    weight, bias = np.full((3, 6), 0.1), np.zeros(3)
    directions = [0.0, 0.0]
    losses = []
    for rows in DATA.reshape(5, -1, 6):
        error = rows @ weight.T + bias - 1
        losses.append(error**2)
        slope = 2 * error / error.size
        for index, gradient in enumerate((slope.T @ rows, slope.sum(0))):
            directions[index] = 0.9 * directions[index] + gradient
        weight, bias = weight - 0.05 * directions[0], bias - 0.05 * directions[1]
    return losses


def main(folder):
    """Check both views, and a reader that shares a batch."""
    size = 4 * DEVICES
    for mirrored in (False, True):
        flow.clear_default_session()
        flow.config.cpu_device_num(DEVICES)
        config = flow.FunctionConfig()
        if mirrored:
            config.default_logical_view(flow.scope.mirrored_view())
            job = train(config, tp.ListNumpy.Placeholder((4, 6)), tp.ListNumpy)
            losses = [np.concatenate(job(list(rows))) for rows in DATA]
        else:
            job = train(config, tp.Numpy.Placeholder((size, 6)), tp.Numpy)
            losses = [job(tensor.reshape(size, 6)) for tensor in DATA]
        np.testing.assert_allclose(losses, expected(), rtol=1e-5, atol=1e-5)
        flow.clear_default_session()
        flow.config.cpu_device_num(DEVICES)

        @flow.global_function(function_config=config)
        def read() -> tp.ListNumpy:
            records = flow.data.ofrecord_reader(folder, DEVICES, data_part_num=DEVICES)
            return flow.data.ofrecord_raw_decoder(records, "n", (), flow.int32)

        assert [np.concatenate(read()).tolist() for _ in range(2)] == [
            [10 * part + number for part in range(DEVICES)] for number in range(2)
        ]


if __name__ == "__main__":
    main(sys.argv[1])
