import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Mixture(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 16))
        self.rho = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, features, fractions):
        x = (self.phi(features) * fractions.unsqueeze(-1)).sum(1)
        return self.rho(x)


def dataset(n, w):
    features = torch.randn(n, 3, 8)
    fractions = torch.softmax(torch.randn(n, 3), 1)
    y = (torch.tanh(features @ w) * fractions.unsqueeze(-1)).sum((1, 2)) + 0.05 * torch.randn(n)
    return TensorDataset(features, fractions, y)


def run_epoch(model, loader, loss_fn, optimizer=None):
    num_batch = 0
    total_loss = 0.0
    for features, fractions, labels in loader:
        y_pred = model(features, fractions)
        loss = loss_fn(y_pred.view(-1), labels.view(-1))
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        num_batch += 1
        total_loss += loss.detach().item()
    return total_loss / num_batch


def train(model, train_loader, val_loader, epochs=10):
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        overall_train_loss = run_epoch(model, train_loader, loss_fn, optimizer)
        model.eval()
        with torch.no_grad():
            overall_val_loss = run_epoch(model, val_loader, loss_fn)
        print(f"epoch {epoch}: train {overall_train_loss:.4f} val {overall_val_loss:.4f}")


if __name__ == "__main__":
    w = torch.randn(8, 1)
    model = Mixture()
    train(
        model,
        DataLoader(dataset(1200, w), batch_size=30, shuffle=True),
        DataLoader(dataset(300, w), batch_size=30),
    )
    check = dataset(500, w)
    with torch.no_grad():
        out = model(check.tensors[0], check.tensors[1]).view(-1)
    print("mse on fresh data", round(((out - check.tensors[2]) ** 2).mean().item(), 4))
