import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 9, 5),
        )

    def forward(self, x):
        return self.layers(x)


def _pgd(model, X, y, epsilon, niters=5, alpha=0.02):
    delta = torch.zeros_like(X)
    for _ in range(niters):
        X_pgd = (X + delta).detach().requires_grad_(True)
        loss = nn.CrossEntropyLoss()(model(X_pgd), y)
        loss.backward()
        delta = (X_pgd.detach() + alpha * X_pgd.grad.sign() - X).clamp(-epsilon, epsilon)
    err = (model(X + delta).argmax(1) != y).float().sum() / X.size(0)
    return delta, err


def train_baseline(loader, model, opt, epoch):
    model.train()
    for X, y in loader:
        loss = nn.CrossEntropyLoss()(model(X), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", round(loss.item(), 3))


def evaluate_robust(loader, model, epsilon):
    model.eval()
    errors, robust = [], []
    torch.set_grad_enabled(False)
    for X, y in loader:
        errors.append((model(X).argmax(1) != y).float().mean().item())
        with torch.enable_grad():
            _, pgd_err = _pgd(model, X, y, epsilon)
        robust.append(pgd_err.item())
    torch.set_grad_enabled(True)
    print("error", round(sum(errors) / len(errors), 3), "PGD error", round(sum(robust) / len(robust), 3))


def main():
    patterns = torch.randn(5, 1, 12, 12)
    y = torch.arange(500) % 5
    x = patterns[y] + torch.randn(500, 1, 12, 12)
    loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=50, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        train_baseline(loader, model, opt, epoch)
        evaluate_robust(test_loader, model, epsilon=0.15)


main()
