import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TinyDarknet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.module_list = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.yolo = nn.Linear(64, classes + 2)
        self.seen = 0

    def forward(self, x, targets):
        out = self.yolo(self.module_list(x))
        labels, boxes = targets[:, 0].long(), targets[:, 1:]
        loss = nn.functional.cross_entropy(out[:, :-2], labels) + nn.functional.mse_loss(out[:, -2:], boxes)
        return loss, out


def make_set(count):
    labels = torch.randint(0, 4, (count,))
    boxes = torch.rand(count, 2)
    x = 0.7 * torch.randn(count, 1, 10, 10)
    for i in range(count):
        row, col = (boxes[i] * 5).long().tolist()
        x[i, 0, row : row + 5, col : col + 5] += labels[i] - 1.5
    return TensorDataset(x, torch.cat([labels.unsqueeze(1).float(), boxes], 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--gradient_accumulations", type=int, default=4)
    opt = parser.parse_args([])
    model = TinyDarknet()
    dataloader = DataLoader(make_set(480), batch_size=opt.batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(opt.epochs):
        model.train()
        total, updates = 0.0, 0
        for batch_i, (imgs, targets) in enumerate(dataloader):
            batches_done = len(dataloader) * epoch + batch_i
            loss, outputs = model(imgs, targets)
            loss.backward()
            total += loss.item()
            if batches_done % opt.gradient_accumulations:
                optimizer.step()
                optimizer.zero_grad()
                updates += 1
            model.seen += imgs.size(0)
        print("epoch", epoch, "loss", round(total / len(dataloader), 3), "updates", updates)


main()
