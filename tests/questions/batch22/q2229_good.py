import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)

N_PARTS, CHANNELS, CLASSES = 24, 16, 5


def make_parts(n, gen):
    poses = torch.randn(n, N_PARTS, CHANNELS, generator=gen)
    poses[:, :, 0] = -1.0
    owner = torch.randint(0, N_PARTS, (n,), generator=gen)
    rows = torch.arange(n)
    poses[rows, owner, 0] = 2.0
    labels = poses[rows, owner, 1:1 + CLASSES].argmax(dim=1)
    return poses, labels


class PartPooling(nn.Module):
    def __init__(self, channels, width):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(channels, 32), nn.Tanh(), nn.Linear(32, 1))
        self.value = nn.Linear(channels, width)
        self.normalise = nn.Softmax(dim=1)

    def forward(self, parts):
        attention = self.normalise(self.score(parts))
        return (attention * self.value(parts)).sum(dim=1)


class CapsuleClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = PartPooling(CHANNELS, 32)
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, parts):
        return self.head(self.pool(parts))


gen = torch.Generator().manual_seed(11)
train_x, train_y = make_parts(4000, gen)
test_x, test_y = make_parts(1000, gen)

model = CapsuleClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(15):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 64):
        idx = order[start:start + 64]
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / len(order):.3f}")

model.eval()
with torch.no_grad():
    acc = (model(test_x).argmax(1) == test_y).float().mean().item()
print(f"test accuracy {acc:.3f}")
