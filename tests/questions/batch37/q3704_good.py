from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


class Trainer:
    def __init__(self, model, lr=0.02, max_epoch=200, patience=8):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.5)
        self.max_epoch = max_epoch
        self.patience = patience
        self.best_model = None

    def run_epoch(self, x, y, train):
        self.model.train(train)
        losses = []
        with torch.set_grad_enabled(train):
            for idx in torch.randperm(len(x)).split(16):
                loss = F.mse_loss(self.model(x[idx]), y[idx])
                if train:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                losses.append(loss.item())
        return sum(losses) / len(losses)

    def fit(self, x_train, y_train, x_val, y_val):
        best_vloss = float("inf")
        count_early_stop = 0
        for epoch in range(1, self.max_epoch + 1):
            tloss = self.run_epoch(x_train, y_train, True)
            vloss = self.run_epoch(x_val, y_val, False)
            if epoch % 10 == 0:
                print(f"epoch {epoch} train {tloss:.4f} val {vloss:.4f}")
            if vloss < best_vloss:
                best_vloss = vloss
                count_early_stop = 0
                self.best_model = deepcopy(self.model)
            else:
                count_early_stop += 1
            if count_early_stop >= self.patience:
                break
        print(f"stopped after epoch {epoch}, best val {best_vloss:.4f}")


def wave(n):
    x = torch.rand(n, 2) * 4 - 2
    y = torch.sin(2 * x[:, :1]) * torch.cos(1.5 * x[:, 1:]) + 0.1 * torch.randn(n, 1)
    return x, y


x_train, y_train = wave(400)
x_val, y_val = wave(60)
x_test, y_test = wave(1000)
net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
trainer = Trainer(net)
trainer.fit(x_train, y_train, x_val, y_val)
best = trainer.best_model.eval()
with torch.no_grad():
    print("test loss", round(F.mse_loss(best(x_test), y_test).item(), 4))
