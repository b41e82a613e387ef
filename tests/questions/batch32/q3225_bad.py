import torch
import torch.nn as nn

torch.manual_seed(0)


def second_deriv(y, x):
    first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    return second


class Potential(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        layers, width = [], 1
        for h in hidden:
            layers += [nn.Linear(width, h), nn.Tanh()]
            width = h
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


def fit(model, steps, curvature=0.05):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.linspace(-1, 1, 64).view(-1, 1).requires_grad_(True)
    target = (0.7 * x + 0.2 * torch.sin(5 * x)).detach()
    for step in range(steps):
        y = model(x)
        rough = second_deriv(y, x).pow(2).mean()
        loss = (y - target).pow(2).mean() + curvature * rough * 1e-2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), rough.item()


def main():
    for hidden in ([16, 16], [16], []):
        loss, rough = fit(Potential(hidden), 150)
        print(f"hidden {hidden}: loss {loss:.5f} mean squared curvature {rough:.4f}")


if __name__ == "__main__":
    main()
