import os
import tempfile
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

x = torch.randn(512, 10)
w = torch.randn(10, 1)
y = torch.tanh(x @ w) + 0.3 * torch.randn(512, 1)
vx = torch.randn(400, 10)
vy = torch.tanh(vx @ w)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
criterion = nn.MSELoss()


def build():
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[4, 8], gamma=0.1)
    return model, optimizer, scheduler


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    torch.save({"epoch": epoch, "state_dict": model.state_dict(),
                "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)


def load_checkpoint(path, model, optimizer, scheduler):
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return checkpoint["epoch"] + 1


def train(model, optimizer, scheduler, first, last, path):
    for epoch in range(first, last):
        model.train()
        total = 0.0
        for bx, by in loader:
            loss = criterion(model(bx), by)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            val = criterion(model(vx), vy).item()
        print(f"epoch {epoch}: lr {optimizer.param_groups[0]['lr']:.4f} loss {total / len(loader):.4f} val {val:.4f}")
        scheduler.step()
        save_checkpoint(path, epoch, model, optimizer, scheduler)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pth")
    model, optimizer, scheduler = build()
    train(model, optimizer, scheduler, 0, 12, path)

    print("=> resuming")
    model, optimizer, scheduler = build()
    start_epoch = load_checkpoint(path, model, optimizer, scheduler)
    train(model, optimizer, scheduler, start_epoch, 16, path)
