import torch
import torch.nn as nn
import torch.nn.functional as F


class VariationalLinear(nn.Module):
    def __init__(self, inside, outside, prior_std=0.2):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(outside, inside) / inside**0.5)
        self.rho = nn.Parameter(torch.full((outside, inside), -3.0))
        self.bias = nn.Parameter(torch.zeros(outside))
        self.prior_std = prior_std

    def forward(self, x):
        std = F.softplus(self.rho)
        weight = self.mu + std * torch.randn_like(std)
        ratio = std / self.prior_std
        kl = 0.5 * (ratio**2 + (self.mu / self.prior_std) ** 2 - 1 - 2 * ratio.log()).sum()
        return F.linear(x, weight, self.bias), kl


class BasicBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = VariationalLinear(width, width)
        self.conv2 = VariationalLinear(width, width)

    def forward(self, x):
        out, kl1 = self.conv1(x)
        out, kl2 = self.conv2(torch.relu(out))
        return torch.relu(x + out), kl1 + kl2


class ResNet(nn.Module):
    def __init__(self, features, width=48, blocks=3, classes=3):
        super().__init__()
        self.stem = nn.Linear(features, width)
        self.layer1 = nn.ModuleList(BasicBlock(width) for _ in range(blocks))
        self.fc = VariationalLinear(width, classes)

    def forward(self, x):
        kl_sum = 0
        out = torch.relu(self.stem(x))
        for layer in self.layer1:
            out, kl = layer(out)
            kl_sum += kl
        out, kl = self.fc(out)
        kl_sum += kl
        return out, kl_sum


def make_data(n, rule, generator):
    x = torch.randn(n, 20, generator=generator)
    y = (x @ rule + 1.0 * torch.randn(n, 3, generator=generator)).argmax(1)
    return x, y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    rule = torch.randn(20, 3, generator=generator) / 4
    x, y = make_data(200, rule, generator)
    test_x, test_y = make_data(2000, rule, generator)
    model = ResNet(20)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(301):
        out, kl = model(x)
        loss = F.cross_entropy(out, y) + kl / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 60 == 0:
            with torch.no_grad():
                parts = [block(torch.zeros(1, 48))[1].item() for block in model.layer1]
                test = F.cross_entropy(model(test_x)[0], test_y).item()
            kls = "  ".join(f"{part:.0f}" for part in parts)
            print(f"epoch {epoch}: loss {loss.item():.3f}  KL of the blocks {kls}  test loss {test:.3f}")


if __name__ == "__main__":
    main()
