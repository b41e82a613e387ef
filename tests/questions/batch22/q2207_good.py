import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
STEPS = 200


def make_slices(n, size=16):
    t = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(t, t, indexing="ij")
    ry, rx = 0.6 + 0.25 * torch.rand(n, 1, 1), 0.5 + 0.25 * torch.rand(n, 1, 1)
    skull = (((yy / ry) ** 2 + (xx / rx) ** 2) < 1).float()
    cy, cx = 0.3 * torch.rand(2, n, 1, 1) - 0.15
    inner = torch.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / 0.08)
    return (skull * (0.45 + 0.4 * inner)).unsqueeze(1)


class Scheduler:
    def __init__(self):
        self.betas = torch.linspace(5e-4, 0.05, STEPS)
        self.alphas = 1 - self.betas
        self.bar = torch.cumprod(self.alphas, 0)

    def add_noise(self, x, noise, t):
        bar = self.bar[t].view(-1, 1, 1, 1)
        return bar.sqrt() * x + (1 - bar).sqrt() * noise

    def step(self, eps, t, x):
        mean = (x - self.betas[t] / (1 - self.bar[t]).sqrt() * eps) / self.alphas[t].sqrt()
        if t == 0:
            return mean
        return mean + self.betas[t].sqrt() * torch.randn_like(x)


class NoiseNet(nn.Module):
    def __init__(self, w=24):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 2 * w), nn.SiLU(), nn.Linear(2 * w, 2 * w))
        self.inp = nn.Conv2d(1, w, 3, padding=1)
        self.down = nn.Conv2d(w, 2 * w, 3, stride=2, padding=1)
        self.mid1 = nn.Conv2d(2 * w, 2 * w, 3, padding=1)
        self.mid2 = nn.Conv2d(2 * w, 2 * w, 3, padding=2, dilation=2)
        self.up = nn.Conv2d(2 * w, w, 3, padding=1)
        self.out = nn.Conv2d(2 * w, 1, 3, padding=1)

    def forward(self, x, t):
        freq = torch.exp(-torch.arange(8) * 0.9)
        ang = t.float().view(-1, 1) * freq
        emb = self.time(torch.cat([ang.sin(), ang.cos()], 1)).view(len(x), -1, 1, 1)
        a = F.silu(self.inp(x))
        b = F.silu(self.down(a) + emb)
        b = b + F.silu(self.mid1(b))
        b = b + F.silu(self.mid2(b))
        c = F.silu(self.up(F.interpolate(b, scale_factor=2)))
        return self.out(torch.cat([a, c], 1))


@torch.no_grad()
def sample_from_image(model, sched, images, noise_level):
    x = sched.add_noise(images, torch.randn_like(images), torch.full((len(images),), noise_level))
    for t in range(noise_level, -1, -1):
        x = sched.step(model(x, torch.full((len(images),), t)), t, x)
    return x.clamp(-1, 1)


train_loader = DataLoader(TensorDataset(make_slices(800)), batch_size=32, shuffle=True)
val_images = make_slices(48)
model, sched = NoiseNet(), Scheduler()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.L1Loss()

for epoch in range(14):
    batch_loss, count = 0.0, 0
    for (images,) in train_loader:
        images = images * 2 - 1
        noise = torch.randn_like(images)
        timesteps = torch.randint(0, STEPS, (len(images),))
        optimizer.zero_grad()
        pred = model(sched.add_noise(images, noise, timesteps), timesteps)
        loss = criterion(pred, noise)
        loss.backward()
        optimizer.step()
        batch_loss += loss.item() * len(images)
        count += len(images)
    if epoch % 2:
        print(f"epoch {epoch + 1}  training loss {batch_loss / count:.4f}")

rec = (sample_from_image(model, sched, val_images * 2 - 1, 80) + 1) / 2
print(f"val mse {F.mse_loss(rec, val_images).item():.4f}  mean intensity {rec.mean().item():.3f} (data {val_images.mean().item():.3f})")
