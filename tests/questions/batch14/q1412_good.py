import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class InvertedResidual(nn.Module):
    def __init__(self, channels, expand=3):
        super().__init__()
        hidden = channels * expand
        self.conv = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
            nn.Conv2d(hidden, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return x + self.conv(x)


def adjust_learning_rate(optimizer, epoch, iteration, num_iter, args):
    warmup_iter = args["warmup"] * num_iter
    current_iter = iteration + epoch * num_iter
    max_iter = args["epochs"] * num_iter
    if args["lr_decay"] == "step":
        lr = args["lr"] * args["gamma"] ** ((current_iter - warmup_iter) / (max_iter - warmup_iter))
    elif args["lr_decay"] == "cos":
        lr = (
            args["lr"] * (1 + math.cos(math.pi * (current_iter - warmup_iter) / (max_iter - warmup_iter))) / 2
        )
    if epoch < args["warmup"]:
        lr = args["lr"] * current_iter / warmup_iter
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr
    return lr


def make_images(n, looks):
    target = torch.randint(len(looks), (n,))
    return looks[target] + 1.5 * torch.randn(n, *looks.shape[1:]), target


def main():
    torch.manual_seed(0)
    args = {"epochs": 9, "warmup": 1, "lr": 0.2, "lr_decay": "step", "gamma": 0.005}
    looks = torch.randn(6, 3, 6, 6)
    x, y = make_images(320, looks)
    xt, yt = make_images(400, looks)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), InvertedResidual(8), nn.ReLU6(), nn.Flatten(), nn.Linear(8 * 36, 6)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=args["lr"], momentum=0.9, weight_decay=4e-5)
    for epoch in range(args["epochs"]):
        model.train()
        batches = torch.randperm(len(x)).split(32)
        total = 0.0
        for i, rows in enumerate(batches):
            lr = adjust_learning_rate(optimizer, epoch, i, len(batches), args)
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            output = model(xt)
        top1 = (output.argmax(1) == yt).float().mean().item()
        print(f"epoch {epoch}: lr {lr:.5f}  loss {total / len(batches):.3f}  top1 {top1:.3f}")


if __name__ == "__main__":
    main()
