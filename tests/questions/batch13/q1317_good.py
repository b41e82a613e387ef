import torch
import torch.nn as nn
import torch.nn.functional as F


class NoisyLinear(nn.Module):
    """A crossbar: weights are read with a little noise and outputs are cut at the converter's range."""

    def __init__(self, inputs, outputs, noise=0.01, bound=12.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.noise, self.bound = noise, bound

    def forward(self, x):
        weight = self.weight + self.noise * torch.randn_like(self.weight) if self.training else self.weight
        return F.linear(x, weight, self.bias).clamp(-self.bound, self.bound)


class AnalogNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = NoisyLinear(8, 24)
        self.second = NoisyLinear(24, 2)

    def forward(self, x):
        return self.second(torch.sigmoid(self.first(x)))


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 8, generator=g)
    return x, torch.stack([x[:, :4].sum(1), (x[:, 4:] ** 2).sum(1)], 1) / 2


def main():
    torch.manual_seed(0)
    x, y = make_data(200, 0)
    model = AnalogNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(60):
        prediction = model(x)
        loss = F.mse_loss(prediction, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 6 == 0:
            print(f"epoch {epoch}: loss error {loss.item():.6f}")
    model.eval()
    x_test, y_test = make_data(100, 1)
    print(f"test error {F.mse_loss(model(x_test), y_test).item():.6f}")


if __name__ == "__main__":
    main()
