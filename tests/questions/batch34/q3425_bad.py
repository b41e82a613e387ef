import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())

    def forward(self, x):
        return self.block(self.stem(x))


class DeepLab(nn.Module):
    def __init__(self, num_classes=3, freeze_bn=False):
        super().__init__()
        self.backbone = Backbone()
        self.decoder = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, num_classes, 1))
        if freeze_bn:
            self.freeze_bn()

    def forward(self, x):
        return self.decoder(self.backbone(x))

    def freeze_bn(self):
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()


def pretrain(backbone, steps=150):
    head = nn.Conv2d(12, 3, 1)
    optimizer = torch.optim.Adam(list(backbone.parameters()) + list(head.parameters()), lr=3e-3)
    for _ in range(steps):
        x, y = make_images(32)
        loss = F.cross_entropy(head(backbone(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def make_images(count):
    y = torch.randint(0, 3, (count, 1, 2, 2)).repeat_interleave(6, 2).repeat_interleave(6, 3).squeeze(1)
    tint = torch.eye(3)[y].permute(0, 3, 1, 2)
    light = 1.5 * torch.randn(count, 1, 1, 1)
    return tint + light + 0.4 * torch.randn(count, 3, 12, 12), y


class Trainer:
    def __init__(self, model, train_set, val_set):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
        self.train_loader = DataLoader(train_set, batch_size=2, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=2)

    def training(self, epoch):
        self.model.train()
        total = 0.0
        for image, target in self.train_loader:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(image), target)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        print("epoch", epoch, "train loss", round(total / len(self.train_loader), 3))

    def validation(self):
        self.model.eval()
        total = 0.0
        with torch.no_grad():
            for image, target in self.val_loader:
                total += F.cross_entropy(self.model(image), target).item()
        print("  val loss", round(total / len(self.val_loader), 3))


def main():
    source = Backbone()
    pretrain(source)
    model = DeepLab(freeze_bn=True)
    model.backbone.load_state_dict(source.state_dict())
    before = model.backbone.stem[1].running_mean.clone()
    train_set = TensorDataset(*make_images(80))
    trainer = Trainer(model, train_set, train_set)
    for epoch in range(3):
        trainer.training(epoch)
        trainer.validation()
    print("running_mean moved by", round((model.backbone.stem[1].running_mean - before).abs().max().item(), 3))


main()
