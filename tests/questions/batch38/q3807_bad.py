import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class Encoder(nn.Module):
    def __init__(self, n_cluster=8):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.top_layer = nn.Linear(32, n_cluster)

    def forward(self, x):
        return self.top_layer(self.features(x))


def train(loader, model, crit, opt):
    losses = AverageMeter()
    model.train()
    for i, (xb, yb) in enumerate(loader):
        output = model(xb)
        loss = crit(output, yb)
        losses.update(loss.item(), xb.size(0))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 20 == 0:
            print(f"   batch {i}/{len(loader)} loss {losses.avg:.4f}")
        return losses.avg


torch.manual_seed(0)
centres = torch.randn(8, 24)
labels = torch.randint(0, 8, (2400,))
data = centres[labels] + 0.9 * torch.randn(2400, 24)
loader = DataLoader(TensorDataset(data[:2000], labels[:2000]), batch_size=40, shuffle=True)
model = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-5)
for epoch in range(10):
    loss = train(loader, model, nn.CrossEntropyLoss(), optimizer)
    with torch.no_grad():
        acc = (model(data[2000:]).argmax(1) == labels[2000:]).float().mean().item()
    print(f"epoch {epoch} loss {loss:.4f} acc {acc:.3f}")
