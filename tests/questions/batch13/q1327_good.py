import torch
import torch.nn as nn


class MMDLoss(nn.Module):
    """Distance of two samples by kernels of several widths."""

    def __init__(self, widths=(0.1, 0.5, 1.0, 5.0)):
        super().__init__()
        self.widths = widths

    def forward(self, real, made):
        both = torch.cat([real, made])
        square = torch.cdist(both, both).pow(2)
        kernel = sum((-square / (2 * w)).exp() for w in self.widths)
        n = len(real)
        return kernel[:n, :n].mean() + kernel[n:, n:].mean() - 2 * kernel[:n, n:].mean()


class Mechanism(nn.Module):
    """Makes the effect out of the cause and noise."""

    def __init__(self, hidden=32):
        super().__init__()
        self.l1 = nn.Linear(2, hidden)
        self.l2 = nn.Linear(hidden, 1)
        self.criterion = MMDLoss()

    def forward(self, x):
        noise = torch.randn_like(x)
        return self.l2(torch.relu(self.l1(torch.cat([x, noise], 1))))

    def run(self, x, y, steps):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        for step in range(steps):
            y_pred = self(x)
            loss = self.criterion(torch.cat([x, y], 1), torch.cat([x, y_pred], 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                error = (y_pred - y).pow(2).mean().item()
                print(
                    f"step {step}: MMD {loss.item():.4f}  mean square between made and real effect {error:.3f}"
                )


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(300, 1, generator=generator)
    y = torch.tanh(2 * x) + 0.3 * x + 0.1 * torch.randn(300, 1, generator=generator)
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    model = Mechanism()
    model.run(x, y, 201)


if __name__ == "__main__":
    main()
