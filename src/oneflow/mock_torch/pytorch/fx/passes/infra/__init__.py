"""``torch.fx.passes.infra``: passes over graph modules, and their order."""
