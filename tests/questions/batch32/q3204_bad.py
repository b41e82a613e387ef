import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

COOR_BIN = 16


class CoordinateHead(nn.Module):
    def __init__(self, channels=16, bins=COOR_BIN):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
        )
        self.x = nn.Conv2d(channels, bins + 1, 1)
        self.y = nn.Conv2d(channels, bins + 1, 1)
        self.z = nn.Conv2d(channels, bins + 1, 1)

    def forward(self, img):
        f = self.features(img)
        return self.x(f), self.y(f), self.z(f)


def batch(n):
    img = torch.rand(n, 3, 12, 12)
    bins = (img * COOR_BIN).long().clamp(0, COOR_BIN - 1)
    return img, bins


def to_coordinates(bins):
    return 2.0 * bins.float() / (COOR_BIN - 1.0) - 1.0


def coordinate_loss(outputs, bins):
    coor = torch.stack([torch.argmax(o, dim=1) for o in outputs], dim=1)
    coor[coor == COOR_BIN] = 0
    return F.l1_loss(to_coordinates(coor), to_coordinates(bins))


def main():
    model = CoordinateHead()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(120):
        img, bins = batch(16)
        loss = coordinate_loss(model(img), bins)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(step, loss.item())
    img, bins = batch(64)
    with torch.no_grad():
        coor = torch.stack([o[:, :COOR_BIN].argmax(1) for o in model(img)], 1)
    print("mean error", (to_coordinates(coor) - to_coordinates(bins)).abs().mean().item())


if __name__ == "__main__":
    main()
