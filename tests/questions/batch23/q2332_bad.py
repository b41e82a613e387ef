import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
device = torch.device("cpu")
log_interval = 40


def make_signals(n):
    target = torch.randint(0, 5, (n, 1))
    t = torch.linspace(0, 1, 128)
    freq = 3.0 + 2.0 * target.float()
    phase = 6.28 * torch.rand(n, 1)
    wave = torch.sin(6.28 * freq * t + phase) + 0.8 * torch.randn(n, 128)
    low, high = wave.min(), wave.max()
    return TensorDataset(((wave - low) / (high - low)).unsqueeze(1), target)


train_loader = DataLoader(make_signals(2560), batch_size=32, shuffle=True)
test_loader = DataLoader(make_signals(640), batch_size=64)


class SignalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 9, padding=4)
        self.conv2 = nn.Conv1d(16, 32, 9, padding=4)
        self.fc1 = nn.Linear(32 * 8, 64)
        self.fc2 = nn.Linear(64, 5)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.conv1(x)), 4)
        x = F.max_pool1d(F.relu(self.conv2(x)), 4)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


model = SignalNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target.squeeze())
        loss.backward()
        optimizer.step()
        if batch_idx % log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}/{len(train_loader.dataset)}] Loss: {loss.item():.6f}")

model.eval()
test_loss, correct = 0.0, 0
with torch.no_grad():
    for data, target in test_loader:
        output = model(data.to(device))
        target = target.squeeze().to(device)
        test_loss += F.nll_loss(output, target, reduction="sum").item()
        correct += (output.argmax(1) == target).sum().item()
n = len(test_loader.dataset)
print(f"Test loss: {test_loss / n:.4f} accuracy: {correct / n:.4f}")
