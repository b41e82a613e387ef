import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class PointNetish(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.local = nn.Sequential(nn.Conv1d(3, 32, 1), nn.ReLU(), nn.Conv1d(32, 64, 1), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, k))

    def forward(self, pts):
        return self.head(self.local(pts.transpose(1, 2)).max(dim=2)[0])


class NeuralNet:
    def __init__(self, module, criterion, lr=0.01, max_epochs=5, batch_size=32):
        self.module_ = module
        self.criterion_ = criterion()
        self.optimizer_ = torch.optim.Adam(module.parameters(), lr=lr)
        self.max_epochs, self.batch_size = max_epochs, batch_size
        self.history = []

    def infer(self, x):
        return self.module_(x)

    def get_loss(self, y_pred, y_true):
        return self.criterion_(y_pred, y_true)

    def train_step(self, xi, yi):
        self.module_.train()
        self.optimizer_.zero_grad()
        y_pred = self.infer(xi)
        loss = self.get_loss(y_pred, yi)
        loss.backward()
        self.optimizer_.step()
        return {"loss": loss.item(), "y_pred": y_pred}

    def validation_step(self, xi, yi):
        self.module_.eval()
        with torch.no_grad():
            y_pred = self.infer(xi)
            loss = self.get_loss(y_pred, yi)
        return {"loss": loss, "y_pred": y_pred}

    def fit(self, dataset):
        n_valid = len(dataset) // 5
        train_set, valid_set = random_split(dataset, [len(dataset) - n_valid, n_valid])
        train_iter = DataLoader(train_set, self.batch_size, shuffle=True)
        valid_iter = DataLoader(valid_set, self.batch_size)
        for epoch in range(self.max_epochs):
            train_loss = [self.train_step(xi, yi)["loss"] for xi, yi in train_iter]
            steps = [(self.validation_step(xi, yi), yi) for xi, yi in valid_iter]
            valid_loss = torch.stack([s["loss"] for s, _ in steps]).mean()
            hits = torch.cat([s["y_pred"].argmax(1) == yi for s, yi in steps]).float().mean()
            row = {
                "epoch": epoch + 1,
                "train_loss": sum(train_loss) / len(train_loss),
                "valid_loss": valid_loss.item(),
                "valid_acc": hits.item(),
            }
            self.history.append(row)
            print("  ".join(f"{k} {v:.4f}" if k != "epoch" else f"{k} {v}" for k, v in row.items()))
        return self


def shapes(n=1000, points=64):
    label = torch.randint(0, 4, (n,))
    pts = nn.functional.normalize(torch.randn(n, points, 3), dim=2)
    scale = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.2], [0.3, 0.3, 1.0], [1.0, 0.5, 0.5]])
    return TensorDataset(pts * scale[label].unsqueeze(1) + 0.02 * torch.randn_like(pts), label)


torch.manual_seed(6)
NeuralNet(PointNetish(), nn.CrossEntropyLoss).fit(shapes())
