"""The UNet of a diffusion model (Ho et al., 2020): it predicts the noise that an image has got."""

import math

from benchmarks.models.training import Training, eager_step


def block_classes(torch):
    """The classes of residual blocks, of attention over an image's places, and of both."""
    nn, F = torch.nn, torch.nn.functional

    class Residual(nn.Module):
        """Two convolutions; the embedding of the time is added between them."""

        def __init__(self, width, out, embedding, groups=32):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(groups, width), nn.GroupNorm(groups, out)
            self.conv1 = nn.Conv2d(width, out, 3, padding=1)
            self.conv2 = nn.Conv2d(out, out, 3, padding=1)
            self.time = nn.Linear(embedding, out)
            self.skip = nn.Conv2d(width, out, 1) if width != out else nn.Identity()

        def forward(self, x, time):
            y = self.conv1(F.silu(self.norm1(x)))
            y = y + self.time(F.silu(time))[:, :, None, None]
            return self.skip(x) + self.conv2(F.silu(self.norm2(y)))

    class Attention(nn.Module):
        """Self-attention over all places of an image."""

        def __init__(self, width, heads, groups=32):
            super().__init__()
            self.heads, self.norm = heads, nn.GroupNorm(groups, width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            batch, width, height, columns = x.shape
            y = self.norm(x).flatten(2).transpose(1, 2)
            q, k, v = (
                part.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)
                for part in self.qkv(y).chunk(3, dim=-1)
            )
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            return x + self.out(mixed).transpose(1, 2).view(batch, width, height, columns)

    class Stage(nn.Module):
        """A residual block, and attention behind it on all levels but the first."""

        def __init__(self, width, out, embedding, heads, level):
            super().__init__()
            self.residual = Residual(width, out, embedding)
            self.attention = Attention(out, heads) if level else nn.Identity()

        def forward(self, x, time):
            return self.attention(self.residual(x, time))

    return Residual, Attention, Stage


def stages(nn, Stage, width, factors, depth, heads):
    """The stages down and up, and behind levels the convolutions that change the size."""
    down, shrink, up, grow = (nn.ModuleList() for _ in range(4))
    now, widths, options = width, [width], (4 * width, heads)
    for level, factor in enumerate(factors):
        for _ in range(depth):
            down.append(Stage(now, width * factor, *options, level))
            now = width * factor
            widths.append(now)
        if level < len(factors) - 1:
            shrink.append(nn.Conv2d(now, now, 3, stride=2, padding=1))
            widths.append(now)
    for level, factor in reversed(list(enumerate(factors))):
        for _ in range(depth + 1):
            up.append(Stage(now + widths.pop(), width * factor, *options, level))
            now = width * factor
        if level:
            grow.append(nn.Conv2d(now, now, 3, padding=1))
    return down, shrink, up, grow


def time_embedding(torch, times, width):
    """Sines and cosines of times, (batch, width)."""
    half = width // 2
    rates = torch.exp(torch.arange(half, device=times.device) * (-math.log(10000) / half))
    angles = times[:, None] * rates[None]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def unet_class(torch):
    """The class of the network."""
    nn, F = torch.nn, torch.nn.functional
    Residual, _, Stage = block_classes(torch)

    class UNet(nn.Module):
        """Levels of half the size and more channels, and back; attention from the second one on."""

        def __init__(self, width, factors, depth, heads):
            super().__init__()
            self.width, self.depth = width, depth
            embedding, inner = 4 * width, width * factors[-1]
            self.time = nn.Sequential(
                nn.Linear(width, embedding), nn.SiLU(), nn.Linear(embedding, embedding)
            )
            self.first = nn.Conv2d(3, width, 3, padding=1)
            self.down, self.shrink, self.up, self.grow = stages(
                nn, Stage, width, factors, depth, heads
            )
            self.middle = Stage(inner, inner, embedding, heads, 1)
            self.after = Residual(inner, inner, embedding)
            self.norm = nn.GroupNorm(32, width * factors[0])
            self.last = nn.Conv2d(width * factors[0], 3, 3, padding=1)

        def forward(self, x, times):
            time = self.time(time_embedding(torch, times, self.width))
            x = self.first(x)
            skips = [x]
            for position, stage in enumerate(self.down):
                x = stage(x, time)
                skips.append(x)
                level, place = divmod(position, self.depth)
                if place == self.depth - 1 and level < len(self.shrink):
                    x = self.shrink[level](x)
                    skips.append(x)
            x = self.after(self.middle(x, time), time)
            for position, stage in enumerate(self.up):
                x = stage(torch.cat([x, skips.pop()], dim=1), time)
                level, place = divmod(position, self.depth + 1)
                if place == self.depth and level < len(self.grow):
                    x = self.grow[level](F.interpolate(x, scale_factor=2.0, mode="nearest"))
            return self.last(F.silu(self.norm(x)))

    return UNet


def build(
    torch,
    batch=16,
    size=64,
    width=128,
    factors=(1, 2, 2),
    depth=2,
    heads=4,
    make_step=eager_step,
):
    """A training step; see `mlp.build`."""
    model = unet_class(torch)(width, factors, depth, heads)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    images, noise = torch.randn(batch, 3, size, size), torch.randn(batch, 3, size, size)
    times = torch.randint(0, 1000, (batch,))

    def loss_of(model, noisy, times, noise):
        return torch.nn.functional.mse_loss(model(noisy, times).float(), noise)

    return make_step(Training(model, loss_of, optimizer, (images, times, noise)))
