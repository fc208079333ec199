"""Wide & Deep (Cheng et al., 2016): 26 categorical fields, 13 numbers, trained with Adam."""

from benchmarks.models.training import Training, eager_step


def build(torch, batch=256, fields=26, rows=1000, width=16, numbers=13, make_step=eager_step):
    """A training step; see `mlp.build`."""
    nn = torch.nn

    class WideDeep(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("offsets", torch.arange(fields) * rows)
            self.wide = nn.Embedding(fields * rows, 1)
            self.deep = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
            self.mlp = nn.Sequential(
                nn.Linear(fields * width + numbers, 256),
                nn.ReLU(),
                nn.Linear(256, 128),
                nn.ReLU(),
                nn.Linear(128, 1),
            )

        def forward(self, categories, dense):
            wide = self.wide(categories + self.offsets).sum(dim=1)
            columns = [table(categories[:, i]) for i, table in enumerate(self.deep)]
            return wide + self.mlp(torch.cat([*columns, dense], dim=1))

    model = WideDeep()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    categories = torch.randint(0, rows, (batch, fields))
    dense = torch.randn(batch, numbers)
    clicks = torch.randint(0, 2, (batch, 1)).float()

    def loss_of(model, categories, dense, clicks):
        return criterion(model(categories, dense), clicks)

    return make_step(Training(model, loss_of, optimizer, (categories, dense, clicks)))
