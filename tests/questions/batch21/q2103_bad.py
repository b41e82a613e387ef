import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_CLASS, SIZE = 4, 32


def soft_dice_coefficient(output, target, smooth=1.0):
    num = output.size(0)
    output, target = output.reshape(num, -1), target.reshape(num, -1)
    inter = (output * target).sum(1)
    union = output.sum(1) + target.sum(1)
    return ((2 * inter + smooth) / (union + smooth)).mean()


class DiceBCELossWithLogits(nn.Module):
    def __init__(self, lambda_bce=0.1, lambda_dice=1.0):
        super().__init__()
        self.lambda_bce, self.lambda_dice = lambda_bce, lambda_dice

    def forward(self, logits, labels):
        onehot = F.one_hot(labels, N_CLASS).permute(0, 3, 1, 2).float()
        bce = F.binary_cross_entropy_with_logits(logits, onehot)
        dice = soft_dice_coefficient(logits.sigmoid(), onehot)
        return self.lambda_bce * bce + self.lambda_dice * (1 - dice), dice.detach()


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.01))


class TinyUNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc1, self.enc2 = conv(1, width), conv(width, 2 * width)
        self.mid = conv(2 * width, 2 * width)
        self.dec = conv(3 * width, width)
        self.head = nn.Conv2d(width, N_CLASS, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.mid(self.enc2(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(self.dec(torch.cat([a, b], 1)))


def scans(n, gen):
    img = torch.randn(n, 1, SIZE, SIZE, generator=gen) * 0.5
    lab = torch.zeros(n, SIZE, SIZE, dtype=torch.long)
    for k in range(n):
        for c in range(1, N_CLASS):
            y, x = torch.randint(0, SIZE - 4, (2,), generator=gen).tolist()
            lab[k, y:y + 3, x:x + 3] = c
            img[k, 0, y:y + 3, x:x + 3] += 0.9 * c
    return img, lab


gen = torch.Generator().manual_seed(1)
train_x, train_y = scans(160, gen)
test_x, test_y = scans(60, gen)
model = TinyUNet()
criterion = DiceBCELossWithLogits()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(30):
    order = torch.randperm(len(train_x))
    run, dice_run = 0.0, 0.0
    for i in range(0, len(order), 16):
        idx = order[i:i + 16]
        loss, dice = criterion(model(train_x[idx]), train_y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
        dice_run += dice.item()

with torch.no_grad():
    mask = model(test_x).sigmoid() > 0.5
print(f"train loss {run / 10:.4f}   train soft dice {dice_run / 10:.4f}")
for c in range(1, N_CLASS):
    p, t = mask[:, c], test_y == c
    print(f"class {c}: test dice {2 * (p & t).sum() / (p.sum() + t.sum()):.4f}")
