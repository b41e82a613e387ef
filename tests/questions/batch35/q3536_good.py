import torch
import torch.nn as nn
import torch.nn.functional as F


class GeneralizedDiceLoss(nn.Module):
    def __init__(self, w_type="square", smooth=1e-5):
        super().__init__()
        self.w_type = w_type
        self.smooth = smooth

    def w_func(self, ground):
        if self.w_type == "square":
            return 1 / (ground * ground).clamp(min=1)
        if self.w_type == "simple":
            return 1 / ground.clamp(min=1)
        return torch.ones_like(ground)

    def forward(self, logits, target):
        input = logits.softmax(1)
        target = F.one_hot(target, logits.shape[1]).permute(0, 3, 1, 2).float()
        reduce_axis = (2, 3)
        intersection = (target * input).sum(reduce_axis)
        ground_o = target.sum(reduce_axis)
        pred_o = input.sum(reduce_axis)
        denominator = ground_o + pred_o
        w = self.w_func(ground_o)
        f = 1.0 - (2.0 * (intersection * w).sum(1) + self.smooth) / ((denominator * w).sum(1) + self.smooth)
        return f.mean()


class SegNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, classes, 1),
        )

    def forward(self, x):
        return self.net(x)


def make_scans(count, size=24):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images, labels = [], []
    for _ in range(count):
        cy, cx = torch.randint(8, 16, (2,)).tolist()
        label = ((yy - cy) ** 2 + (xx - cx) ** 2 < 36).long()
        label[cy : cy + 2, cx : cx + 2] = 2
        images.append(label * 0.5 + torch.randn(size, size) * 0.25)
        labels.append(label)
    return torch.stack(images).unsqueeze(1), torch.stack(labels)


def train(w_type):
    torch.manual_seed(15)
    model = SegNet()
    criterion = GeneralizedDiceLoss(w_type)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        images, labels = make_scans(8)
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, labels = make_scans(32)
    with torch.no_grad():
        guess = model(images).argmax(1)
    dice = [
        2 * ((guess == c) & (labels == c)).sum() / ((guess == c).sum() + (labels == c).sum()).clamp(min=1)
        for c in range(3)
    ]
    print(f"{w_type}: loss {loss.item():.4f} dice", [round(d.item(), 3) for d in dice])


for w_type in ["square", "simple", "uniform"]:
    train(w_type)
