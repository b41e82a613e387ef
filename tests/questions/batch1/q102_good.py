import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class ClientModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def digits(n):
    g = torch.Generator().manual_seed(1)
    centers = torch.randn(10, 64, generator=g)
    target = torch.randint(0, 10, (n,), generator=g)
    data = centers[target] + 2.5 * torch.randn(n, 64, generator=g)
    data[1300::250] *= 50
    target[1300::250] = (target[1300::250] + 1) % 10
    return data, target


torch.manual_seed(0)
train_loader = DataLoader(TensorDataset(*digits(2000)), batch_size=32, shuffle=False)
client_model = ClientModel()
optimizer = optim.SGD(client_model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
eta = 1.5

for e in range(2):
    train_loss, seen = 0.0, 0
    client_model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        output = client_model(data)
        loss = criterion(output, target) / eta
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)
        seen += data.size(0)
        if batch_idx % 8 == 0:
            print(f"epoch {e} batch {batch_idx} train loss {train_loss / seen:.4f}")
