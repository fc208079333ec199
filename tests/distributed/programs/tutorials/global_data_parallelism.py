"""Data parallelism by SBP alone, with a data loader (two processes)."""

import oneflow as flow
import oneflow.nn as nn

BATCH_SIZE = 8
EPOCH_NUM = 2
PLACEMENT = flow.placement("cpu", [0, 1])
S0 = flow.sbp.split(0)
B = flow.sbp.broadcast
DEVICE = "cpu"

flow.manual_seed(0)
data = flow.utils.data.TensorDataset(flow.randn(32, 12), flow.randint(0, 3, (32,)))
train_dataloader = flow.utils.data.DataLoader(data, BATCH_SIZE, shuffle=False)

model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3)).to(DEVICE)
model = model.to_global(placement=PLACEMENT, sbp=B)
loss_fn = nn.CrossEntropyLoss().to(DEVICE)
optimizer = flow.optim.SGD(model.parameters(), lr=0.1)

losses = []
for t in range(EPOCH_NUM):
    print(f"Epoch {t + 1}\n-------------------------------")
    size = len(train_dataloader.dataset)
    for batch, (x, y) in enumerate(train_dataloader):
        x = x.to_global(placement=PLACEMENT, sbp=S0)
        y = y.to_global(placement=PLACEMENT, sbp=S0)

        pred = model(x)
        loss = loss_fn(pred, y)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        current = batch * BATCH_SIZE
        losses.append(loss.item())
        if batch % 2 == 0:
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")
assert sum(losses[4:]) < sum(losses[:4])
assert model[0].weight.sbp == (B,)
