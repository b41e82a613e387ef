import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
SIZE, CROP = 24, 16


def random_crop(x, size=CROP):
    top, left = torch.randint(0, x.shape[-2] - size + 1, (2,)).tolist()
    return x[..., top:top + size, left:left + size]


class InpaintDataset(Dataset):
    def __init__(self, n=256):
        yy, xx = torch.meshgrid(torch.linspace(0, 1, SIZE), torch.linspace(0, 1, SIZE), indexing="ij")
        self.images, self.weights = [], []
        for _ in range(n):
            a, b, c = torch.randn(3)
            clean = (a * xx + b * yy + 0.5 * torch.sin(6 * c * xx)).unsqueeze(0)
            weight = torch.ones(1, SIZE, SIZE)
            top, left = torch.randint(2, 12, (2,)).tolist()
            weight[:, top:top + 10, left:left + 10] = 0
            self.images.append(torch.where(weight > 0, clean, torch.full_like(clean, 4.0)))
            self.weights.append(weight)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = random_crop(self.images[i])
        weight = random_crop(self.weights[i])
        return image, weight


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 24, 3, padding=1), nn.SiLU(),
            nn.Conv2d(24, 24, 3, padding=2, dilation=2), nn.SiLU(),
            nn.Conv2d(24, 24, 3, padding=4, dilation=4), nn.SiLU(),
            nn.Conv2d(24, 1, 3, padding=1),
        )

    def forward(self, x, hint):
        return self.net(torch.cat([x, hint], dim=1))


model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
loader = DataLoader(InpaintDataset(), batch_size=16, shuffle=True)
for epoch in range(12):
    total, leaked = 0.0, 0.0
    for image, weight in loader:
        hint = (torch.rand_like(weight) > 0.5).float()
        pred = model(image * weight * hint, weight * hint)
        loss = (F.mse_loss(pred, image, reduction="none") * weight).sum() / weight.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
        leaked += (((image == 4.0) & (weight > 0)).sum() / weight.sum()).item() / len(loader)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  weighted loss {total:.4f}  hidden pixels among the weighted {leaked:.3f}")
