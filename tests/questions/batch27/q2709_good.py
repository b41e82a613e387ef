import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)

NUM_CLASSES = 3


class MeanIoU:
    def __init__(self, num_classes):
        self.num_classes = num_classes
        self.reset()

    def reset(self):
        self.score = torch.tensor(0.0)
        self.num_batches = 0

    def update(self, preds, target):
        preds = F.one_hot(preds, self.num_classes).flatten(1, 2).bool()
        target = F.one_hot(target, self.num_classes).flatten(1, 2).bool()
        intersection = (preds & target).sum(1).float()
        union = (preds | target).sum(1).float()
        score = torch.where(union > 0, intersection / union.clamp(min=1), torch.ones_like(union))
        self.score += score.mean()
        self.num_batches += 1

    def compute(self):
        return self.score / self.num_batches


def make(n):
    img = 0.3 * torch.randn(n, 1, 20, 20)
    mask = torch.zeros(n, 20, 20, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(0, 12, (2,)).tolist()
        mask[i, r:r + 7, c:c + 7] = 1
        r, c = torch.randint(0, 14, (2,)).tolist()
        mask[i, r:r + 4, c:c + 4] = 2
    img[:, 0] += mask.float()
    return img, mask


train_set = torch.utils.data.TensorDataset(*make(160))
val_set = torch.utils.data.TensorDataset(*make(96))
train_loader = torch.utils.data.DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = torch.utils.data.DataLoader(val_set, batch_size=8)

net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
                    nn.Conv2d(12, NUM_CLASSES, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
metric = MeanIoU(NUM_CLASSES)

for epoch in range(5):
    net.train()
    total = 0.0
    for x, y in train_loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    metric.reset()
    with torch.no_grad():
        for x, y in val_loader:
            metric.update(net(x).argmax(1), y)
    print(f"epoch {epoch} train loss {total / len(train_loader):.4f} val_mean_iou {metric.compute().item():.4f}")
