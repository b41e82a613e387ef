import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.lin1 = nn.Linear(2, hidden)
        self.lin2 = nn.Linear(hidden, hidden)
        self.lin3 = nn.Linear(hidden, 1)

    def forward(self, p):
        x = torch.tanh(self.lin1(p))
        x = torch.tanh(self.lin2(x))
        return self.lin3(x)


def field(x):
    value = (torch.sin(3 * x) + 0.5 * torch.cos(2 * x)).sum(dim=1, keepdim=True)
    slope = 3 * torch.cos(3 * x) - torch.sin(2 * x)
    return value, slope


def train(model, epochs=300, weight=1.0):
    x = 2 * torch.rand(40, 2) - 1
    y, z = field(x)
    x.requires_grad_(True)
    mse = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, epochs + 1):
        model.train()
        optimizer.zero_grad()
        output = model(x)
        grad_x = grad(output.sum(), x, create_graph=True)[0]
        loss_y = mse(output, y)
        loss_z = mse(grad_x, z)
        loss = loss_y + weight * loss_z
        loss.backward()
        optimizer.step()
        if epoch % 75 == 0:
            print(f"epoch {epoch}: Loss_y = {loss_y.item():.4f} | Loss_z = {loss_z.item():.4f}")


def main():
    model = Net()
    train(model)
    x = (2 * torch.rand(500, 2) - 1).requires_grad_(True)
    output = model(x)
    slope = grad(output.sum(), x)[0]
    y, z = field(x)
    print(
        f"new points: value off by {(output - y).abs().mean().item():.4f},"
        f" slope off by {(slope - z).abs().mean().item():.4f}"
    )


if __name__ == "__main__":
    main()
