import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--scheduler", default="step", choices=["none", "step"])
parser.add_argument("-b", "--batch-size", type=int, default=32)


class DispNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.decode = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
        )

    def forward(self, x):
        return 5 * torch.sigmoid(self.decode(self.encode(x))) + 0.01


def make_samples(n=512):
    image = torch.rand(n, 1, 16, 16)
    image = F.avg_pool2d(image, 5, stride=1, padding=2)
    return image, 1.0 + 2.0 * image


def train(args, images, depths, net, optimizer, scheduler):
    net.train()
    losses = []
    for index in torch.randperm(len(images)).split(args.batch_size):
        disparity = net(images[index])
        loss = F.l1_loss(disparity, depths[index])
        losses.append(loss.item())

        optimizer.zero_grad()
        loss.backward()
        if scheduler:
            scheduler.step()
        else:
            optimizer.step()
    return sum(losses) / len(losses)


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    images, depths = make_samples()
    net = DispNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr, betas=(0.9, 0.999))
    scheduler = None
    if args.scheduler == "step":
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
    for epoch in range(1, args.epochs + 1):
        loss = train(args, images, depths, net, optimizer, scheduler)
        print(f"epoch {epoch}: loss {loss:.4f} lr {optimizer.param_groups[0]['lr']:.1e}")


if __name__ == "__main__":
    main()
