import torch
import torch.nn as nn

FEATURES, LABELS = 20, 47


class SignalNet(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, LABELS)

    def forward(self, x):
        return self.out(self.body(x))


def predict(y_pred):
    return torch.sign(torch.where(y_pred.abs() < 0.5, torch.zeros_like(y_pred), y_pred))


def criterion(y_pred, y):
    return nn.functional.binary_cross_entropy_with_logits(y_pred, y)


def signals(n, generator):
    fixed = torch.Generator().manual_seed(1)
    weight = torch.randn(FEATURES, LABELS, generator=fixed) / FEATURES**0.5
    x = torch.randn(n, FEATURES, generator=generator)
    score = x @ weight + 0.1 * torch.randn(n, LABELS, generator=generator)
    return x, torch.sign(torch.where(score.abs() < 0.4, torch.zeros_like(score), score))


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    x, y = signals(1600, generator)
    x_test, y_test = signals(400, generator)
    model = SignalNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(21):
        total = 0.0
        for rows in torch.randperm(len(x), generator=generator).split(32):
            loss = criterion(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 50
        if epoch % 4 == 0:
            with torch.no_grad():
                acc = (predict(model(x_test)) == y_test).float().mean()
            print(f"epoch {epoch}: loss {total:.4f}  labels right {acc:.3f}")


if __name__ == "__main__":
    main()
