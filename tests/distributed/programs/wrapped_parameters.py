"""The law of wrapped parameters in two processes: global tensors, ZeRO, data parallelism."""

from tests.in_place import in_place_of
from tests.nn.test_wrapped_parameters import DISTRIBUTED, Wrapper, check

import oneflow as flow

MockParallel = in_place_of("torch.nn.parallel").DistributedDataParallel
REPLICAS = {
    "replicas": Wrapper(
        lambda lib, layer: flow.nn.parallel.DistributedDataParallel(layer) if lib is flow else layer
    ),
    "a module around it": Wrapper(lambda lib, layer: MockParallel(layer) if lib is flow else layer),
}

for name, wrapper in {**DISTRIBUTED, **REPLICAS}.items():
    try:
        check(wrapper)
    except Exception as error:
        raise AssertionError(name) from error
