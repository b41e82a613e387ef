import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self, dim=20, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


class Trainer:
    def __init__(self, model, lr=0.05, gradient_clip_val=1.0):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
        self.gradient_clip_val = gradient_clip_val

    def training_step(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = self.model(x)
        return nn.functional.mse_loss(pred.float(), y)

    def pre_optimization_step(self):
        self.scaler.unscale_(self.optimizer)

    def clip_gradients(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), self.gradient_clip_val)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            total = 0.0
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = self.training_step(x, y)
                self.scaler.scale(loss).backward()
                self.pre_optimization_step()
                self.clip_gradients()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                total += loss.item()
            print(f"epoch {epoch}: loss {total / len(loader):.4f}")


torch.manual_seed(0)
x = torch.randn(512, 20)
y = x[:, 0] * 1.5 - x[:, 1] + 0.5 * x[:, 2] * x[:, 3]
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
Trainer(Regressor()).fit(loader, epochs=8)
