import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
N_CLASSES, SIZE = 41, 32


def make_scene(n):
    colors = torch.rand(N_CLASSES, 3, generator=torch.Generator().manual_seed(7))
    colors[0] = 0.0
    labels = torch.zeros(n, SIZE, SIZE, dtype=torch.long)
    for i in range(n):
        for _ in range(int(torch.randint(1, 4, (1,)))):
            h, w = torch.randint(5, 12, (2,)).tolist()
            r, c = torch.randint(0, SIZE - 12, (2,)).tolist()
            labels[i, r:r + h, c:c + w] = int(torch.randint(1, N_CLASSES, (1,)))
    images = colors[labels].permute(0, 3, 1, 2) + 0.15 * torch.randn(n, 3, SIZE, SIZE)
    return images, labels


train_images, train_labels = make_scene(320)
test_images, test_labels = make_scene(80)
loader = DataLoader(TensorDataset(train_images, train_labels), batch_size=16, shuffle=True)


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        )
        self.classes = nn.Conv2d(32, N_CLASSES, 1)
        self.objects = nn.Conv2d(32, 1, 1)

    def forward(self, x):
        f = self.body(x)
        return self.classes(f), self.objects(f).squeeze(1)


def dice_loss(logits, target, smooth=1.0):
    prob = torch.sigmoid(logits).flatten(1)
    target = target.flatten(1)
    inter = (prob * target).sum(1)
    return (1 - (2 * inter + smooth) / (prob.sum(1) + target.sum(1) + smooth)).mean()


net = SegNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(8):
    sums = torch.zeros(2)
    for x, y in loader:
        class_logits, object_logits = net(x)
        ce = F.cross_entropy(class_logits, y)
        dice = dice_loss(object_logits, (y > 0).float())
        loss = ce + dice
        opt.zero_grad()
        loss.backward()
        opt.step()
        sums += torch.tensor([ce.item(), dice.item()])
    ce_mean, dice_mean = (sums / len(loader)).tolist()
    print(f"epoch {epoch} total {ce_mean + dice_mean:.4f} ce {ce_mean:.4f} dice {dice_mean:.4f}")

net.eval()
with torch.no_grad():
    class_logits, object_logits = net(test_images)
    pred = object_logits > 0
    real = test_labels > 0
    iou = (pred & real).sum() / (pred | real).sum()
    acc = (class_logits.argmax(1) == test_labels).float().mean()
print(f"object iou {iou:.4f} predicted area {pred.float().mean():.4f} real area {real.float().mean():.4f} pixel acc {acc:.4f}")
