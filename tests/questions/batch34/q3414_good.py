import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Decoder(nn.Module):
    EXP_CLAMP = math.log(1e8)

    def __init__(self, channels=16, classes=6, anchors=2):
        super().__init__()
        self.num_classes, self.num_anchors = classes, anchors
        self.cls_subnet = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())
        self.cls_score = nn.Conv2d(channels, anchors * classes, 3, padding=1)
        self.object_pred = nn.Conv2d(channels, anchors, 3, padding=1)

    def forward(self, feature):
        h = self.cls_subnet(feature)
        n, _, height, width = feature.shape
        cls_score = self.cls_score(h).view(n, -1, self.num_classes, height, width)
        objectness = self.object_pred(h).view(n, -1, 1, height, width)
        normalized_cls_score = (
            cls_score
            + objectness
            - torch.log(
                1.0
                + torch.clamp(cls_score, max=self.EXP_CLAMP).exp()
                + torch.clamp(objectness, max=self.EXP_CLAMP).exp()
            )
        )
        return normalized_cls_score


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU())
        self.decoder = Decoder()

    def forward(self, images):
        return self.decoder(self.backbone(images))


def main():
    model = Detector()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0002, momentum=0.9)
    filters = torch.randn(12, 3)
    for step in range(70):
        images = 400 * torch.randn(8, 3, 12, 12)
        pooled = F.avg_pool2d(images, 2).permute(0, 2, 3, 1)
        target = ((pooled @ filters.t()) > 300).float().permute(0, 3, 1, 2).view(8, 2, 6, 6, 6)
        loss = F.binary_cross_entropy_with_logits(model(images), target, reduction="sum") / target.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0 or step == 69:
            print(step, loss.item())


main()
