import argparse

import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


def create_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", default=2, type=int)
    parser.add_argument("--epoch", default=10, type=int)
    parser.add_argument("--lr", default=0.01, type=float)
    parser.add_argument("--steps_per_epoch", default=20, type=int)
    return parser.parse_args([])


class ProDesign:
    def __init__(self, args):
        self.args = args
        self.model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.scheduler = lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=args.lr, steps_per_epoch=args.steps_per_epoch, epochs=args.epoch)

    def train_one_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            total += loss.item()
        return total / len(loader)


class Exp:
    def __init__(self, args):
        torch.manual_seed(0)
        x = torch.randn(160, 10)
        y = (x @ torch.randn(10, 5)).argmax(-1)
        self.train_loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True)
        self.args = args
        self.method = ProDesign(args)

    def train(self):
        for epoch in range(self.args.epoch):
            loss = self.method.train_one_epoch(self.train_loader)
            lr = self.method.optimizer.param_groups[0]["lr"]
            print(f"Epoch: {epoch + 1} | Train Loss: {loss:.4f} | lr {lr:.6f}")


if __name__ == "__main__":
    exp = Exp(create_parser())
    exp.train()
    print("finished")
