"""The model zoo: a factory per model, and `ModelCreator` to find them by name."""

from flowvision.models.creator import ModelCreator as ModelCreator
from flowvision.models.squeezenet import (
    SqueezeNet as SqueezeNet,
    squeezenet1_0 as squeezenet1_0,
    squeezenet1_1 as squeezenet1_1,
)
