import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(
            nn.Conv1d(9, 16, kernel_size=5), nn.ReLU(), nn.MaxPool1d(2)
        )
        self.conv2 = nn.Sequential(
            nn.Conv1d(16, 32, kernel_size=5), nn.ReLU(), nn.MaxPool1d(2)
        )
        self.fc1 = nn.Sequential(nn.Linear(32 * 5, 64), nn.ReLU())
        self.fc2 = nn.Linear(64, 6)

    def forward(self, x):
        out = self.conv1(x)
        out = self.conv2(out)
        out = out.reshape(-1, 32 * 5)
        out = self.fc1(out)
        out = self.fc2(out)
        out = F.softmax(out, dim=1)
        return out


def signals(n):
    kind = torch.randint(0, 6, (n,))
    t = torch.linspace(0, 6.28, 32)
    freq = 0.8 + 0.35 * kind.float().view(-1, 1, 1)
    phase = torch.rand(n, 9, 1) * 6.28
    x = torch.sin(freq * t + phase) + 0.5 * torch.randn(n, 9, 32)
    return x, kind


def train(model, optimizer, loader, test_loader):
    criterion = nn.CrossEntropyLoss()
    for e in range(8):
        model.train()
        correct, total, total_loss = 0, 0, 0.0
        for sample, target in loader:
            output = model(sample)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
            correct += (output.argmax(1) == target).sum().item()
            total += target.shape[0]
        print(
            f"Epoch [{e + 1}/8], loss {total_loss / len(loader):.4f}, "
            f"train {100.0 * correct / total:.1f}, test {test(model, test_loader):.1f}"
        )


def test(model, loader):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for sample, target in loader:
            correct += (model(sample).argmax(1) == target).sum().item()
            total += target.shape[0]
    return 100.0 * correct / total


if __name__ == "__main__":
    train_loader = DataLoader(TensorDataset(*signals(1600)), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(*signals(400)), batch_size=64)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    train(model, optimizer, train_loader, test_loader)
