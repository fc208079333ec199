"""flowvision: models, transforms, data sets and layers for vision, on OneFlow."""

from flowvision import models as models
from flowvision.version import __version__ as __version__
