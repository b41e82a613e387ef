import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
NUM_PARTS = 4


def make_shapes(n, points=128):
    pts = torch.rand(n, points, 3) * 2 - 1
    seg = (pts[..., 0] > 0).long() + 2 * (pts[..., 1] > 0.2).long()
    return pts, seg


class PartSeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, NUM_PARTS))

    def forward(self, pts):
        f = self.local(pts)
        g = f.max(dim=1, keepdim=True)[0].expand_as(f)
        return self.head(torch.cat([f, g], -1))


def compute_iou(pred, label):
    ious = []
    for b in range(pred.size(0)):
        part_ious = []
        for part in range(NUM_PARTS):
            gt = label[b] == part
            predict = pred[b] == part
            intersection = (gt + predict) == 2
            union = (gt + predict) >= 1
            if union.sum() == 0:
                part_ious.append(1.0)
            else:
                part_ious.append(intersection.sum().item() / union.sum().item())
        ious.append(sum(part_ious) / NUM_PARTS)
    return sum(ious) / len(ious)


train_pts, train_seg = make_shapes(128)
val_pts, val_seg = make_shapes(32)
model = PartSeg()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(10):
    model.train()
    for i in range(0, 128, 16):
        logits = model(train_pts[i:i + 16])
        loss = F.cross_entropy(logits.reshape(-1, NUM_PARTS), train_seg[i:i + 16].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        model.eval()
        with torch.no_grad():
            pred = model(val_pts).argmax(-1)
        acc = (pred == val_seg).float().mean().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} val acc {acc:.3f} val mIoU {compute_iou(pred, val_seg):.3f}")
