import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class MaskL1Loss(nn.Module):
    def forward(self, pred, gt, mask):
        loss = (torch.abs(pred - gt) * mask).sum() / mask.sum()
        return loss


class TextNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
                                      nn.Conv2d(12, 12, 3, padding=1), nn.ReLU())
        self.binarize = nn.Conv2d(12, 1, 1)
        self.thresh = nn.Conv2d(12, 1, 1)

    def forward(self, img):
        f = self.backbone(img)
        return self.binarize(f).squeeze(1), torch.sigmoid(self.thresh(f)).squeeze(1)


def make_images(n):
    img = 0.3 * torch.randn(n, 1, 20, 20)
    gt = torch.zeros(n, 20, 20)
    thresh_map = torch.zeros(n, 20, 20)
    for k in range(n):
        if torch.rand(1).item() < 0.5:
            continue
        r, c = torch.randint(2, 12, (2,)).tolist()
        gt[k, r:r + 6, c:c + 6] = 1
        thresh_map[k, r - 1:r + 7, c - 1:c + 7] = 0.7
    img = img + gt.unsqueeze(1)
    return img, gt, thresh_map, (thresh_map > 0).float()


img, gt, tmap, tmask = make_images(240)
val = make_images(60)
model = TextNet()
l1_loss = MaskL1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    perm = torch.randperm(240)
    for i in range(0, 240, 4):
        idx = perm[i:i + 4]
        binary, thresh = model(img[idx])
        bce = F.binary_cross_entropy_with_logits(binary, gt[idx])
        l1 = l1_loss(thresh, tmap[idx], tmask[idx])
        loss = 5 * bce + 10 * l1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = (model(val[0])[0] > 0).float()
        iou = (pred * val[1]).sum() / ((pred + val[1]) > 0).float().sum()
    model.train()
    print(f"epoch {epoch} loss {loss.item():.4f} bce {bce.item():.4f} l1 {l1.item():.4f} val iou {iou.item():.3f}")
