"""A two-layer LSTM language model: width 256, 64 steps, batch 32."""

from benchmarks.models.training import Training, eager_step


def build(torch, batch=32, length=64, width=256, vocabulary=512, make_step=eager_step):
    """A training step; see `mlp.build`."""
    nn = torch.nn

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            hidden, _ = self.lstm(self.embedding(tokens))
            return self.head(hidden)

    model = LanguageModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.randint(0, vocabulary, (batch, length))
    targets = torch.randint(0, vocabulary, (batch, length))

    def loss_of(model, tokens, targets):
        logits = model(tokens)
        return torch.nn.functional.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))

    return make_step(Training(model, loss_of, optimizer, (tokens, targets)))
