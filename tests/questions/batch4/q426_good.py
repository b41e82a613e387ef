import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class FasterRCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.rpn_loc = nn.Conv2d(16, 4, 1)
        self.rpn_cls = nn.Conv2d(16, 2, 1)
        self.head = nn.Linear(16, 32)
        self.roi_loc = nn.Linear(32, 4)
        self.roi_cls = nn.Linear(32, 5)

    def forward(self, images):
        feature = self.extractor(images)
        pooled = torch.relu(self.head(feature.mean((2, 3))))
        return self.rpn_loc(feature), self.rpn_cls(feature), self.roi_loc(pooled), self.roi_cls(pooled)


class FasterRCNNTrainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def forward(self, images, boxes, labels, objectness):
        rpn_loc, rpn_cls, roi_loc, roi_cls = self.model(images)
        grid = boxes[:, :, None, None].expand_as(rpn_loc)
        mask = objectness.unsqueeze(1)
        rpn_loc_loss = (F.smooth_l1_loss(rpn_loc, grid, reduction="none") * mask).mean()
        rpn_cls_loss = F.cross_entropy(rpn_cls, objectness.long())
        roi_loc_loss = F.smooth_l1_loss(roi_loc, boxes)
        roi_cls_loss = F.cross_entropy(roi_cls, labels)
        losses = [rpn_loc_loss, rpn_cls_loss, roi_loc_loss, roi_cls_loss]
        return losses + [sum(losses)]

    def train_step(self, *batch):
        self.optimizer.zero_grad()
        losses = self.forward(*batch)
        losses[-1].backward()
        self.optimizer.step()
        return losses


def fit_one_epoch(train_util, epoch, epoch_size, gen):
    total_loss = 0
    rpn_loc_loss = 0
    rpn_cls_loss = 0
    roi_loc_loss = 0
    roi_cls_loss = 0
    for iteration in range(epoch_size):
        losses = train_util.train_step(*next(gen))
        rpn_loc, rpn_cls, roi_loc, roi_cls, total = [loss.item() for loss in losses]
        total_loss += total
        rpn_loc_loss += rpn_loc
        rpn_cls_loss += rpn_cls
        roi_loc_loss += roi_loc
        roi_cls_loss += roi_cls
    n = epoch_size
    print(
        f"epoch {epoch}: total {float(total_loss) / n:.4f}, rpn {float(rpn_loc_loss) / n:.4f} {float(rpn_cls_loss) / n:.4f}, "
        f"roi {float(roi_loc_loss) / n:.4f} {float(roi_cls_loss) / n:.4f}"
    )


def generator():
    colours = torch.randn(5, 3)
    while True:
        boxes = torch.rand(8, 4)
        labels = torch.randint(0, 5, (8,))
        images = 0.3 * torch.randn(8, 3, 24, 24)
        objectness = torch.zeros(8, 12, 12)
        for i in range(8):
            r, c = int(boxes[i, 0] * 16), int(boxes[i, 1] * 16)
            images[i, :, r : r + 8, c : c + 8] += colours[labels[i]][:, None, None]
            objectness[i, r // 2 : r // 2 + 4, c // 2 : c // 2 + 4] = 1.0
        yield images, boxes, labels, objectness


model = FasterRCNN()
train_util = FasterRCNNTrainer(model, torch.optim.Adam(model.parameters(), lr=2e-3))
gen = generator()
for epoch in range(4):
    fit_one_epoch(train_util, epoch, 60, gen)
