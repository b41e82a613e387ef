import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TwoTargetNet(nn.Module):
    def __init__(self, n_in=12, hidden=64, n_classes=4):
        super().__init__()
        self.dense1 = nn.Linear(n_in, hidden)
        self.dense2 = nn.Linear(hidden, n_classes)

    def forward(self, x):
        x1 = torch.relu(self.dense1(x))
        x2 = torch.relu(self.dense1(x))
        x1 = self.dense2(x1)
        x2 = self.dense2(x2)
        return torch.log_softmax(x1, dim=1), torch.log_softmax(x2, dim=1)


def make_data(n, gen):
    x = torch.randn(n, 12, generator=gen)
    shape = torch.stack([x[:, :3].sum(1), x[:, 3:6].sum(1), -x[:, :3].sum(1), -x[:, 3:6].sum(1)], 1).argmax(1)
    color = torch.stack([x[:, 6:9].sum(1), x[:, 9:].sum(1), -x[:, 6:9].sum(1), -x[:, 9:].sum(1)], 1).argmax(1)
    return x, shape, color


gen = torch.Generator().manual_seed(1)
train = DataLoader(TensorDataset(*make_data(2000, gen)), batch_size=64, shuffle=True)
xt, st, ct = make_data(500, gen)

model = TwoTargetNet()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(12):
    model.train()
    total1 = total2 = 0.0
    for x, shape, color in train:
        out1, out2 = model(x)
        loss1 = criterion(out1, shape)
        loss2 = criterion(out2, color)
        loss = loss1 + loss2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total1 += loss1.item()
        total2 += loss2.item()
    model.eval()
    with torch.no_grad():
        p1, p2 = model(xt)
    acc1 = (p1.argmax(1) == st).float().mean().item()
    acc2 = (p2.argmax(1) == ct).float().mean().item()
    print(f"epoch {epoch} loss {total1 / len(train):.3f} {total2 / len(train):.3f} acc {acc1:.3f} {acc2:.3f}")
