"""flowvision: models, transforms, data sets and layers for vision, on OneFlow."""

from flowvision import (
    data as data,
    datasets as datasets,
    layers as layers,
    loss as loss,
    models as models,
    ops as ops,
    scheduler as scheduler,
    transforms as transforms,
    utils as utils,
)
from flowvision.version import __version__ as __version__
from oneflow.utils.vision import (
    get_image_backend as get_image_backend,
    set_image_backend as set_image_backend,
)

__suggest_names__ = True
