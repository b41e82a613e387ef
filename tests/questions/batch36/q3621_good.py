import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
centers = torch.randn(6, 20)
labels = torch.randint(0, 6, (1200,))
points = centers[labels] + 0.9 * torch.randn(1200, 20)
train_set = TensorDataset(points[:1000], labels[:1000])
test_x, test_y = points[1000:], labels[1000:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 6)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return F.log_softmax(x, dim=1)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(train_set, batch_size=50, shuffle=True)
for epoch in range(1, 7):
    model.train()
    total = 0.0
    for data, target in loader:
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} test accuracy {acc:.3f}")
