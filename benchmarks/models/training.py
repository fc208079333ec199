"""A training step as parts, and the ways to run it."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass
class Training:
    """The parts of a training step.

    Attributes:
        model: the module.
        loss_of: ``loss_of(model, *inputs)`` is the loss.
        optimizer: of the model's parameters.
        inputs: the tensors of every step.
    """

    model: Any
    loss_of: Any
    optimizer: Any
    inputs: tuple


def in_bfloat16(training, torch, device):
    """The training with its loss computed under ``autocast(device, bfloat16)``."""

    def loss_of(model, *inputs):
        with torch.autocast(device, dtype=torch.bfloat16):
            return training.loss_of(model, *inputs)

    return replace(training, loss_of=loss_of)


def eager_step(training):
    """A function that runs one step, operator by operator, and returns the loss tensor."""

    def step():
        training.optimizer.zero_grad()
        loss = training.loss_of(training.model, *training.inputs)
        loss.backward()
        training.optimizer.step()
        return loss

    return step


def graph_step(training):
    """The same as one `nn.Graph` of OneFlow."""
    from oneflow import nn

    class Step(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = training.model
            self.add_optimizer(training.optimizer)

        def build(self, *inputs):
            loss = training.loss_of(self.model, *inputs)
            loss.backward()
            return loss

    graph = Step()
    return lambda: graph(*training.inputs)


def compiled_step(training):
    """The same with `torch.compile`: forward and backward, and the optimizer's step."""
    import torch

    loss_of = torch.compile(lambda *inputs: training.loss_of(training.model, *inputs))
    update = torch.compile(training.optimizer.step)

    def step():
        training.optimizer.zero_grad()
        loss = loss_of(*training.inputs)
        loss.backward()
        update()
        return loss

    return step


def eager_inference(torch, training):
    """A function that runs the model alone, in evaluation mode and without gradients."""
    model, inputs = training.model.eval(), training.inputs[:-1]  # the last are the labels

    def step():
        with torch.no_grad():
            return model(*inputs)

    return step


def graph_inference(flow, training):
    """The same as one `nn.Graph` of OneFlow."""

    class Inference(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = training.model.eval()

        def build(self, *inputs):
            return self.model(*inputs)

    graph = Inference()
    return lambda: graph(*training.inputs[:-1])


def compiled_inference(torch, training):
    """The same with `torch.compile`."""
    model = torch.compile(training.model.eval())
    return eager_inference(torch, Training(model, None, None, training.inputs))
