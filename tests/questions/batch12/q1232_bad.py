import torch
import torch.nn as nn
import torch.nn.functional as F


class HashNet(nn.Module):
    """Signs of a learned projection, and a linear layer that reads them."""

    def __init__(self, features=16, bits=12, classes=6):
        super().__init__()
        self.project = nn.Linear(features, bits)
        self.read = nn.Linear(bits, classes)

    def code(self, x):
        h = torch.tanh(self.project(x))
        return torch.sign(h)

    def forward(self, x):
        return self.read(self.code(x))


def blobs(n, generator):
    fixed = torch.Generator().manual_seed(8)
    centres = torch.randn(6, 16, generator=fixed)
    y = torch.randint(6, (n,), generator=generator)
    side = torch.randint(2, (n, 1), generator=generator) * 2 - 1
    return side * centres[y] + 0.5 * torch.randn(n, 16, generator=generator), y


def main():
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(0)
    x, y = blobs(2000, generator)
    model = HashNet()
    start = model.project.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(16):
        total = 0.0
        for rows in torch.randperm(len(x), generator=generator).split(50):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 40
        if epoch % 3 == 0:
            moved = (model.project.weight - start).norm().item()
            with torch.no_grad():
                acc = (model(x).argmax(1) == y).float().mean()
            print(f"epoch {epoch}: loss {total:.4f}  accuracy {acc:.3f}  change of the projection {moved:.4f}")


if __name__ == "__main__":
    main()
