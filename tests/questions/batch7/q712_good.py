import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Darknet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
        )
        self.head = nn.Linear(16 * 3 * 3, 3)
        self.mse_loss = nn.MSELoss()
        self.bce_loss = nn.BCEWithLogitsLoss()

    def forward(self, imgs, targets):
        outputs = self.head(self.features(imgs).flatten(1))
        loss_box = self.mse_loss(outputs[:, :2], targets[:, :2])
        loss_conf = self.bce_loss(outputs[:, 2], targets[:, 2])
        return loss_box + loss_conf, outputs


def make_dataset(n=400, size=12):
    imgs = 0.1 * torch.rand(n, 1, size, size)
    targets = torch.zeros(n, 3)
    for k in range(n):
        if k % 4:
            y, x = torch.randint(0, size - 3, (2,)).tolist()
            imgs[k, 0, y : y + 3, x : x + 3] = 1.0
            targets[k] = torch.tensor([y / size, x / size, 1.0])
    return TensorDataset(imgs, targets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--gradient_accumulations", type=int, default=1)
    opt = parser.parse_args()

    model = Darknet()
    dataloader = DataLoader(make_dataset(), batch_size=opt.batch_size, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(opt.epochs):
        model.train()
        epoch_loss = 0.0
        for batch_i, (imgs, targets) in enumerate(dataloader):
            batches_done = len(dataloader) * epoch + batch_i

            loss, outputs = model(imgs, targets)
            loss.backward()

            if batches_done % opt.gradient_accumulations == 0:
                optimizer.step()
                optimizer.zero_grad()

            epoch_loss += loss.item()
        if epoch % 2 == 1:
            print(f"---- [Epoch {epoch + 1}/{opt.epochs}] total loss {epoch_loss / len(dataloader):.4f}")


if __name__ == "__main__":
    main()
