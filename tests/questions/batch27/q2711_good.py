from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_num_threads(1)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1), nn.GroupNorm(2, o), nn.ReLU())


def small_resnet():
    return nn.Sequential(OrderedDict([("conv1", nn.Conv2d(3, 4, 3, padding=1)), ("layer1", block(4, 4)),
                                      ("layer2", block(4, 12)), ("layer3", block(12, 16)), ("layer4", block(16, 24))]))


def resnet_backbone(pretrained=False):
    backbone = small_resnet()
    if pretrained:
        backbone.load_state_dict(torch.load("small_resnet.pth"))
        for name, parameter in backbone.named_parameters():
            if "layer2" not in name and "layer3" not in name and "layer4" not in name:
                parameter.requires_grad_(False)
    return backbone


class Detector(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone = resnet_backbone(pretrained=False)
        self.neck = nn.Sequential(nn.Flatten(), nn.Linear(24 * 4, 48), nn.ReLU())
        self.cls = nn.Linear(48, num_classes)
        self.box = nn.Linear(48, 4)

    def forward(self, x):
        h = self.neck(self.backbone(x))
        return self.cls(h), self.box(h)


def scenes(n):
    img = 0.5 + 0.15 * torch.randn(n, 3, 32, 32)
    boxes, labels = torch.zeros(n, 4), torch.randint(0, 3, (n,))
    for i in range(n):
        w, h = torch.randint(8, 16, (2,)).tolist()
        x, y = int(torch.randint(0, 32 - w, (1,))), int(torch.randint(0, 32 - h, (1,)))
        colour = 0.25 * F.one_hot(labels[i], 3).float()
        img[i, :, y:y + h, x:x + w] += (colour - colour.mean())[:, None, None] * 2.5
        boxes[i] = torch.tensor([x, y, x + w, y + h]) / 32.0
    return img, boxes, labels


def iou(a, b):
    lt, rb = torch.max(a[:, :2], b[:, :2]), torch.min(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    area = lambda t: (t[:, 2:] - t[:, :2]).clamp(min=0).prod(1)
    return inter / (area(a) + area(b) - inter).clamp(min=1e-6)


train_set = torch.utils.data.TensorDataset(*scenes(640))
val_img, val_box, val_lab = scenes(256)
loader = torch.utils.data.DataLoader(train_set, batch_size=32, shuffle=True)

model = Detector()
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(params, lr=2e-3)
for epoch in range(15):
    model.train()
    total = 0.0
    for img, box, lab in loader:
        logits, pred = model(img)
        loss = F.cross_entropy(logits, lab) + 5 * F.smooth_l1_loss(pred, box, beta=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            logits, pred = model(val_img)
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f} val acc {(logits.argmax(1) == val_lab).float().mean():.3f} "
              f"IoU {iou(pred, val_box).mean():.3f}")
