import torch
from torch import nn

torch.manual_seed(0)


class DiceLoss(nn.Module):
    def __init__(self, sigmoid=False, smooth=1e-5):
        super().__init__()
        self.sigmoid, self.smooth = sigmoid, smooth

    def forward(self, inputs, target):
        if self.sigmoid:
            inputs = torch.sigmoid(inputs)
        intersection = (inputs * target).sum((1, 2, 3))
        denominator = inputs.sum((1, 2, 3)) + target.sum((1, 2, 3))
        return (1.0 - (2.0 * intersection + self.smooth) / (denominator + self.smooth)).mean()


class MaskedDiceLoss(DiceLoss):
    def forward(self, inputs, target, mask=None):
        if mask is not None:
            return super().forward(inputs * mask, target * mask)
        return super().forward(inputs, target)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(1, 8, 3, padding=1)
        self.down2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = torch.relu(self.down1(x))
        b = torch.relu(self.up(torch.relu(self.down2(a))))
        return self.out(torch.cat([a, b], 1))


def make_batch(n=12):
    target = torch.zeros(n, 1, 24, 24)
    mask = torch.zeros(n, 1, 24, 24)
    for i in range(n):
        r, c = int(torch.randint(2, 10, ())), int(torch.randint(2, 10, ()))
        target[i, 0, r + 2 : r + 7, c + 1 : c + 6] = 1.0
        mask[i, 0, r : r + 10, c : c + 10] = 1.0
    return target + 0.7 * torch.randn(n, 1, 24, 24), target, mask


model = UNet()
criterion = MaskedDiceLoss(sigmoid=True)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(120):
    image, target, mask = make_batch()
    loss = criterion(model(image), target, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")

image, target, mask = make_batch(64)
with torch.no_grad():
    pred = (torch.sigmoid(model(image)) > 0.5).float() * mask
dice = 2 * (pred * target).sum() / (pred.sum() + target.sum())
print(f"Dice inside the masks: {dice.item():.3f}")
