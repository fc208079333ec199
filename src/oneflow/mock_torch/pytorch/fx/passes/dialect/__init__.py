"""``torch.fx.passes.dialect``: passes over graphs of any operators."""
