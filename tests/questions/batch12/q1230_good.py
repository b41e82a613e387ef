import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.7))
        self.b = nn.Parameter(torch.tensor(0.02))

    def forward(self, x):
        return torch.cos(self.a * x[:, 0]) + torch.exp(self.b * x[:, 1])


def measure(n, generator):
    x1 = 8.0 * torch.rand(n, generator=generator) - 4.0
    x2 = 4.0 * torch.rand(n, generator=generator) - 2.0
    y = torch.cos(0.583 * x1) + torch.exp(0.112 * x2)
    return torch.stack([x1, x2], dim=1), y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, y = measure(10000, generator)
    loader = DataLoader(TensorDataset(x, y), batch_size=200, shuffle=True, generator=generator)
    model = Curve()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    loss_fn = nn.MSELoss()
    for epoch in range(30):
        total = 0.0
        for inp, out in loader:
            loss = loss_fn(model(inp), out)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: loss {total / len(loader):.5f}  a {model.a.item():.4f}  b {model.b.item():.4f}")


if __name__ == "__main__":
    main()
