import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(10, 48), nn.Tanh())
        self.second = nn.Sequential(nn.Linear(48, 12), nn.Tanh())

    def forward(self, x):
        x = checkpoint(self.first, x, use_reentrant=True)
        return checkpoint(self.second, x, use_reentrant=True)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Linear(12, 3)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def batch(n):
    x = torch.randn(n, 10)
    y = (x[:, 0] * x[:, 1] > 0).long() + ((x[:, 2] > 0.7) & (x[:, 3] > 0)).long()
    return x, y


def main():
    model = Captioner()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(400):
        x, y = batch(128)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(step, f"loss {loss.item():.4f}")
    with torch.no_grad():
        x, y = batch(2000)
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"last loss {loss.item():.4f} accuracy {acc:.3f}")


main()
