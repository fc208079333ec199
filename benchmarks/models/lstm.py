"""A two-layer LSTM language model: width 256, 64 steps, batch 32."""


def build(torch, batch=32, length=64, width=256, vocabulary=512):
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

    def step():
        optimizer.zero_grad()
        logits = model(tokens)
        loss = torch.nn.functional.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))
        loss.backward()
        optimizer.step()
        return loss

    return step
