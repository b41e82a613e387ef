import torch
import torch.nn as nn


def gaussian(boxes):
    """Turns (x, y, w, h) into mean and the two standard deviations."""
    return boxes[:, :2], boxes[:, 2:].clamp(min=0) / 2


def gwd(pred, target):
    """Wasserstein distance of two axis aligned Gaussians."""
    (mean_p, std_p), (mean_t, std_t) = gaussian(pred), gaussian(target)
    centre = (mean_p - mean_t).pow(2).sum(1)
    shape = (std_p - std_t).pow(2).sum(1)
    return (centre + shape).clamp(min=1e-7).sqrt()


class GDLoss(nn.Module):
    def __init__(self, tau=1.0):
        super().__init__()
        self.tau = tau

    def forward(self, pred, target, weight):
        distance = torch.log1p(gwd(pred, target))
        return (weight * (1 - 1 / (self.tau + distance))).sum() / weight.sum()


class Head(nn.Module):
    """Refines anchors; anchors that are no object have themselves as a target, with weight 0."""

    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.reg = nn.Linear(48, 4)
        nn.init.zeros_(self.reg.weight)
        nn.init.zeros_(self.reg.bias)

    def forward(self, features, anchors):
        return anchors + self.reg(self.tower(features))


def make_batch(n, generator):
    features = torch.randn(n, 16, generator=generator)
    anchors = torch.rand(n, 4, generator=generator) * 3 + 1
    positive = torch.rand(n, generator=generator) < 0.3
    offset = 0.5 * torch.tanh(features[:, :4])
    target = torch.where(positive[:, None], anchors + offset, anchors)
    return features, anchors, target, positive.float()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    head = Head()
    optimizer = torch.optim.Adam(head.parameters(), lr=2e-3)
    criterion = GDLoss()
    for step in range(301):
        features, anchors, target, weight = make_batch(128, generator)
        loss = criterion(head(features, anchors), target, weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            bad = sum(int(p.isnan().sum()) for p in head.parameters())
            print(f"step {step}: loss {loss.item():.4f}  parameters that are nan {bad}")


if __name__ == "__main__":
    main()
