import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)

hyp = {"lr0": 0.1, "momentum": 0.937, "weight_decay": 5e-4}
epochs = 20


def train(stop_at, ckpt_file=None):
    torch.manual_seed(0)
    x = torch.randn(512, 10)
    y = (x[:, :3].sin().sum(dim=1) + 0.3 * x[:, 3] * x[:, 4] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    pg0 = [p for n, p in model.named_parameters() if n.endswith("bias")]
    pg1 = [p for n, p in model.named_parameters() if n.endswith("weight")]
    optimizer = torch.optim.SGD(pg0, lr=hyp["lr0"], momentum=hyp["momentum"], nesterov=True)
    optimizer.add_param_group({"params": pg1, "weight_decay": hyp["weight_decay"]})
    lf = lambda e: ((1 + math.cos(e * math.pi / epochs)) / 2) * 0.9 + 0.1

    scheduler = lr_scheduler.LambdaLR(optimizer, lr_lambda=lf)

    start_epoch = 0
    if ckpt_file is not None:
        ckpt_file.seek(0)
        ckpt = torch.load(ckpt_file)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        start_epoch = ckpt["epoch"] + 1

    scheduler.last_epoch = start_epoch - 1

    for epoch in range(start_epoch, stop_at):
        total = 0.0
        lr = optimizer.param_groups[0]["lr"]
        for images, targets in loader:
            loss = F.cross_entropy(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print(f"epoch {epoch}: lr {lr:.5f} loss {total / len(loader):.4f}")

    last = io.BytesIO()
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, last)
    return last


last = train(stop_at=15)
print("resuming from last.pt")
train(stop_at=epochs, ckpt_file=last)
