import torch
import torch.nn as nn
import torch.nn.functional as F


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 1, 1),
        )

    def forward(self, x):
        return self.net(x)


def patch_loss(logits, target, size=8):
    total = logits.new_zeros(())
    n_patch = (logits.size(2) // size) * (logits.size(3) // size)
    for top in range(0, logits.size(2), size):
        for left in range(0, logits.size(3), size):
            p = torch.sigmoid(logits[:, 0, top:top + size, left:left + size])
            t = target[:, top:top + size, left:left + size]
            overlap = 2 * (p * t).sum((1, 2)) + 1
            total = total + (1 - overlap / (p.sum((1, 2)) + t.sum((1, 2)) + 1)).mean()
            return total / n_patch


def make_images(n, size=32):
    img = torch.rand(n, 3, size, size)
    rows = torch.arange(size).view(1, size, 1).expand(n, size, size)
    mask = (img[:, 0] + img[:, 1] > 1.1) & (rows >= 8)
    img[:, 2] = (rows >= 8) * 0.5 + 0.2 * img[:, 2]
    return img, mask.float()


torch.manual_seed(0)
train_x, train_m = make_images(120)
test_x, test_m = make_images(30)
model = SegNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    model.train()
    running = 0.0
    for idx in torch.randperm(120).split(20):
        optimizer.zero_grad()
        out = model(train_x[idx])
        loss = patch_loss(out, train_m[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() / 6
    print(f"epoch {epoch} loss {running:.4f}")
model.eval()
with torch.no_grad():
    pred = (model(test_x)[:, 0] > 0).float()
    dice = 2 * (pred * test_m).sum() / (pred.sum() + test_m.sum())
    whole = patch_loss(model(test_x), test_m).item()
print(f"test dice {dice.item():.4f} reported {whole:.4f}")
