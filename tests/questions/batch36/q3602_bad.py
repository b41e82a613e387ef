import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class PointNetSeg(nn.Module):
    def __init__(self, num_classes=4, num_parts=3):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU())
        self.cls = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, num_classes))
        self.seg = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, num_parts))

    def forward(self, pts):
        feat = self.point(pts)
        glob = feat.max(dim=1)[0]
        labels_pred = self.cls(glob)
        expanded = glob.unsqueeze(1).expand(-1, pts.shape[1], -1)
        seg_pred = self.seg(torch.cat([feat, expanded], dim=-1))
        return labels_pred, F.log_softmax(seg_pred, dim=-1)


class PointNetLoss(nn.Module):
    def __init__(self, weight=0.5):
        super().__init__()
        self.weight = weight

    def forward(self, labels_pred, label, seg_pred, seg):
        seg_loss = F.nll_loss(seg_pred.reshape(-1, seg_pred.shape[-1]), seg.reshape(-1))
        label_loss = F.nll_loss(labels_pred, label)
        return self.weight * seg_loss + (1 - self.weight) * label_loss, seg_loss, label_loss


def make(n):
    label = torch.randint(0, 4, (n,))
    stretch = torch.tensor([[1., 1., 1.], [2., 1., 1.], [1., 2., 1.], [1., 1., 2.]])[label]
    pts = torch.randn(n, 40, 3) * stretch.unsqueeze(1)
    height = pts[:, :, 2]
    seg = (height > -0.5).long() + (height > 0.5).long()
    return pts, label, seg


pts, label, seg = make(512)
tpts, tlabel, tseg = make(256)
model = PointNetSeg()
criterion = PointNetLoss()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(12):
    for i in range(0, 512, 32):
        labels_pred, seg_pred = model(pts[i:i + 32])
        loss, seg_loss, label_loss = criterion(labels_pred, label[i:i + 32], seg_pred, seg[i:i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        lp, sp = model(tpts)
        cls_acc = (lp.argmax(1) == tlabel).float().mean().item()
        seg_acc = (sp.argmax(-1) == tseg).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} label loss {label_loss.item():.3f} "
          f"cls acc {cls_acc:.3f} seg acc {seg_acc:.3f}")
