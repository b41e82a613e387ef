import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)

NUM_CLASSES = 4


class FewShotShapes(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for i in range(n):
            cls = int(torch.randint(0, NUM_CLASSES, (1,), generator=g))
            pair = [self.draw(cls, g) for _ in range(2)]
            self.items.append((pair, cls))

    def draw(self, cls, g):
        mask = torch.zeros(16, 16, dtype=torch.long)
        r, c = torch.randint(1, 6, (2,), generator=g).tolist()
        h, w = torch.randint(6, 10, (2,), generator=g).tolist()
        mask[r:r + h, c:c + w] = 1
        img = torch.randn(3, 16, 16, generator=g) * (0.4 + 0.5 * cls)
        color = torch.tensor([[1., 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])[cls]
        img = img + color[:, None, None] * mask
        return img, mask

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        (support, query), cls = self.items[i]
        return support[0], support[1], query[0], query[1], cls


class Metric:
    def __init__(self, num_classes):
        self.num_classes = num_classes
        self.hist = np.zeros((num_classes, num_classes))

    def add_batch(self, pred, gt):
        idx = self.num_classes * gt.flatten() + pred.flatten()
        self.hist += np.bincount(idx, minlength=self.num_classes ** 2).reshape(self.num_classes, -1)

    def evaluate(self):
        inter = np.diag(self.hist)
        union = self.hist.sum(0) + self.hist.sum(1) - inter
        return inter / np.maximum(union, 1)


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 5, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 16, 5, padding=2))

    def forward(self, img_s, mask_s, img_q):
        fs, fq = self.net(img_s), self.net(img_q)
        m = mask_s.unsqueeze(1).float()
        fg = (fs * m).sum((2, 3)) / m.sum((2, 3)).clamp(min=1)
        bg = (fs * (1 - m)).sum((2, 3)) / (1 - m).sum((2, 3)).clamp(min=1)
        sim_fg = F.cosine_similarity(fq, fg[..., None, None], dim=1)
        sim_bg = F.cosine_similarity(fq, bg[..., None, None], dim=1)
        return torch.stack([sim_bg, sim_fg], dim=1) * 10


def evaluate(model, loader):
    model.eval()
    metric = Metric(NUM_CLASSES + 1)
    for img_s, mask_s, img_q, mask_q, cls in loader:
        cls = (cls + 1).view(-1, 1, 1)
        with torch.no_grad():
            pred = model(img_s, mask_s, img_q).argmax(dim=1)
        pred = torch.where(pred == 1, cls, pred)
        mask_q = torch.where(mask_q == 1, cls, mask_q)
        metric.add_batch(pred.numpy(), mask_q.numpy())
    return metric.evaluate()


trainset, testset = FewShotShapes(320, 0), FewShotShapes(240, 1)
trainloader = DataLoader(trainset, batch_size=16, shuffle=True)
testloader = DataLoader(testset, batch_size=12, shuffle=False)
model = ProtoNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    model.train()
    total = 0.0
    for img_s, mask_s, img_q, mask_q, cls in trainloader:
        out = model(img_s, mask_s, img_q)
        loss = criterion(out, mask_q)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    iou = evaluate(model, testloader)
    print(f"epoch {epoch} loss {total / len(trainloader):.4f} mIoU {iou[1:].mean():.4f} "
          + "per class " + " ".join(f"{v:.3f}" for v in iou[1:]))
