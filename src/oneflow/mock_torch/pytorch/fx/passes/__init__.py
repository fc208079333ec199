"""Passes over symbolic graphs: ``torch.fx.passes``."""
