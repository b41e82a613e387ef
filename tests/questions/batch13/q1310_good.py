import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(64, 64)
        self.l2 = nn.Linear(64, 48)
        self.l3 = nn.Linear(48, 32)
        self.l4 = nn.Linear(32, 10)

    def forward(self, x):
        x = x.view(-1, 64)
        x = F.relu(self.l1(x))
        x = F.relu(self.l2(x))
        x = F.relu(self.l3(x))
        return self.l4(x)


def make_data(n, seed):
    shapes = torch.rand(10, 8, 8, generator=torch.Generator().manual_seed(3))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(10, (n,), generator=g)
    return (shapes[y] + 0.35 * torch.randn(n, 8, 8, generator=g))[:, None], y


def test(model, x, y):
    model.eval()
    with torch.no_grad():
        output = model(x)
        loss = F.cross_entropy(output, y).item()
        guess = output.argmax(1)
    found = sum(1 for c in range(10) if (guess[y == c] == c).float().mean() > 0.5)
    silent = int((output.max(0).values <= 0).sum())
    hits = (guess == y).float().mean().item()
    print(
        f"  test loss {loss:.3f}  hits {hits:.3f}  classes found {found}  outputs that are never above zero {silent}"
    )


def main():
    torch.manual_seed(2)
    x, y = make_data(2000, 0)
    x_test, y_test = make_data(500, 1)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(1, 9):
        model.train()
        for batch_idx, rows in enumerate(torch.randperm(len(x)).split(50)):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: train loss {loss.item():.3f}")
        if epoch % 4 == 0:
            test(model, x_test, y_test)


if __name__ == "__main__":
    main()
