import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = x.view(-1, 64)
        x = self.dropout(F.relu(self.fc1(x)))
        x = self.dropout(F.relu(self.fc2(x)))
        return self.fc3(x)


digits = torch.randn(10, 8, 8)


def make_loader(n, shuffle=False):
    y = torch.randint(0, 10, (n,))
    return DataLoader(
        TensorDataset(digits[y] * 0.6 + torch.randn(n, 8, 8), y), batch_size=64, shuffle=shuffle
    )


train_loader, valid_loader, test_loader = make_loader(1024, True), make_loader(320), make_loader(320)
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(1, 9):
    train_loss = valid_loss = 0.0
    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)

    model.eval()
    with torch.no_grad():
        for data, target in valid_loader:
            output = model(data)
            loss = criterion(output, target)
            valid_loss += loss.item() * data.size(0)

    print(
        f"Epoch: {epoch} \tTraining Loss: {train_loss / 1024:.6f} \tValidation Loss: {valid_loss / 320:.6f}"
    )

test_loss, correct = 0.0, 0
model.eval()
with torch.no_grad():
    for data, target in test_loader:
        output = model(data)
        test_loss += criterion(output, target).item() * data.size(0)
        correct += (output.argmax(1) == target).sum().item()
print(f"Test Loss: {test_loss / 320:.6f}, Test Accuracy: {correct / 320:.3f}")
