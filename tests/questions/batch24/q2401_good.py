import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


def make_images(n, size=32):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images, masks = [], []
    for _ in range(n):
        cy, cx = torch.randint(8, size - 8, (2,))
        radius = torch.randint(4, 8, (1,))
        mask = ((yy - cy) ** 2 + (xx - cx) ** 2 <= radius ** 2).float()
        image = 0.7 * mask + 0.25 * torch.randn(size, size)
        images.append(image[None])
        masks.append(mask[None])
    return torch.stack(images), torch.stack(masks)


class SmallSeg(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.enc1 = nn.Conv2d(1, width, 3, padding=1)
        self.enc2 = nn.Conv2d(width, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = F.relu(self.enc1(x))
        x = F.max_pool2d(F.relu(self.enc2(x)), 2)
        x = F.relu(self.mid(x))
        prob = torch.sigmoid(self.head(x))
        return F.interpolate(prob, scale_factor=2, mode="bilinear", align_corners=False)


class TverskyLoss(nn.Module):
    def __init__(self, alpha=0.5, beta=0.5, smooth=1.0):
        super().__init__()
        self.alpha, self.beta, self.smooth = alpha, beta, smooth

    def forward(self, inputs, targets):
        inputs = inputs.reshape(-1)
        targets = targets.reshape(-1)
        tp = (inputs * targets).sum()
        fp = ((1 - targets) * inputs).sum()
        fn = (targets * (1 - inputs)).sum()
        return 1 - (tp + self.smooth) / (tp + self.alpha * fp + self.beta * fn + self.smooth)


def dice(pred, mask):
    pred = (pred >= 0.5).float()
    return (2 * (pred * mask).sum() / (pred.sum() + mask.sum() + 1e-6)).item()


x_train, y_train = make_images(240)
x_test, y_test = make_images(60)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=24, shuffle=True)

model = SmallSeg()
criterion = TverskyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
threshold = 0.5

for epoch in range(8):
    model.train()
    total = 0.0
    for images, masks in loader:
        optimizer.zero_grad()
        prediction = model(images)
        loss = criterion(prediction, masks)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    print(f"test dice {dice(model(x_test), y_test):.4f}")
