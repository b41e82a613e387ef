import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.body(x))


class LitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Net()

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self.model(x), y)


proj = torch.randn(16, 4)


def data(n):
    x = torch.randn(n, 16)
    return x, (x @ proj).argmax(1)


def fit(lit, steps):
    optimizer = torch.optim.Adam(lit.parameters(), lr=3e-3)
    for step in range(steps):
        loss = lit.training_step(data(64))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("training loss", round(loss.item(), 4))
    buffer = io.BytesIO()
    torch.save({"state_dict": lit.state_dict(), "step": steps}, buffer)
    return buffer


def test(model):
    model.eval()
    x, y = data(1000)
    with torch.no_grad():
        out = model(x)
    print("test loss", round(F.cross_entropy(out, y).item(), 4))
    print("test acc", round((out.argmax(1) == y).float().mean().item(), 3))


checkpoint = fit(LitNet(), 500)
checkpoint.seek(0)
state_dict = torch.load(checkpoint)["state_dict"]
net = Net()
net.load_state_dict(state_dict, strict=False)
test(net)
