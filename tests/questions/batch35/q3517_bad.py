import copy

import torch
from torch import nn


class VideoNet(nn.Module):
    def __init__(self, features=12, classes=4):
        super().__init__()
        self.gru = nn.GRU(features, 24, batch_first=True)
        self.fc = nn.Linear(24, classes)

    def forward(self, clips):
        out, _ = self.gru(clips)
        return self.fc(out[:, -1])


def make_clips(n=256, frames=8, features=12, classes=4):
    labels = torch.randint(0, classes, (n,))
    base = torch.randn(classes, frames, features)
    return base[labels] + 2.5 * torch.randn(n, frames, features), labels


def save_checkpoint(epoch, model, optimizer):
    return copy.deepcopy({"epoch": epoch, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()})


def train(args, data, checkpoint=None):
    clips, labels = data
    model = VideoNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args["lr"], momentum=0.9)
    start_epoch = 0
    if checkpoint is not None:
        model.load_state_dict(checkpoint["state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        start_epoch = checkpoint["epoch"]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=args["milestones"], gamma=args["gamma"])
    for _ in range(start_epoch):
        scheduler.step()
    print(f"start at epoch {start_epoch} with lr {optimizer.param_groups[0]['lr']:.2e}")
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(start_epoch, args["epochs"]):
        order = torch.randperm(len(clips))
        total = 0.0
        for index in order.split(32):
            loss = loss_fn(model(clips[index]), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        if epoch % 3 == 2:
            print(f"epoch {epoch}: loss {total / 8:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
    return save_checkpoint(args["epochs"], model, optimizer)


def main():
    torch.manual_seed(0)
    data = make_clips()
    args = {"lr": 0.03, "milestones": [6, 9], "gamma": 0.2, "epochs": 10}
    checkpoint = train(args, data)
    train({**args, "epochs": 16}, data, checkpoint)


main()
