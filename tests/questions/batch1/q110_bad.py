import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)

    def forward(self, x):
        return F.relu(self.conv(x))


class TransNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc1 = Block(1, width)
        self.enc2 = Block(width, 2 * width)
        self.dec1 = Block(3 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2)
        x = self.dec1(torch.cat([a, b], dim=1))
        return F.relu(self.out(x))


def ct_slices(n):
    image = 0.3 * torch.randn(n, 1, 16, 16)
    mask = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        r, c = torch.randint(0, 13, (2,)).tolist()
        mask[i, 0, r : r + 3, c : c + 3] = 1
    return image + mask, mask


def dice(logits, mask):
    prediction = (torch.sigmoid(logits) > 0.5).float()
    return (2 * (prediction * mask).sum() / (prediction.sum() + mask.sum() + 1e-6)).item()


torch.manual_seed(0)
model = TransNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(140):
    image, mask = ct_slices(16)
    logits = model(image)
    loss = criterion(logits, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f} dice {dice(logits, mask):.3f}")
