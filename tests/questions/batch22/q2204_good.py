import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
np.random.seed(5)
CLASSES = 19


def make_scenes(n, size=32):
    images = torch.empty(n, 3, size, size)
    labels = torch.zeros(n, size, size, dtype=torch.long)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    palette = torch.rand(CLASSES, 3)
    for k in range(n):
        labels[k] = torch.randint(CLASSES, (1,))
        for _ in range(5):
            cy, cx, r = torch.randint(0, size, (1,)), torch.randint(0, size, (1,)), torch.randint(5, 11, (1,))
            labels[k][((yy - cy).abs() < r) & ((xx - cx).abs() < r)] = int(torch.randint(CLASSES, (1,)))
        images[k] = palette[labels[k]].permute(2, 0, 1)
    return images + 0.05 * torch.randn_like(images), labels


def random_permute(label):
    ordering = torch.from_numpy(np.random.permutation(CLASSES)).long()
    label2 = label.clone()
    for i in range(CLASSES):
        label2[label == i] = ordering[i]
    return label2


def shuffle_label(label):
    return torch.stack([random_permute(one) for one in label])


def one_hot(label):
    return F.one_hot(label, CLASSES).permute(0, 3, 1, 2).float()


class PriorNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.code = nn.Sequential(
            nn.AvgPool2d(4), nn.Conv2d(CLASSES, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.image = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.decode = nn.Sequential(
            nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(2 * width, CLASSES, 3, padding=1))

    def forward(self, image, label):
        code = F.interpolate(self.code(label), scale_factor=4, mode="bilinear", align_corners=False)
        return self.decode(torch.cat([code, self.image(image)], dim=1))


images, labels = make_scenes(380)
train_loader = DataLoader(TensorDataset(images[:340], labels[:340]), batch_size=10, shuffle=True)
test_images, test_labels = images[340:], labels[340:]

net = PriorNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=5e-4)
net.train()
for epoch in range(7):
    running = 0.0
    for im, label in train_loader:
        label = shuffle_label(label)
        opt.zero_grad()
        score = net(im, one_hot(label))
        loss = F.nll_loss(F.log_softmax(score, dim=1), label)
        loss.backward()
        opt.step()
        running += loss.item()
    print(f"epoch {epoch + 1}  label reconstruction loss {running / len(train_loader):.4f}")

net.eval()
with torch.no_grad():
    pred = net(test_images, one_hot(test_labels)).argmax(1)
ious = []
for c in range(CLASSES):
    inter = ((pred == c) & (test_labels == c)).sum().item()
    union = ((pred == c) | (test_labels == c)).sum().item()
    ious.append(inter / max(union, 1))
print("test accuracy", round((pred == test_labels).float().mean().item(), 4), " mIoU", round(sum(ious) / CLASSES, 4))
print("IoU per class", [round(v, 2) for v in ious])
