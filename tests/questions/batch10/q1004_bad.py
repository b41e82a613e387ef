import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
NC, ANCHORS = 3, 36


class TinyYolo(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.SiLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.SiLU(),
        )
        self.cls = nn.Conv2d(32, NC, 1)
        self.box = nn.Conv2d(32, 4, 1)

    def forward(self, x):
        h = self.backbone(x)
        return self.cls(h).flatten(2).transpose(1, 2), self.box(h).flatten(2).transpose(1, 2)


class DetectionLoss:
    def __init__(self):
        self.bce = nn.BCEWithLogitsLoss(reduction="none")

    def __call__(self, pred_scores, pred_boxes, target_scores, target_boxes):
        fg_mask = target_scores.sum(-1) > 0
        target_scores_sum = target_scores.sum()
        loss_cls = self.bce(pred_scores, target_scores).sum() / target_scores_sum
        loss_box = pred_scores.new_zeros(())
        if fg_mask.sum():
            weight = target_scores.sum(-1)[fg_mask].unsqueeze(-1)
            diff = F.smooth_l1_loss(pred_boxes[fg_mask], target_boxes[fg_mask], reduction="none")
            loss_box = (diff * weight).sum() / target_scores_sum
        return 0.5 * loss_cls + 7.5 * loss_box, loss_cls.detach(), loss_box.detach()


def load_image(g):
    image = 0.1 * torch.randn(3, 24, 24, generator=g)
    scores = torch.zeros(ANCHORS, NC)
    boxes = torch.zeros(ANCHORS, 4)
    if torch.rand((), generator=g) > 0.6:
        c = int(torch.randint(NC, (), generator=g))
        y, x = (int(v) for v in torch.randint(6, (2,), generator=g))
        image[c, 4 * y:4 * y + 4, 4 * x:4 * x + 4] += 1.0
        scores[6 * y + x, c] = 0.9
        boxes[6 * y + x] = torch.tensor([0.5, 0.5, 1.0, 1.0])
    return image, scores, boxes


g = torch.Generator().manual_seed(11)
dataset = [load_image(g) for _ in range(160)]
loader = torch.utils.data.DataLoader(dataset, batch_size=4, shuffle=True)
model, criterion = TinyYolo(), DetectionLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
for epoch in range(4):
    for i, (images, scores, boxes) in enumerate(loader):
        loss, l_cls, l_box = criterion(*model(images), scores, boxes)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
        optimizer.step()
        if i % 10 == 0:
            print(f"epoch {epoch} [{i}/{len(loader)}]  cls {l_cls.item():.4f}  box {l_box.item():.4f}")
