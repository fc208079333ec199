"""Random truth values for samples: which images to mirror."""

from __future__ import annotations

from oneflow.base import dtype as dt
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.functional.random.creation import rand
from oneflow.random.generator import Generator
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.host_inputs import current_host_inputs
from oneflow.tensor.tensor import Tensor


def seeded_generator(seed: int | None) -> Generator | None:
    """Return a generator that starts from `seed`; None for None and -1, the default generator."""
    if seed in (None, -1):
        return None
    generator = Generator()
    generator.manual_seed(int(seed or 0))
    return generator


def random_coin_flip(
    batch_size: int, probability: float, generator: Generator | None, sharding: BatchSharding
) -> Tensor:
    """Return int8 zeros and ones, each 1 with the given probability.

    While a graph or job is recorded they are drawn on the host, where functions on images need
    them, in every call.

    Args:
        batch_size: how many, of all devices and replicas together.
        probability: the probability of a one.
        generator: the generator of the random numbers.
        sharding: the devices.

    Raises:
        ValueError: the probability is outside [0, 1], or the devices cannot share the batch.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"`probability` must be from 0 to 1, got {probability}")
    if current_host_inputs() is None:
        draws = rand(batch_size, generator=generator, **sharding.place)
        return (draws < probability).to(dt.int8)
    size = sharding.shard_size(batch_size)

    def draw() -> list:
        values = (rand(batch_size, generator=generator) < probability).numpy()
        starts = [shard * size for shard in sharding.local_shards]
        return [value for start in starts for value in values[start : start + size]]

    replica_size = batch_size // sharding.replica[1]
    return dense(TensorBuffer(draw, shape=(replica_size,), sharding=sharding), (), dt.int8)


def coin_flip(
    batch_size: int = 1,
    seed: int | None = None,
    probability: float = 0.5,
    name: str = "CoinFlip",
) -> Tensor:
    """Return zeros and ones, one for each sample of a batch; see `oneflow.nn.CoinFlip`.

    Example:
        >>> import oneflow as flow
        >>> flow.random.coin_flip(3, probability=1.0)
        tensor([1, 1, 1], dtype=oneflow.int8)
    """
    capture = current_host_inputs()
    if capture is None:
        return random_coin_flip(batch_size, probability, seeded_generator(seed), BatchSharding())
    generator = capture.reader(lambda: seeded_generator(seed))
    return random_coin_flip(batch_size, probability, generator, capture.sharding)


CoinFlip = coin_flip
