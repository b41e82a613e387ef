import torch
import torch.nn as nn
import torch.nn.functional as F

DEPTH_MEAN, DEPTH_STD = 20.0, 12.0


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.segmentation = nn.Conv2d(16, 3, 1)
        self.depth = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        h = self.encoder(x)
        return self.segmentation(h), self.depth(h)


def make_scenes(n, size=16):
    """Pictures, class of each pixel, depth in metres; the sensor has no reading (0) at some pixels."""
    kind = torch.randint(3, (n, 4, 4)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    near = torch.rand(n, 4, 4).repeat_interleave(4, 1).repeat_interleave(4, 2)
    depth = 3 + 45 * near**2
    look = F.one_hot(kind, 3).permute(0, 3, 1, 2).float() * (1.5 - near)[:, None]
    image = look + 0.05 * torch.randn(n, 3, size, size)
    depth = torch.where(torch.rand(n, size, size) < 0.2, torch.zeros_like(depth), depth)
    normed = torch.where(depth > 0, (depth - DEPTH_MEAN) / DEPTH_STD, torch.zeros_like(depth))
    return image, kind, normed[:, None], depth[:, None]


def l1_loss_depth(pred, target):
    mask = target > 0
    lss = F.l1_loss(pred[mask], target[mask], reduction="sum")
    return lss / mask.sum().clamp(min=1)


def main():
    torch.manual_seed(0)
    image, kind, depth, _ = make_scenes(160)
    test, _, _, metres = make_scenes(40)
    net = MultiTaskNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(8):
        totals = torch.zeros(2)
        for rows in torch.randperm(len(image)).split(16):
            seg, pred = net(image[rows])
            seg_loss = F.cross_entropy(seg, kind[rows])
            depth_loss = l1_loss_depth(pred, depth[rows])
            optimizer.zero_grad()
            (seg_loss + depth_loss).backward()
            optimizer.step()
            totals += torch.stack([seg_loss, depth_loss]).detach()
        s, d = (totals / 10).tolist()
        print(f"epoch {epoch}: segmentation {s:.3f}  depth {d:.3f}")
    with torch.no_grad():
        error = (net(test)[1] * DEPTH_STD + DEPTH_MEAN - metres).abs()
    close, far = (metres > 0) & (metres < DEPTH_MEAN), metres >= DEPTH_MEAN
    print(
        f"error in metres: nearer than {DEPTH_MEAN:.0f} m {error[close].mean():.2f}  farther {error[far].mean():.2f}"
    )


if __name__ == "__main__":
    main()
