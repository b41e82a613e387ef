import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
np.random.seed(5)


def make(n, weight):
    x = torch.randn(n, 30)
    signal = torch.tanh(x[:, :6] @ weight[:6]) + 0.5 * x[:, 6] * x[:, 7]
    return x, signal + 0.2 * torch.randn(n)


class GatedBlock(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.fc = nn.Linear(inp, 2 * out)
        self.bn = nn.BatchNorm1d(2 * out)

    def forward(self, x):
        a, b = self.bn(self.fc(x)).chunk(2, dim=1)
        return a * torch.sigmoid(b)


class TabularModel:
    def __init__(self, lr=2e-3, n_epochs=60, early_stop=5, batch_size=128):
        self.net = nn.Sequential(GatedBlock(30, 48), GatedBlock(48, 48), nn.Linear(48, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.n_epochs = n_epochs
        self.early_stop = early_stop
        self.batch_size = batch_size

    def metric(self, pred, label):
        return -F.mse_loss(pred, label).item()

    def train_epoch(self, x, y):
        self.net.train()
        order = torch.randperm(len(x))
        for k in range(0, len(x), self.batch_size):
            b = order[k:k + self.batch_size]
            loss = F.mse_loss(self.net(x[b]).squeeze(1), y[b])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def test_epoch(self, x, y):
        self.net.eval()
        with torch.no_grad():
            return self.metric(self.net(x).squeeze(1), y)

    def fit(self, train, valid):
        best_score = np.inf
        best_epoch = stop_steps = 0
        for epoch in range(self.n_epochs):
            self.train_epoch(*train)
            train_score, val_score = self.test_epoch(*train), self.test_epoch(*valid)
            print(f"epoch {epoch:2d} train {train_score:.4f} valid {val_score:.4f}")
            if val_score < best_score:
                best_score = val_score
                stop_steps = 0
                best_epoch = epoch
                best_param = copy.deepcopy(self.net.state_dict())
            else:
                stop_steps += 1
                if stop_steps >= self.early_stop:
                    print("early stop")
                    break
        self.net.load_state_dict(best_param)
        return best_epoch, best_score


weight = torch.randn(30)
train, valid, test = make(6000, weight), make(1500, weight), make(1500, weight)
model = TabularModel()
epoch, score = model.fit(train, valid)
print(f"best epoch {epoch} score {score:.4f}")
print(f"test score {model.test_epoch(*test):.4f}")
