import torch
import torch.nn as nn
import torch.nn.functional as F


class AttributeNet(nn.Module):
    def __init__(self, n_attr=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, n_attr)
        self.drop = nn.Dropout(p=0.7)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        x = self.drop(x)
        return self.fc2(x)


torch.manual_seed(7)
faces = torch.randn(900, 1, 12, 12)
pattern = torch.randn(5, 144) / 12
attrs = (faces.flatten(1) @ pattern.t() > 0).float()
faces = faces + 0.5 * (attrs @ pattern).view(-1, 1, 12, 12) * 12
train_x, train_y, test_x, test_y = faces[:700], attrs[:700], faces[700:], attrs[700:]

model = AttributeNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(12):
    model.train()
    total = 0.0
    for idx in torch.randperm(700).split(50):
        optimizer.zero_grad()
        loss = criterion(model(train_x[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} train loss {total / 14:.4f}")

model.eval()
with torch.no_grad():
    first = (model(test_x) > 0).float()
    second = (model(test_x) > 0).float()
print("test accuracy", (first == test_y).float().mean().item())
print("answers that changed between two passes", int((first != second).sum()))
