import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)

SIZE, JOINTS = 16, 4


def heatmaps(points):
    grid = torch.arange(SIZE).float()
    yy = torch.exp(-(grid[None, None, :] - points[..., 0:1]) ** 2 / 4)
    xx = torch.exp(-(grid[None, None, :] - points[..., 1:2]) ** 2 / 4)
    return yy[..., :, None] * xx[..., None, :]


def make(n):
    pts = torch.rand(n, JOINTS, 2) * (SIZE - 4) + 2
    maps = heatmaps(pts)
    mix = torch.tensor([[1., .2, 0, .3], [0, 1, .4, 0], [.3, 0, 1, 1]])
    img = torch.einsum("cj,njhw->nchw", mix, maps) + 0.1 * torch.randn(n, 3, SIZE, SIZE)
    return TensorDataset(img, maps)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.BatchNorm2d(3),
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(12),
            nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(12),
            nn.Conv2d(12, JOINTS, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, model, criterion, optimizer, config, scheduler):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.loss = {"train": [], "val": []}
        self.epochs = config["epochs"]
        self.batches_per_epoch = config["batches_per_epoch"]
        self.batches_per_epoch_val = config["batches_per_epoch_val"]

    def train(self, train_loader, val_loader):
        for epoch in range(self.epochs):
            self._epoch_train(train_loader)
            self._epoch_eval(val_loader)
            print("Epoch: {}/{}, Train Loss={:.5f}, Val Loss={:.5f}, lr={:.4f}".format(
                epoch + 1, self.epochs, self.loss["train"][-1], self.loss["val"][-1],
                self.optimizer.param_groups[0]["lr"]))
            self.scheduler.step(self.loss["train"][-1])

    def _epoch_train(self, dataloader):
        self.model.train()
        running_loss = []
        for i, (inputs, labels) in enumerate(dataloader, 1):
            self.optimizer.zero_grad()
            running_loss = []
            outputs = self.model(inputs)
            loss = self.criterion(outputs, labels)
            loss.backward()
            self.optimizer.step()
            running_loss.append(loss.item())
            if i == self.batches_per_epoch:
                epoch_loss = np.mean(running_loss)
                self.loss["train"].append(epoch_loss)
                break

    def _epoch_eval(self, dataloader):
        self.model.eval()
        running_loss = []
        with torch.no_grad():
            for i, (inputs, labels) in enumerate(dataloader, 1):
                outputs = self.model(inputs)
                loss = self.criterion(outputs, labels)
                running_loss.append(loss.item())
                if i == self.batches_per_epoch_val:
                    epoch_loss = np.mean(running_loss)
                    self.loss["val"].append(epoch_loss)
                    break


train_loader = DataLoader(make(320), batch_size=8, shuffle=True, drop_last=True)
val_loader = DataLoader(make(96), batch_size=16, shuffle=False)
model = Net()
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
config = {"epochs": 14, "batches_per_epoch": 20, "batches_per_epoch_val": 6}
Trainer(model, criterion, optimizer, config, scheduler).train(train_loader, val_loader)
