import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DynamicsModel(nn.Module):
    def __init__(self, state=4, action=2, hidden=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(state + action, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, state)
        )

    def loss(self, x, y):
        return F.mse_loss(self.net(x), y)

    def eval_score(self, x, y):
        with torch.no_grad():
            return F.mse_loss(self.net(x), y).item()


class ModelTrainer:
    def __init__(self, model, lr=6e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train(self, train_set, val_set, num_epochs=60):
        best_score, best_weights = self.model.eval_score(*val_set), None
        x, y = train_set
        for epoch in range(num_epochs):
            for index in torch.randperm(len(x)).split(16):
                self.optimizer.zero_grad()
                loss = self.model.loss(x[index], y[index])
                loss.backward()
                self.optimizer.step()
            score = self.model.eval_score(*val_set)
            if score < best_score:
                best_score, best_weights = score, copy.deepcopy(self.model.state_dict())
                best_epoch = epoch
        if best_weights is not None:
            self.model.state_dict(best_weights)
        print("best epoch", best_epoch, "best score", round(best_score, 4))


def make_set(count, mix):
    x = torch.randn(count, 6)
    return x, torch.tanh(x @ mix) + 0.4 * torch.randn(count, 4)


def main():
    mix = torch.randn(6, 4)
    train_set, val_set = make_set(96, mix), make_set(200, mix)
    model = DynamicsModel()
    ModelTrainer(model).train(train_set, val_set)
    print("score of the returned model", round(model.eval_score(*val_set), 4))


main()
