"""``torch.fx.passes.utils``: finding subgraphs."""
