import torch
import torch.nn as nn
import torch.nn.functional as F


class MnasBackbone(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())

    def forward(self, x):
        return self.body(self.stem(x))


class FeatureShrinker(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv = nn.Conv2d(width, 8, 1)

    def forward(self, x):
        return self.conv(x)


class MVSNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature_extractor = MnasBackbone()
        self.feat_shrinker = FeatureShrinker()

    def train(self, mode=True):
        super().train(mode)
        self.feature_extractor.eval()
        return self

    def forward(self, images):
        return self.feat_shrinker(self.feature_extractor(images))


class LightningModel:
    def __init__(self):
        self.mvsnet = MVSNet()
        self.depth_net = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))

    def configure_optimizers(self):
        return torch.optim.Adam(
            [
                {"params": self.mvsnet.parameters()},
                {"params": self.depth_net.parameters()},
            ],
            lr=1e-3,
        )

    def training_step(self, images, depth):
        prediction = self.depth_net(self.mvsnet(images))
        return F.smooth_l1_loss(F.interpolate(prediction, scale_factor=2), depth)

    def fit(self, epochs):
        optimizer = self.configure_optimizers()
        before = self.mvsnet.feature_extractor.stem[0].weight.detach().clone()
        for epoch in range(epochs):
            self.mvsnet.train()
            for _ in range(20):
                images, depth = batch()
                loss = self.training_step(images, depth)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            moved = (self.mvsnet.feature_extractor.stem[0].weight - before).abs().max().item()
            print(f"epoch {epoch} loss {loss.item():.5f} backbone moved by {moved:.5f}")


def batch(n=8):
    images = torch.rand(n, 3, 16, 16)
    images = F.avg_pool2d(images, 5, stride=1, padding=2)
    return images, images.mean(1, keepdim=True) ** 2 + 0.5 * images[:, :1]


torch.manual_seed(0)
LightningModel().fit(6)
