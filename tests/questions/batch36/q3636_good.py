import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
CLASSES, STEPS = 4, 30


def make(count):
    label = torch.randint(0, CLASSES, (count,))
    t = torch.linspace(0, 1, STEPS)
    wave = torch.sin(2 * torch.pi * (label[:, None] + 1) * t[None, :])
    return TensorDataset(wave[:, None, :] + 0.4 * torch.randn(count, 1, STEPS), label)


class ResidualCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv1d(16, 16, 5, padding=2)
        self.fc = nn.Linear(16 * STEPS, CLASSES)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = x + torch.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def get_all_preds(model, loader):
    model.eval()
    preds = []
    with torch.no_grad():
        for x, _ in loader:
            preds.append(model(x).argmax(1))
    return torch.cat(preds).numpy()


train_dataset, test_dataset = make(800), make(200)
train_loader = DataLoader(train_dataset, batch_size=32, shuffle=True)
test_loader = DataLoader(test_dataset, batch_size=20, shuffle=False)
model = ResidualCNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(1, 6):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f}")

y_true = np.array([int(test_dataset[i][1]) for i in range(len(test_dataset))])
y_pred = get_all_preds(model, test_loader)
print(f"test accuracy {(y_pred == y_true).mean():.3f}")
print("first ten", list(zip(y_true[:10].tolist(), y_pred[:10].tolist())))
