import os
import tempfile
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR


class Completion(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width))
        self.decoder = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 32 * 2))

    def forward(self, points):
        feat = self.encoder(points).max(dim=1).values
        return self.decoder(feat).view(-1, 32, 2)


def chamfer(a, b):
    d = torch.cdist(a, b)
    return d.min(1).values.mean() + d.min(2).values.mean()


def build_lambda_sche(optimizer, lr_decay=0.8, decay_step=3, lowest_decay=0.02, last_epoch=-1):
    lr_lbmd = lambda e: max(lr_decay ** (e / decay_step), lowest_decay)
    return LambdaLR(optimizer, lr_lbmd, last_epoch=last_epoch)


def build_opti_sche(base_model, lr=2e-3, ckpt=None):
    optimizer = torch.optim.AdamW(base_model.parameters(), lr=lr, weight_decay=5e-4)
    start_epoch = 0
    if ckpt is not None:
        state = torch.load(ckpt)
        base_model.load_state_dict(state["base_model"])
        optimizer.load_state_dict(state["optimizer"])
        start_epoch = state["epoch"] + 1
    scheduler = build_lambda_sche(optimizer, last_epoch=start_epoch - 1)
    return optimizer, scheduler, start_epoch


def make(n, g):
    t = torch.linspace(0, 6.28, 33)[:32]
    a = 0.5 + torch.rand(n, 1, generator=g)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    r = a * (1 + 0.4 * torch.sin(3 * t + phase))
    full = torch.stack([r * torch.cos(t), r * torch.sin(t)], dim=-1)
    return full[:, :20], full


def run_net(path, max_epoch, resume):
    torch.manual_seed(int(resume))
    model = Completion()
    optimizer, scheduler, start_epoch = build_opti_sche(model, ckpt=path if resume else None)
    partial, full = make(640, torch.Generator().manual_seed(0))
    for epoch in range(start_epoch, max_epoch):
        total, lr = 0.0, optimizer.param_groups[0]["lr"]
        for i in torch.randperm(len(full)).split(32):
            loss = chamfer(model(partial[i]), full[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print(f"[Training] EPOCH: {epoch} Losses = {total / 20:.4f} lr = {lr:.6f}")
        torch.save({"base_model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "ckpt-last.pth")
    run_net(path, 10, resume=False)
    print("killed, started again with --resume")
    run_net(path, 20, resume=True)
    print("the same run without the interruption")
    run_net(path, 20, resume=False)
