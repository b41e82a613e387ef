import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class DetectLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.SiLU(),
        )
        self.cls = nn.Conv2d(24, 1, 1)
        self.box = nn.Conv2d(24, 2, 1)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls(f).squeeze(1), self.box(f)


def make_images(n=240, size=16):
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    centre = 1 + torch.rand(n, 2) * (size - 3)
    blob = torch.exp(-((yy - centre[:, :1, None]) ** 2 + (xx - centre[:, 1:, None]) ** 2) / 2)
    return TensorDataset(blob.unsqueeze(1) + 0.1 * torch.randn(n, 1, size, size), centre)


def criterion(preds, centre, stride=4):
    cls, box = preds
    cell = (centre / stride).long().clamp(max=cls.shape[-1] - 1)
    b = torch.arange(len(centre))
    heat = torch.zeros_like(cls)
    heat[b, cell[:, 0], cell[:, 1]] = 1.0
    off = centre / stride - cell
    loss_cls = F.binary_cross_entropy_with_logits(cls, heat)
    loss_box = F.l1_loss(box[b, :, cell[:, 0], cell[:, 1]], off)
    return loss_cls + loss_box


class BaseTrainer:
    def __init__(self, batch=8, nbs=64, epochs=12, lr=0.1):
        torch.manual_seed(28)
        self.model = DetectLike()
        self.train_loader = DataLoader(make_images(), batch, shuffle=True)
        self.accumulate = max(round(nbs / batch), 1)
        self.epochs = epochs
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9, nesterov=True)

    def optimizer_step(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=10.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self):
        nb = len(self.train_loader)
        last_opt_step = -1
        self.optimizer.zero_grad()
        for epoch in range(self.epochs):
            self.model.train()
            tloss, steps = 0.0, 0
            for i, (img, centre) in enumerate(self.train_loader):
                ni = i + nb * epoch
                loss = criterion(self.model(img), centre) / self.accumulate
                loss.backward()
                if ni - last_opt_step >= self.accumulate:
                    self.optimizer_step()
                    last_opt_step = ni
                    steps += 1
                tloss += loss.item() * self.accumulate
            if epoch % 3 == 2:
                print(f"{epoch + 1}/{self.epochs}  loss {tloss / nb:.4f}  batches {nb}  steps {steps}")


BaseTrainer().train()
