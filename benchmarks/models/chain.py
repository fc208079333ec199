"""A chain of 100 small operations and one read at the end: pure dispatch."""


def build(torch, length=100, size=32):
    """One pass over the chain; returns the last tensor."""
    x = torch.randn(size, size)
    y = torch.randn(size, size)

    def step():
        result = x
        for _ in range(length // 4):
            result = result * 0.5
            result = result + y
            result = result.tanh()
            result = result - x
        return result

    return step
