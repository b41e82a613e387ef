import torch
import torch.nn as nn
import torch.nn.functional as F


class FCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2d(12, 1, 1),
        )

    def forward(self, x):
        return self.net(x)[:, 0]


def get_blobs(model, images):
    """Where the net sees something now, with a margin around each place."""
    model.eval()
    with torch.no_grad():
        seen = (torch.sigmoid(model(images)) > 0.5).float()
    return F.max_pool2d(seen[:, None], 3, stride=1, padding=1)[:, 0]


def lc_loss(model, images, points):
    model.train()
    blobs = get_blobs(model, images)
    logits = model(images)
    loss = -(F.logsigmoid(logits) * points).sum() / points.sum()
    empty = (F.max_pool2d(points[:, None], 3, stride=1, padding=1)[:, 0] == 0).float()
    loss = loss + (F.softplus(logits) * empty).sum() / empty.sum()
    false_blobs = blobs * empty
    return loss + (F.softplus(logits) * false_blobs).sum() / false_blobs.sum().clamp(min=1)


def make_images(n, size=12):
    points = (torch.rand(n, size, size) < 0.03).float()
    glow = torch.tensor([[0.5, 0.8, 0.5], [0.8, 1.0, 0.8], [0.5, 0.8, 0.5]])[None, None]
    images = 60 * F.conv2d(points[:, None], glow, padding=1) + 120 + 25 * torch.randn(n, 1, size, size)
    return images, points


def main():
    torch.manual_seed(0)
    images, points = make_images(96)
    test, truth = make_images(60)
    model = FCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(18):
        total = 0.0
        for rows in torch.randperm(len(images)).split(16):
            loss = lc_loss(model, images[rows], points[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch}: loss {total / 6:.3f}")
    norm = model.net[1]
    print(
        f"batches seen by the first norm {norm.num_batches_tracked.item()}, mean {norm.running_mean.mean():.2f}"
    )
    model.eval()
    with torch.no_grad():
        seen = model(test) > 0
    found = seen[truth > 0].float().mean().item()
    near = F.max_pool2d(truth[:, None], 3, stride=1, padding=1)[:, 0] > 0
    print(f"test: points found {found:.3f}  marked where nothing is {seen[~near].float().mean().item():.3f}")


if __name__ == "__main__":
    main()
