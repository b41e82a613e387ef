import torch
import torch.nn as nn
import torch.nn.functional as F


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, bn):
        super().__init__()
        self.eps = bn.eps
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, getattr(bn, name).detach().clone())

    def forward(self, x):
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
        )

    @classmethod
    def convert_frozen_batchnorm(cls, module):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, cls(child))
            else:
                cls.convert_frozen_batchnorm(child)


class PillarFeatureNet(nn.Module):
    def __init__(self, in_dim=6, out_dim=16):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim, bias=False)
        self.norm = nn.BatchNorm1d(out_dim)

    def forward(self, points):
        n, p, _ = points.shape
        x = self.norm(self.linear(points).flatten(0, 1)).view(n, p, -1)
        return F.relu(x).max(dim=1)[0]


class SingleStage(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader = PillarFeatureNet()
        self.neck = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.head = nn.Conv2d(16, 1, 1)

    def features(self, points):
        b, h, w, p, c = points.shape
        pillars = self.reader(points.view(b * h * w, p, c))
        return self.neck(pillars.view(b, h, w, -1).permute(0, 3, 1, 2))

    def forward(self, points):
        return self.head(self.features(points)).squeeze(1)

    def freeze(self):
        for p in self.parameters():
            p.requires_grad = False
        FrozenBatchNorm2d.convert_frozen_batchnorm(self)
        return self


class TwoStage(nn.Module):
    def __init__(self, single_det):
        super().__init__()
        self.single_det = single_det.freeze()
        self.roi_head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, points):
        feat = self.single_det.features(points)
        return self.roi_head(feat.mean(dim=(2, 3)))


def sweep(n=8, size=5, pts=6, shift=0.0):
    points = torch.randn(n, size, size, pts, 6) + shift
    heat = (points[..., 0].max(-1)[0] - shift > 1.2).float()
    box = torch.stack([points[..., 1].mean((1, 2, 3)), points[..., 2].std((1, 2, 3))], 1)
    return points, heat, box


torch.manual_seed(8)
first = SingleStage()
opt = torch.optim.Adam(first.parameters(), lr=5e-3)
for it in range(120):
    points, heat, _ = sweep()
    loss = F.binary_cross_entropy_with_logits(first(points), heat)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"stage one: loss {loss.item():.4f}")

det = TwoStage(first)
norm = det.single_det.reader.norm
before = norm.running_mean.clone(), norm.running_var.clone()
optimizer = torch.optim.Adam([p for p in det.parameters() if p.requires_grad], lr=5e-3)
det.train()
det.single_det.eval()
for it in range(1, 121):
    points, _, box = sweep(shift=1.0)
    loss = F.smooth_l1_loss(det(points), box)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 30 == 0:
        print(f"stage two, iter {it}: loss {loss.item():.4f}")
print(f"running_mean moved by {(norm.running_mean - before[0]).abs().max():.3f}")
print(f"running_var moved by {(norm.running_var - before[1]).abs().max():.3f}")
