import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class IOUloss(nn.Module):
    def __init__(self, reduction="none", loss_type="iou"):
        super().__init__()
        self.reduction = reduction
        self.loss_type = loss_type

    def forward(self, pred, target):
        tl = torch.max(pred[:, :2] - pred[:, 2:] / 2, target[:, :2] - target[:, 2:] / 2)
        br = torch.min(pred[:, :2] + pred[:, 2:] / 2, target[:, :2] + target[:, 2:] / 2)
        area_p = torch.prod(pred[:, 2:], 1)
        area_g = torch.prod(target[:, 2:], 1)
        en = (tl < br).type(tl.type()).prod(dim=1)
        area_i = torch.prod(br - tl, 1) * en
        area_u = area_p + area_g - area_i
        iou = area_i / (area_u + 1e-16)
        if self.loss_type == "iou":
            loss = 1 - iou ** 2
        elif self.loss_type == "giou":
            c_tl = torch.min(pred[:, :2] - pred[:, 2:] / 2, target[:, :2] - target[:, 2:] / 2)
            c_br = torch.max(pred[:, :2] + pred[:, 2:] / 2, target[:, :2] + target[:, 2:] / 2)
            area_c = torch.prod(c_br - c_tl, 1)
            giou = iou - (area_c - area_u) / area_c.clamp(1e-16)
            loss = 1 - giou.clamp(min=-1.0, max=1.0)
        if self.reduction == "mean":
            loss = loss.mean()
        elif self.reduction == "sum":
            loss = loss.sum()
        return loss


class Detector(nn.Module):
    def __init__(self, size=20):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(size * size, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU())
        self.reg = nn.Linear(96, 4)
        nn.init.constant_(self.reg.bias, 0.0)

    def forward(self, x):
        out = self.reg(self.features(x))
        return torch.cat([2.0 + 4.0 * out[:, :2], 2.0 * torch.exp(out[:, 2:].clamp(-3, 3))], dim=1)


def make(n, g, size=20):
    wh = torch.randint(3, 7, (n, 2), generator=g)
    xy = (torch.rand(n, 2, generator=g) * (size - 4 - wh)).long() + 4
    images = 0.2 * torch.randn(n, size, size, generator=g)
    for i in range(n):
        images[i, xy[i, 1]:xy[i, 1] + wh[i, 1], xy[i, 0]:xy[i, 0] + wh[i, 0]] += 1.0
    return images, torch.cat([xy + wh / 2, wh.float()], dim=1)


torch.manual_seed(0)
g = torch.Generator().manual_seed(0)
images, boxes = make(2000, g)
val_images, val_boxes = make(300, g)
loader = DataLoader(TensorDataset(images, boxes), batch_size=50, shuffle=True)
model = Detector()
iou_loss = IOUloss(reduction="mean", loss_type="giou")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    total = 0.0
    for img, box in loader:
        loss = iou_loss(model(img), box)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2 == 0:
        with torch.no_grad():
            val = 1 - IOUloss(loss_type="iou")(model(val_images), val_boxes)
        print(f"epoch {epoch} iou_loss {total / len(loader):.4f} validation IoU {val.clamp(min=0).sqrt().mean():.4f}")
