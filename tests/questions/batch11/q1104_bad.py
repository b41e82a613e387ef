import torch
import torch.nn as nn


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, eps=1e-8):
        super().__init__()
        self.gamma = gamma
        self.eps = eps

    def forward(self, y_pred, y_true):
        y_pred = torch.clamp(y_pred, self.eps, 1 - self.eps)
        y_true = y_true.unsqueeze(1)
        y_pred = y_pred.unsqueeze(1)
        pos = y_true * torch.pow(1 - y_pred, self.gamma) * torch.log(y_pred)
        neg = (1 - y_true) * torch.pow(y_pred, self.gamma) * torch.log(1 - y_pred)
        return -torch.sum(pos + neg, dim=1).mean()


class Classifier(nn.Module):
    def __init__(self, in_features=30):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_features, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def get_data(n=2048, d=30):
    w = torch.randn(d)
    x = 40 * torch.randn(n, d)
    return x, (x @ w > 0).float()


def fit(model, criterion, optimizer, x, y, epochs=60, batch_size=128):
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), batch_size):
            idx = order[i : i + batch_size]
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {total / len(x):.6f}")


torch.manual_seed(0)
x, y = get_data()
model = Classifier()
fit(model, FocalLoss(), torch.optim.Adam(model.parameters(), lr=1e-3), x, y)
