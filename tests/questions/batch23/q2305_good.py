import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
CLASSES, TEMPERATURE, VIEWS = 4, 0.5, 12


def make_batch(n=8, size=32):
    label = torch.zeros(n, size, size, dtype=torch.long)
    for b in range(n):
        for c in range(1, CLASSES):
            y, x = torch.randint(0, size - 12, (2,)).tolist()
            h, w = torch.randint(8, 13, (2,)).tolist()
            label[b, y:y + h, x:x + w] = c
    palette = torch.tensor([[.2, .2, .2], [.8, .3, .2], [.3, .7, .3], [.3, .4, .8]])
    image = palette[label].permute(0, 3, 1, 2) + 0.35 * torch.randn(n, 3, size, size)
    return image, label


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o, s=1):
            return nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.BatchNorm2d(o), nn.ReLU())
        self.body = nn.Sequential(block(3, 24), block(24, 32, 2), block(32, 48), block(48, 48))
        self.cls_head = nn.Conv2d(48, CLASSES, 1)
        self.proj_head = nn.Sequential(nn.Conv2d(48, 48, 1), nn.BatchNorm2d(48), nn.ReLU(), nn.Conv2d(48, 32, 1), nn.BatchNorm2d(32, affine=False))

    def forward(self, x):
        f = self.body(x)
        return self.cls_head(f), self.proj_head(f)


def sample_anchors(embed, label):
    feats, owner = [], []
    flat = embed.permute(0, 2, 3, 1)
    for b in range(len(label)):
        for c in label[b].unique():
            idx = (label[b] == c).nonzero()
            if len(idx) < VIEWS:
                continue
            idx = idx[torch.randperm(len(idx))[:VIEWS]]
            feats.append(flat[b, idx[:, 0], idx[:, 1]])
            owner.append(c.repeat(VIEWS))
    return torch.cat(feats), torch.cat(owner)


def pixel_contrast(feats, owner):
    sim = feats @ feats.t() / TEMPERATURE
    logits = sim - sim.max(dim=1, keepdim=True)[0].detach()
    same = (owner[:, None] == owner[None]).float()
    neg_mask = 1 - same
    pos_mask = same - torch.eye(len(owner))
    exp_logits = torch.exp(logits)
    neg_sum = (exp_logits * neg_mask).sum(1, keepdim=True)
    log_prob = logits - torch.log(exp_logits + neg_sum + 1e-10)
    per_anchor = (pos_mask * log_prob).sum(1) / pos_mask.sum(1)
    return -per_anchor.mean()


net = SegNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
for step in range(150):
    image, label = make_batch()
    small = F.interpolate(label[:, None].float(), scale_factor=0.5, mode="nearest").squeeze(1).long()
    seg, embed = net(image)
    seg_loss = F.cross_entropy(F.interpolate(seg, size=label.shape[1:], mode="bilinear", align_corners=True), label)
    contrast = pixel_contrast(*sample_anchors(embed, small))
    loss = seg_loss + 0.1 * contrast
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    optimizer.step()
    if step % 30 == 0 or step == 149:
        print("iter %3d  seg %.4f  contrast %.4f" % (step, seg_loss.item(), contrast.item()))

net.eval()
with torch.no_grad():
    image, label = make_batch(16)
    pred = F.interpolate(net(image)[0], size=label.shape[1:], mode="bilinear", align_corners=True).argmax(1)
    ious = [((pred == c) & (label == c)).sum() / ((pred == c) | (label == c)).sum() for c in range(CLASSES)]
print("mean IoU %.3f" % (sum(ious) / CLASSES).item())
