import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
torch.set_num_threads(1)

T = 50
betas = torch.linspace(1e-4, 0.05, T)
alphas_bar = torch.cumprod(1 - betas, 0)


class Denoiser(nn.Module):
    def __init__(self, dim=36, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.float()[:, None] / T], 1))


class SegHead(nn.Module):
    def __init__(self, dim=36):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x, recon):
        return self.net(torch.cat([x, recon], 1))


def noise_loss(model, x0, lo, hi):
    t = torch.randint(lo, hi, (len(x0),))
    eps = torch.randn_like(x0)
    ab = alphas_bar[t][:, None]
    xt = ab.sqrt() * x0 + (1 - ab).sqrt() * eps
    pred = model(xt, t)
    recon = (xt - (1 - ab).sqrt() * pred) / ab.sqrt()
    return ((pred - eps) ** 2).mean(1), recon


def norm_guided_one_step_denoising(model, x0, anomaly_label):
    normal_loss, recon = noise_loss(model, x0, 0, 20)
    noisier_loss, _ = noise_loss(model, x0, 20, T)
    loss = ((normal_loss + noisier_loss) * (anomaly_label == 0)).sum() / (anomaly_label == 0).sum().clamp(min=1)
    return loss, recon


base = torch.sin(torch.linspace(0, 6.0, 36))
images = base + 0.1 * torch.randn(120, 36)
masks = torch.zeros(120, 36)
labels = (torch.rand(120) < 0.5).long()
for i in range(120):
    if labels[i]:
        s = int(torch.randint(0, 30, (1,)))
        images[i, s:s + 6] += 2.0
        masks[i, s:s + 6] = 1.0

denoiser, seg = Denoiser(), SegHead()
optimizer = torch.optim.Adam([{"params": denoiser.parameters(), "lr": 1e-3}, {"params": seg.parameters(), "lr": 1e-3}])
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, masks, labels), batch_size=4, shuffle=True)

for epoch in range(12):
    train_loss = train_noise = train_seg = 0.0
    for x, m, y in loader:
        n_loss, recon = norm_guided_one_step_denoising(denoiser, x, y)
        logits = seg(x, recon)
        s_loss = F.binary_cross_entropy_with_logits(logits, m)
        loss = n_loss + 5 * s_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
        train_noise += n_loss.item()
        train_seg += s_loss.item()
    n = len(loader)
    print(f"Epoch:{epoch}, Train loss: {train_loss / n:.3f} noise {train_noise / n:.3f} seg {train_seg / n:.3f}")
