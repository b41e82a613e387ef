import torch
import torch.nn as nn
import torch.nn.functional as F


class BBBLinear(nn.Module):
    """A layer with a Gaussian over its weights; the noise is drawn at the output."""

    def __init__(self, inside, outside, prior_std=0.3):
        super().__init__()
        self.qw_mean = nn.Parameter(torch.randn(outside, inside) / inside**0.5)
        self.log_alpha = nn.Parameter(torch.full((outside, inside), -2.0))
        self.prior_var = prior_std**2

    def probforward(self, x):
        mean = F.linear(x, self.qw_mean)
        weight_var = self.log_alpha.exp() * self.qw_mean**2
        std = torch.sqrt(1e-8 + F.linear(x**2, weight_var))
        return mean + std * torch.randn_like(std), weight_var

    def kl(self, weight_var):
        ratio = (weight_var + 1e-8) / self.prior_var
        return 0.5 * (ratio + self.qw_mean**2 / self.prior_var - 1 - ratio.log()).sum()


class Net(nn.Module):
    def __init__(self, features, width=40):
        super().__init__()
        self.first = BBBLinear(features, width)
        self.second = BBBLinear(width, width)
        self.third = BBBLinear(width, 1)

    def forward(self, x):
        kl = 0.0
        for layer in (self.first, self.second, self.third):
            x, weight_var = layer.probforward(torch.tanh(x) if layer is not self.first else x)
            kl = kl + layer.kl(weight_var)
        return x.squeeze(1), kl


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(100, 10, generator=generator)
    y = torch.tanh(x[:, 0]) + 0.5 * x[:, 1] + 0.3 * torch.randn(100, generator=generator)
    far = 4 * torch.randn(200, 10, generator=generator)
    model = Net(10)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(401):
        out, kl = model(x)
        loss = F.mse_loss(out, y, reduction="sum") / (2 * 0.3**2) + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 80 == 0:
            with torch.no_grad():
                drawn = model.second.probforward(torch.zeros(1, 40))[1].sqrt().mean().item()
                spread = torch.stack([model(far)[0] for _ in range(20)]).std(0).mean().item()
            print(
                f"epoch {epoch}: loss {loss.item():.1f}  std of the weights that are drawn {drawn:.3f},"
                f"  doubt far from the data {spread:.3f}"
            )


if __name__ == "__main__":
    main()
