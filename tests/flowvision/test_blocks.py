"""Blocks that no factory uses: their parameters, sizes and sums."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from flowvision.models import deit_III, rexnet, uniformer
from flowvision.models.deit_III import Block, Block_paralx2, DeiT3, hMLP_stem
from oneflow import nn


def test_parallel_blocks_add_both_branches() -> None:
    """With equal branches the sum has each twice."""
    block = Block_paralx2(12, 3, init_values=0.5)
    names = {name.partition(".")[0] for name in block.state_dict()}
    assert names >= {"norm11", "attn1", "norm21", "mlp1", "gamma_1_1", "gamma_2_1"}
    single = Block(12, 3, init_values=0.5)
    single.load_state_dict(
        {k: v for k, v in block.state_dict().items() if k in single.state_dict()}
    )
    block.norm11, block.attn1, block.norm21, block.mlp1 = (
        block.norm1,
        block.attn,
        block.norm2,
        block.mlp,
    )
    x = flow.randn(2, 5, 12)
    middle = x + 2 * 0.5 * single.attend(x)
    wanted = middle + 2 * 0.5 * single.mlp(single.norm2(middle))
    np.testing.assert_allclose(block(x).numpy(), wanted.numpy(), atol=1e-5)


def test_a_model_of_parallel_blocks_and_convolutional_patches() -> None:
    options = {"num_classes": 5, "embed_dim": 12, "depth": 1, "num_heads": 3}
    parallel = deit_III.Layer_scale_init_Block_paralx2
    model = DeiT3(32, 16, block_layers=parallel, Patch_layer=hMLP_stem, **options)
    assert model(flow.randn(2, 3, 32, 32)).shape == (2, 5)
    keys = {f"patch_embed.proj.{index}.weight" for index in (0, 1, 3, 4, 6, 7)}
    assert keys <= set(model.state_dict())
    with pytest.raises(ValueError, match="`patch_size` must be 16, got 8"):
        hMLP_stem(32, 8)


def test_each_patch_of_the_stem_is_seen_alone() -> None:
    stem = hMLP_stem(32, embed_dim=8).eval()
    image = flow.randn(1, 3, 32, 32)
    other = image.clone()
    other[:, :, 16:, 16:] = 0
    same = (stem(image) == stem(other)).all(2)[0]
    assert same.tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("relu6", "active", "last"),
    [(False, True, nn.ReLU), (True, True, nn.ReLU6), (False, False, nn.BatchNorm2d)],
)
def test_layers_are_appended(relu6: bool, active: bool, last: type) -> None:
    layers: list[nn.Module] = [nn.Identity()]
    rexnet.ConvBNAct(layers, 4, 8, 3, 2, 1, num_group=2, active=active, relu6=relu6)
    assert type(layers[-1]) is last
    assert nn.Sequential(*layers)(flow.randn(1, 4, 8, 8)).shape == (1, 8, 4, 4)


@pytest.mark.parametrize(("embedding", "factor"), [("head", 4), ("middle", 2)])
def test_embeddings_of_uniformer(embedding: str, factor: int) -> None:
    layer = getattr(uniformer, f"{embedding}_embedding")(3, 8)
    assert layer(flow.randn(1, 3, 32, 16)).shape == (1, 8, 32 // factor, 16 // factor)
