"""GENet's blocks: their text, their sums, and normalizations folded into convolutions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision.models import genet
from flowvision.models.genet import PlainNet, PlainNetBasicBlockClass, fuse_bn
from flowvision.models.genet_blocks import parse_blocks
from tests.flowvision.zoo import load_from_torch

TEXTS = (
    "ConvKX(3,8,3,2)",
    "ConvDW(8,5,1)",
    "BN(first|8)",
    "RELU(8)",
    "MaxPool(8,3,2)",
    "AdaptiveAvgPool(8,2)",
    "Flatten(8)",
    "Linear(8,3,1)",
    "SuperResKXKX(3,8,3,2,1.0,2)",
    "SuperResK1KX(3,8,5,1,0.5,1)",
    "SuperResK1KXK1(8,8,3,1,0.25,2)",
    "SuperResK1DW(3,8,3,2,1.0,2)",
    "SuperResK1DWK1(last|3,8,3,2,3.0,1)",
    "Sequential(ConvKX(3,8,3,2)BN(8)Sequential(RELU(8)))",
    "ResBlock(outer|3,2,ConvKX(3,8,3,2)BN(inner|8))",
    "MultiSumBlock(ConvKX(3,8,3,2);Sequential(ConvKX(3,8,1,2)BN(8)))",
)


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_block_say_the_same(text: str) -> None:
    block, rest = PlainNetBasicBlockClass.create_from_str(text + "BN(8)", no_create=True)
    assert (str(block), rest) == (text, "BN(8)")
    assert not list(block.parameters())
    assert type(block).is_instance_from_str(text)
    assert not type(block).is_instance_from_str(text + "BN(8)")
    others = set(PlainNetBasicBlockClass.classes.values()) - {type(block)}
    assert not any(other.is_instance_from_str(text) for other in others)
    (created,) = parse_blocks(text)
    sizes = (created.in_channels, created.out_channels, created.stride)
    assert sizes == (block.in_channels, block.out_channels, block.stride)


@pytest.mark.parametrize("text", [name for name in TEXTS if not name.startswith("Linear")])
def test_sizes_are_those_of_the_output(text: str) -> None:
    (block,) = parse_blocks(text)
    output = block.eval()(flow.rand(2, block.in_channels, 8, 8))
    if not text.startswith(("Flatten", "AdaptiveAvgPool")):
        assert output.shape == (2, block.out_channels, 8 // block.stride, 8 // block.stride)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Conv(3,8)", "does not begin with a block of the class PlainNetBasicBlockClass"),
        ("BN(8", "does not begin with a block"),
        ("BN(8)x", "'x' does not begin with a block"),
        ("BN()", "BN needs the numbers out_channels, got ''"),
        ("ConvKX(3,8,3)", "needs the numbers in_channels, out_channels, kernel_size, stride"),
        ("BN(eight)", "got 'eight'"),
    ],
)
def test_text_that_is_no_block(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_blocks(text)


def test_a_block_of_another_class() -> None:
    with pytest.raises(ValueError, match="class ConvKX"):
        genet.ConvKX.create_from_str("BN(8)")
    with pytest.raises(TypeError, match="there is a block named BN"):
        type("BN", (PlainNetBasicBlockClass,), {})


def test_networks_need_fitting_blocks_and_parameters() -> None:
    with pytest.raises(ValueError, match=r"BN\(9\) takes 9 channels, but ConvKX\(3,8,3,2\) before"):
        PlainNet(5, "ConvKX(3,8,3,2)BN(9)")
    with pytest.raises(ValueError, match="at least one block"):
        PlainNet(5)
    for text in ("ConvKX(3,8,3,2)", "SuperResKXKX(3,8,3,2,1.0,1)"):
        model = PlainNet(5, text, no_create=True)
        assert not list(model.parameters())
        with pytest.raises(RuntimeError, match="without parameters"):
            model(flow.rand(1, 3, 8, 8))


@pytest.mark.parametrize(
    ("block", "layer"),
    [
        (genet.ConvKX, flow.nn.Conv2d(3, 8, 5, stride=2, padding=2)),
        (genet.ConvDW, flow.nn.Conv2d(8, 8, 3, padding=1, groups=8)),
        (genet.BN, flow.nn.BatchNorm2d(8)),
        (genet.Linear, flow.nn.Linear(4, 6, bias=False)),
    ],
)
def test_layers_become_blocks(block: type, layer: flow.nn.Module) -> None:
    held = block(copy_from=layer)
    assert held.netblock is layer
    (like,) = parse_blocks(str(held))
    assert like.netblock.weight.shape == layer.weight.shape


def _torch_super_block(kind: str) -> torch.nn.Module:
    """Layers of 3 to 4 channels with a stride of 2, by name of the parameters of ours."""
    width, groups = {"SuperResK1KX": (2, 1), "SuperResK1DW": (4, 4)}[kind]
    block = torch.nn.Module()
    block.shortcut_list = torch.nn.ModuleList(
        [torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1, 2, bias=False), torch.nn.BatchNorm2d(4))]
    )
    branch = (
        torch.nn.Conv2d(3, width, 1, bias=False),
        torch.nn.BatchNorm2d(width),
        torch.nn.ReLU(),
        torch.nn.Conv2d(width, 4, 3, 2, 1, groups=groups, bias=False),
        torch.nn.BatchNorm2d(4),
    )
    block.conv_list = torch.nn.ModuleList([torch.nn.Sequential(*branch)])
    return block.double()


@pytest.mark.parametrize("kind", ["SuperResK1KX", "SuperResK1DW"])
def test_pairs_of_convolutions(kind: str) -> None:
    """The kinds that no published GENet has; its twin compares the others."""
    reference, ours = _torch_super_block(kind), getattr(genet, kind)(3, 4, 3, 2, 0.5).double()
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    load_from_torch(ours, reference)
    wanted = torch.relu(reference.conv_list[0](x) + reference.shortcut_list[0](x))
    np.testing.assert_allclose(
        ours(flow.tensor(x.numpy())).numpy(), wanted.detach().numpy(), atol=1e-9
    )


def test_shortcuts_and_sums() -> None:
    x = flow.randn(2, 4, 6, 6)
    blocks = [genet.ConvKX(4, 4, 3), genet.ConvKX(4, 4, 1)]
    first, second = blocks
    for found, wanted in (
        (genet.Sequential(blocks)(x), second(first(x))),
        (genet.ResBlock(blocks)(x), second(first(x)) + x),
        (genet.MultiSumBlock(blocks)(x), first(x) + second(x)),
    ):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-5)
    wider = genet.ResBlock([genet.ConvKX(4, 8, 3, 2)])
    wanted = wider.inner_block_list[0](x) + wider.proj(x)
    np.testing.assert_allclose(wider(x).numpy(), wanted.numpy(), atol=1e-5)


def test_folded_normalizations_change_no_output() -> None:
    text = (
        "ConvKX(3,8,3,2)BN(8)RELU(8)SuperResK1DWK1(8,6,3,1,3.0,2)"
        "ResBlock(6,1,ConvDW(6,3,1)BN(6)MultiSumBlock(ConvKX(6,6,1,1);BN(6)))"
    )
    model = PlainNet(5, text).double()
    images = flow.rand(4, 3, 16, 16, dtype=flow.float64)
    for _ in range(3):
        model(images)  # sets the running statistics
    model.eval()
    wanted = model(images).numpy()
    with pytest.raises(AssertionError):
        fuse_bn(PlainNet(5, text))
    fused = fuse_bn(model)
    np.testing.assert_allclose(fused(images).numpy(), wanted, atol=1e-9)
    # The one beside a convolution, not behind it, stays.
    norms = [module for module in fused.modules() if isinstance(module, flow.nn.BatchNorm2d)]
    assert len(norms) == 1
