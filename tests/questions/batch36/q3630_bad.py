import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
x = torch.randn(600, 6)
x[::40] *= 12.0
y = 3.0 * x[:, :1] - 2.0 * x[:, 1:2] + x[:, 2:3]
test_x = torch.randn(200, 6)
test_y = 3.0 * test_x[:, :1] - 2.0 * test_x[:, 1:2] + test_x[:, 2:3]


class Client:
    def __init__(self, model, loader, max_norm=1.0):
        self.model = model
        self.loader = loader
        self.max_norm = max_norm
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def train_epoch(self):
        self.model.train()
        running = 0.0
        for data, target in self.loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(data), target)
            loss.backward()
            self.optimizer.step()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
            running += loss.item()
        return running / len(self.loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        return self.criterion(self.model(test_x), test_y).item()


model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
client = Client(model, DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True))
for epoch in range(1, 16):
    train_loss = client.train_epoch()
    if epoch % 3 == 0 or epoch == 1:
        print(f"epoch {epoch} train loss {train_loss:.4f} test loss {client.evaluate():.4f}")
