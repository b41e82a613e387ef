import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class BevDetector(nn.Module):
    def __init__(self, cin=8, width=24):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(cin, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
        )
        self.score_head = nn.Conv2d(width, 1, 1)
        self.pos_head = nn.Conv2d(width, 3, 1)
        self.dim_head = nn.Conv2d(width, 3, 1)
        self.ang_head = nn.Conv2d(width, 2, 1)

    def forward(self, feats):
        h = self.trunk(feats)
        return self.score_head(h), self.pos_head(h), self.dim_head(h), self.ang_head(h)


mix = torch.randn(9, 8) * 0.5


def sample(n=8, s=12):
    feats = torch.randn(n, 8, s, s)
    t = torch.einsum("oc,nchw->nohw", mix, feats)
    heatmap = torch.sigmoid(3 * t[:, :1])
    return feats, (heatmap, t[:, 1:4], t[:, 4:7], t[:, 7:9], heatmap > 0.6)


def masked_l1(pred, target, mask):
    return (F.l1_loss(pred, target, reduction="none") * mask).sum() / mask.sum().clamp(min=1)


def compute_loss(outputs, labels, weights=(1.0, 1.0, 1.0, 1.0)):
    score, pos, dim, ang = outputs
    heatmap, gt_pos, gt_dim, gt_ang, mask = labels
    score_loss = F.binary_cross_entropy_with_logits(score, heatmap)
    pos_loss = masked_l1(pos, gt_pos, mask)
    dim_loss = masked_l1(dim, gt_dim, mask)
    ang_loss = masked_l1(ang, gt_ang, mask)
    total = (weights[0] * score_loss + weights[1] * pos_loss
             + weights[2] * dim_loss + weights[3] * ang_loss)
    summary = {"score": score_loss.item(), "position": pos_loss.item(),
               "dimension": dim_loss.item(), "angle": ang_loss.item(),
               "total": total.item()}
    total = score_loss
    return total, summary


model = BevDetector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    sums = {}
    for _ in range(20):
        feats, labels = sample()
        optimizer.zero_grad()
        loss, summary = compute_loss(model(feats), labels)
        loss.backward()
        optimizer.step()
        for k, v in summary.items():
            sums[k] = sums.get(k, 0.0) + v / 20
    print(f"epoch {epoch}  " + "  ".join(f"{k} {v:.3f}" for k, v in sums.items()))
