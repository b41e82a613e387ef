import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, width=20, hidden=1000, classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.body(x)


def penalty(model):
    return sum(torch.sqrt(p.abs()).sum() for p in model.parameters())


def make_data(n, width=20, classes=3):
    centres = torch.zeros(classes, width)
    centres[0, 0], centres[1, 1], centres[2, 2] = 2.5, 2.5, 2.5
    y = torch.randint(classes, (n,))
    return centres[y] + torch.randn(n, width), y


def main():
    torch.manual_seed(0)
    x, y = make_data(600)
    x_test, y_test = make_data(600)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    lmbda = 1e-3
    for epoch in range(1, 401):
        for rows in torch.randperm(len(x)).split(100):
            data_loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss = data_loss + lmbda * penalty(model)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch in (1, 25, 50, 100, 150, 200, 300, 400):
            with torch.no_grad():
                accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
                small = (model.body[0].weight.abs() < 0.005).float().mean().item()
            steepest = max(p.grad.abs().max().item() for p in model.parameters())
            print(
                f"epoch {epoch:3d}: loss {loss.item():.4f} (data {data_loss.item():.4f}), accuracy {accuracy:.3f}",
                end="",
            )
            print(f", weights below 0.005: {small:.3f}, largest gradient {steepest:.2f}")


if __name__ == "__main__":
    main()
