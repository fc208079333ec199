"""The operations of a compiled program's products, read from its text.

Products, convolutions and fused attention are counted, wherever they are fused; nothing else is.
XLA itself counts none for GPUs that are not here. TPUs compute products of batches as convolutions
over zeros between the elements of an operand: what meets such a zero does not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from oneflow.plan.hlo_instruction import HloInstruction, shapes_of

Computation = Mapping[str, HloInstruction]

_CONTRACTING_DIMS = re.compile(r'lhs_contracting_dim(?:s|ensions"?)[=:][{\[]([\d,"\s]*)[}\]]')
_LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->(\w+)")
_WINDOW = re.compile(r"window=\{([^}]*)\}")
_TARGET = re.compile(r'custom_call_target="([^"]+)"')
_GEMM = ("__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8", "__triton$gemm")
# Products of scores with heads: the forward pass has two, the backward pass computes one again.
_FORWARD_PRODUCTS, _BACKWARD_PRODUCTS = 2, 5


def flops_of_kernel(
    instruction: HloInstruction, computation: Computation, computations: Mapping[str, Computation]
) -> int:
    """The operations of an instruction's products, including computations that it calls."""
    flops = _flops_of(instruction, computation)
    for name in instruction.called:
        body = computations.get(name, {})
        flops += sum(flops_of_kernel(inner, body, computations) for inner in body.values())
    return flops


def _flops_of(instruction: HloInstruction, computation: Computation) -> int:
    if instruction.opcode == "dot":
        return _product_flops(instruction, computation)
    if instruction.opcode == "convolution":
        return _convolution_flops(instruction, computation, ("lhs", "rhs", "result"))
    if instruction.opcode != "custom-call":
        return 0
    match = _TARGET.search(instruction.text)
    target = match[1] if match else ""
    if target in _GEMM:
        return _product_flops(instruction, computation)
    if target.startswith("__cudnn$conv"):
        return _convolution_flops(instruction, computation, _OPERANDS.get(target, _OPERANDS[""]))
    if target.startswith("__cudnn$fmha"):
        return _cudnn_attention_flops(instruction, computation, "Backward" in target)
    if target == "tpu_custom_call" and "splash" in instruction.name:
        return _splash_attention_flops(instruction, computation)
    return 0


# The operands and results of a convolution of cuDNN's that are its input, kernel and output.
_OPERANDS = {
    "": ("lhs", "rhs", "result"),
    "__cudnn$convBackwardInput": ("result", "rhs", "lhs"),
    "__cudnn$convBackwardFilter": ("lhs", "result", "rhs"),
}


def _shape(name: str, computation: Computation) -> tuple[int, ...]:
    """The shape of an operand."""
    return shapes_of(computation[name].shapes)[0]


def _product_flops(instruction: HloInstruction, computation: Computation) -> int:
    left = _shape(instruction.operands[0], computation)
    match = _CONTRACTING_DIMS.search(instruction.text)
    dims = [int(dim) for dim in re.findall(r"\d+", match[1])] if match else []
    inner = math.prod(left[dim] for dim in dims)
    return 2 * math.prod(shapes_of(instruction.shapes)[0]) * inner


def _convolution_flops(
    instruction: HloInstruction, computation: Computation, names: tuple[str, str, str]
) -> int:
    labels, window = _LABELS.search(instruction.text), _WINDOW.search(instruction.text)
    assert labels is not None
    shapes = {
        "lhs": _shape(instruction.operands[0], computation),
        "rhs": _shape(instruction.operands[1], computation),
        "result": shapes_of(instruction.shapes)[0],
    }
    input, kernel, output = (
        dict(zip(label, shapes[name], strict=True))
        for label, name in zip(labels.groups(), names, strict=True)
    )
    fields = dict(part.split("=") for part in window[1].split()) if window else {}
    pairs = 1
    for number, char in enumerate(sorted(char for char in output if char.isdigit())):
        pairs *= _pairs(input[char], kernel[char], output[char], fields, number)
    return 2 * output["b"] * output["f"] * kernel["i"] * pairs


def _pairs(input: int, kernel: int, output: int, fields: Mapping[str, str], number: int) -> int:
    """The pairs of positions in output and kernel, along a dimension, that meet an element."""

    def field(name: str, default: str) -> str:
        return fields[name].split("x")[number] if name in fields else default

    stride, dilation = int(field("stride", "1")), int(field("lhs_dilate", "1"))
    step, low = int(field("rhs_dilate", "1")), int(field("pad", "0_0").split("_")[0])
    positions = np.arange(output)[:, None] * stride + np.arange(kernel)[None, :] * step - low
    is_inside = (positions >= 0) & (positions <= (input - 1) * dilation)
    return int((is_inside & (positions % dilation == 0)).sum())


def _cudnn_attention_flops(
    instruction: HloInstruction, computation: Computation, is_backward: bool
) -> int:
    query, key = (_shape(name, computation) for name in instruction.operands[:2])
    products = _BACKWARD_PRODUCTS if is_backward else _FORWARD_PRODUCTS
    # Sequences, length, heads and features.
    return 2 * math.prod(query) * key[1] * products


def _splash_attention_flops(instruction: HloInstruction, computation: Computation) -> int:
    # Integers before them say which blocks of scores there are. Sequences with masks come first.
    floats = [text for n in instruction.operands if "f" in (text := computation[n].shapes)[:2]]
    query, key = [shape for text in floats if len(shape := shapes_of(text)[0]) > 2][:2]
    is_backward = "_dkv" in instruction.name or "_dq" in instruction.name
    products = _BACKWARD_PRODUCTS if is_backward else _FORWARD_PRODUCTS
    return 2 * math.prod(query) * key[-2] * products
