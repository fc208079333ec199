"""flowvision: models, transforms, data sets and layers for vision, on OneFlow."""

from flowvision import data as data, layers as layers, models as models, transforms as transforms
from flowvision.version import __version__ as __version__
