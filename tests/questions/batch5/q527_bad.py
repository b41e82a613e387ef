import torch
from torch import nn

torch.manual_seed(0)


class GradientAccumulation:
    def __init__(self, n_acc):
        self.n_acc = n_acc
        self.count = 0

    def after_backward(self, batch_size):
        self.count += batch_size
        if self.count < self.n_acc:
            return False
        self.count = 0
        return True


class Learner:
    def __init__(self, model, lr, callback):
        self.model = model
        self.loss_func = nn.MSELoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.callback = callback

    def one_batch(self, xb, yb):
        loss = self.loss_func(self.model(xb), yb)
        loss.backward()
        if self.callback.after_backward(len(xb)):
            self.opt.step()
            self.opt.zero_grad()
        return loss.item()

    def fit(self, x, y, epochs, bs):
        for epoch in range(1, epochs + 1):
            batches = torch.randperm(len(x)).split(bs)
            total = sum(self.one_batch(x[idx], y[idx]) for idx in batches)
            print(f"epoch {epoch}: loss {total / len(batches):.4f}")


x = torch.randn(2048, 10)
y = torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
learner = Learner(model, lr=0.1, callback=GradientAccumulation(n_acc=64))
learner.fit(x, y, epochs=10, bs=8)
