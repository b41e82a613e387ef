import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def normalize_instance(data, eps=1e-11):
    mean, std = data.mean(), data.std()
    return (data - mean) / (std + eps), mean, std


class SliceData(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, 24), torch.linspace(-1, 1, 24), indexing="ij")
        self.items = []
        for i in range(n):
            cx, cy, r = (torch.rand(3, generator=g) - 0.5).tolist()
            img = ((xx - cx) ** 2 + (yy - cy) ** 2 < (0.45 + 0.2 * r) ** 2).float()
            img = 4e-4 * (img + 0.3 * torch.exp(-4 * ((xx + cx) ** 2 + yy ** 2)) + 0.1)
            noisy = img + 1e-4 * torch.randn(img.shape, generator=g)
            self.items.append((noisy, img, f"file{i // 8}", i % 8))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, target, fname, slice_num = self.items[i]
        image, mean, std = normalize_instance(image)
        return image, target, mean, std, fname, slice_num


class SmallUnet(nn.Module):
    def __init__(self, chans=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, chans, 3, padding=1), nn.ReLU(), nn.Conv2d(chans, chans, 3, padding=1), nn.ReLU())
        self.low = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(chans, chans, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2))
        self.up = nn.Conv2d(2 * chans, 1, 3, padding=1)

    def forward(self, x):
        h = self.down(x)
        return self.up(torch.cat([h, self.low(h)], dim=1))


def run_unet_model(batch, model, device):
    image, _, mean, std, fname, slice_num = batch
    output = model(image.to(device).unsqueeze(1)).squeeze(1).cpu()
    mean = mean.unsqueeze(1).unsqueeze(2)
    std = std.unsqueeze(1).unsqueeze(2)
    output = (output * std + mean).cpu()
    return output, fname, slice_num


torch.manual_seed(0)
device = torch.device("cpu")
model = SmallUnet().to(device)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
train_loader = DataLoader(SliceData(160, 0), batch_size=8, shuffle=True)
for epoch in range(6):
    total = 0.0
    for image, target, mean, std, _, _ in train_loader:
        output = model(image.unsqueeze(1)).squeeze(1)
        target = (target - mean[:, None, None]) / std[:, None, None]
        loss = nn.functional.l1_loss(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} l1 {total / len(train_loader):.4f}")

model.eval()
nmse, best = [], []
with torch.no_grad():
    for batch in DataLoader(SliceData(40, 1), batch_size=8):
        output, fname, slice_num = run_unet_model(batch, model, device)
        target = batch[1]
        nmse.append(((output - target) ** 2).sum() / (target ** 2).sum())
        best.append(output.max())
print(f"NMSE of the reconstructions {torch.stack(nmse).mean():.4f}")
print(f"largest value in them {torch.stack(best).max():.6f} (targets go to {target.max():.6f})")
