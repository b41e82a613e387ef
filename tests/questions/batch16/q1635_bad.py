import torch
import torch.nn as nn
import torch.nn.functional as F


def conv(inp, out):
    return nn.Sequential(nn.Conv2d(inp, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU())


class UNet2D(nn.Module):
    def __init__(self, f=12):
        super().__init__()
        self.enc1, self.enc2 = conv(1, f), conv(f, 2 * f)
        self.dropout = nn.Dropout(0.4)
        self.dec1 = conv(3 * f, f)
        self.final_conv = nn.Conv2d(f, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.dropout(self.enc2(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.final_conv(self.dec1(torch.cat([a, b], dim=1)))


def make_patches(n, side=24):
    axis = torch.arange(side).float()
    cy, cx = 4 + (side - 8) * torch.rand(2, n, 1, 1)
    r = 3 + 4 * torch.rand(n, 1, 1)
    mask = ((axis.view(1, -1, 1) - cy) ** 2 + (axis.view(1, 1, -1) - cx) ** 2 < r**2).float()
    image = 1.2 * mask + 0.8 * torch.randn(n, side, side)
    return image[:, None], mask[:, None]


class UNetTrainer:
    def __init__(self, model, optimizer, loss_criterion, loaders):
        self.model, self.optimizer = model, optimizer
        self.loss_criterion, self.loaders = loss_criterion, loaders

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            self.train()
            first, second = self.validate(), self.validate()
            print(
                f"epoch {epoch:2d}: train loss {self.loss:.4f}  validation IoU {first:.4f}, once more {second:.4f}"
            )

    def train(self):
        self.model.train()
        image, mask = self.loaders["train"]
        for rows in torch.randperm(len(image)).split(16):
            loss = self.loss_criterion(self.model(image[rows]), mask[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.loss = loss.item()

    def validate(self):
        scores = []
        with torch.no_grad():
            for image, mask in zip(*(part.split(1) for part in self.loaders["val"])):
                output = self.model(image) > 0
                mask = mask > 0.5
                scores.append((output & mask).sum() / (output | mask).sum().clamp_min(1))
        return torch.stack(scores).mean().item()


def main():
    torch.manual_seed(0)
    model = UNet2D()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loaders = {"train": make_patches(200), "val": make_patches(40)}
    UNetTrainer(model, optimizer, nn.BCEWithLogitsLoss(), loaders).fit(8)


if __name__ == "__main__":
    main()
