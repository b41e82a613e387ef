import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    """Reads one feature row per anchor; gives class logits and four box deltas."""

    def __init__(self, width, num_classes):
        super().__init__()
        self.fpn = nn.Sequential(nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU())
        self.classifier = nn.Linear(64, num_classes)
        self.bb_regressor = nn.Linear(64, 4)

    def forward(self, anchors):
        h = self.fpn(anchors)
        return self.classifier(h), self.bb_regressor(h)


def compute_class_loss(anchor_matches, class_pred_logits):
    pos_indices = torch.nonzero(anchor_matches > 0).squeeze(1)
    neg_indices = torch.nonzero(anchor_matches == -1).squeeze(1)
    neg_indices = neg_indices[torch.randperm(len(neg_indices))[: 2 * len(pos_indices)]]
    pos_loss = F.cross_entropy(class_pred_logits[pos_indices], anchor_matches[pos_indices])
    neg_loss = F.cross_entropy(class_pred_logits[neg_indices], torch.zeros_like(neg_indices))
    return (pos_loss + neg_loss) / 2


def compute_bbox_loss(target_deltas, pred_deltas, anchor_matches):
    indices = torch.nonzero(anchor_matches == 1).squeeze(1)
    if len(indices) == 0:
        return pred_deltas.sum() * 0
    return F.smooth_l1_loss(pred_deltas[indices], target_deltas[indices])


class Images:
    def __init__(self, num_classes=4, anchors=120, width=20):
        self.anchors = anchors
        self.look = torch.randn(num_classes, width)
        self.mix = torch.randn(num_classes, width, 4) / width**0.5
        self.num_classes = num_classes

    def get(self):
        kind = torch.randint(-2, self.num_classes, (self.anchors,)).clamp(min=0)
        x = self.look[kind] + torch.randn(self.anchors, self.look.shape[1])
        deltas = torch.einsum("nw,nwd->nd", x, self.mix[kind])
        matches = torch.where(kind == 0, torch.full_like(kind, -1), kind)
        matches[torch.rand(self.anchors) < 0.1] = 0
        return x, matches, deltas


def main():
    torch.manual_seed(0)
    data = Images()
    net = Net(20, data.num_classes)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(1, 601):
        x, anchor_matches, target_deltas = data.get()
        class_logits, pred_deltas = net(x)
        class_loss = compute_class_loss(anchor_matches, class_logits)
        bbox_loss = compute_bbox_loss(target_deltas, pred_deltas, anchor_matches)
        optimizer.zero_grad()
        (class_loss + bbox_loss).backward()
        optimizer.step()
        if step % 150 == 0:
            print(f"step {step}: class loss {class_loss.item():.3f}  bbox loss {bbox_loss.item():.3f}")
    with torch.no_grad():
        batches = [data.get() for _ in range(20)]
        for c in range(1, data.num_classes):
            off = [(net(x)[1] - d)[m == c].abs().mean() for x, m, d in batches]
            print(f"class {c}: mean error of the box deltas {torch.stack(off).mean().item():.3f}")


if __name__ == "__main__":
    main()
