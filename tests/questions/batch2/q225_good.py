import torch
import torch.nn as nn


def _threshold(x, threshold=None):
    if threshold is not None:
        return torch.tensor((x > threshold).type(x.dtype), requires_grad=True)
    return x


def f_score(pr, gt, beta=1, eps=1e-7, threshold=None):
    pr = _threshold(pr, threshold=threshold)
    tp = torch.sum(gt * pr)
    fp = torch.sum(pr) - tp
    fn = torch.sum(gt) - tp
    return ((1 + beta**2) * tp + eps) / ((1 + beta**2) * tp + beta**2 * fn + fp + eps)


class DiceLoss(nn.Module):
    def __init__(self, eps=1.0, threshold=None):
        super().__init__()
        self.eps, self.threshold = eps, threshold

    def forward(self, y_pr, y_gt):
        return 1 - f_score(torch.sigmoid(y_pr), y_gt, eps=self.eps, threshold=self.threshold)


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(a))
        return self.out(torch.cat([a, b], dim=1))


def make_batch(n=8):
    yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    center = 6 + 12 * torch.rand(n, 2, 1, 1)
    mask = (((yy - center[:, 0]) ** 2 + (xx - center[:, 1]) ** 2) < 20).float().unsqueeze(1)
    return mask + 0.3 * torch.randn(n, 1, 24, 24), mask


torch.manual_seed(0)
model = UNet()
loss_fn = DiceLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for _ in range(15):
        image, mask = make_batch()
        prediction = model(image)
        loss = loss_fn(prediction, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    iou = f_score(torch.sigmoid(prediction.detach()), mask, threshold=0.5)
    print(f"epoch {epoch} dice loss {loss.item():.4f} f-score {iou.item():.4f}")
