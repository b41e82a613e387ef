import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)


def make_windows(n, length=15, features=8):
    drift = torch.randint(0, 3, (n,))
    walk = torch.randn(n, length, features) * 0.5
    walk = walk + (drift.float() - 1).view(n, 1, 1) * torch.linspace(0, 0.4, length).view(1, length, 1)
    return walk, drift


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.GRU(8, 32, batch_first=True)
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))

    def forward(self, x):
        _, h = self.base(x)
        return self.head(h[-1])


def epoch_trainer(model, loader, optimizer, criterion):
    model.train()
    train_loss, counter = 0, 0
    for inputs, targets in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        train_loss += loss.detach()
        counter += 1
    loss = (loss / counter).detach().cpu().numpy()
    return loss


def evaluate(model, loader, criterion):
    model.eval()
    total, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for inputs, targets in loader:
            outputs = model(inputs)
            total += criterion(outputs, targets).item() * len(targets)
            correct += (outputs.argmax(dim=1) == targets).sum().item()
            count += len(targets)
    return total / count, correct / count


train_loader = DataLoader(TensorDataset(*make_windows(1500)), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(*make_windows(500)), batch_size=64)
model = Net()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    loss = epoch_trainer(model, train_loader, optimizer, criterion)
    test_loss, acc = evaluate(model, test_loader, criterion)
    print(f"epoch {epoch + 1}: train loss {loss:.4f} test loss {test_loss:.4f} accuracy {acc:.3f}")
