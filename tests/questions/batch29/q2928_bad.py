import copy
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(29)
torch.set_num_threads(1)


class DeepDTA(nn.Module):
    def __init__(self):
        super().__init__()
        self.drug = nn.Embedding(20, 16)
        self.prot = nn.Embedding(24, 16)
        self.conv_d = nn.Conv1d(16, 24, 4)
        self.conv_p = nn.Conv1d(16, 24, 6)
        self.fc = nn.Sequential(nn.Linear(48, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, d, p):
        d = torch.relu(self.conv_d(self.drug(d).transpose(1, 2))).max(-1).values
        p = torch.relu(self.conv_p(self.prot(p).transpose(1, 2))).max(-1).values
        return self.fc(torch.cat([d, p], dim=1)).squeeze(-1)


a_d, a_p = torch.randn(20), torch.randn(24)


def make_set(n):
    d, p = torch.randint(0, 20, (n, 16)), torch.randint(0, 24, (n, 24))
    y = 6 + 0.5 * a_d[d].sum(1) / 4 + 0.5 * a_p[p].sum(1) / 5 + 1.2 * torch.randn(n)
    return TensorDataset(d, p, y)


train_loader = DataLoader(make_set(160), batch_size=16, shuffle=True)
val_set, test_set = make_set(150), make_set(300)

model = DeepDTA()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()


def rmse(data):
    model.eval()
    with torch.no_grad():
        d, p, y = data.tensors
        return criterion(model(d, p), y).sqrt().item()


best_val, best_epoch, best_weights = float("inf"), -1, None
for epoch in range(30):
    model.train()
    for d, p, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(d, p), y)
        loss.backward()
        optimizer.step()
    val = rmse(val_set)
    if val < best_val:
        best_val, best_epoch = val, epoch
        best_weights = model.state_dict()
    if epoch % 5 == 4:
        print(f"epoch {epoch}  train loss {loss.item():.4f}  val RMSE {val:.4f}")

print(f"best val RMSE {best_val:.4f} at epoch {best_epoch}")
model.load_state_dict(best_weights)
print(f"restored: val RMSE {rmse(val_set):.4f}  test RMSE {rmse(test_set):.4f}")
