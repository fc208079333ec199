"""BERT-base: twelve layers of width 768, sentences of 128 tokens."""

from benchmarks.models.training import Training


def make(torch, vocabulary=30522, width=768, heads=12, layers=12, length=512):
    """The model, from tokens to the vector of the sentence, written as in PyTorch."""
    nn = torch.nn

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(length, width)
            self.norm = nn.LayerNorm(width)
            layer = nn.TransformerEncoderLayer(
                width, heads, 4 * width, activation="gelu", batch_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, layers)
            self.pooler = nn.Linear(width, width)

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.norm(self.tokens(tokens) + self.positions(places))
            return self.pooler(self.encoder(x)[:, 0]).tanh()

    return Bert()


def build(torch, make_step, batch=32, length=128, dtype="float32", **sizes):
    """The model alone, on random sentences, as `make_step` runs it; see `training`."""
    model = make(torch, **sizes).to(getattr(torch, dtype))
    tokens = torch.randint(0, sizes.get("vocabulary", 30522), (batch, length))
    # Inference takes all inputs but the last, which are the labels.
    return make_step(Training(model, None, None, (tokens, None)))
