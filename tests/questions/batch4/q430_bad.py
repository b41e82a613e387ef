import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Conv(nn.Module):
    def __init__(self, c1, c2):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(c2)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            Conv(3, 8), Conv(8, 16), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 6)
        )

    def forward(self, x):
        return self.model(x)


def train(hyp, data, labels):
    model = Model()

    freeze = ["model.0.", "model.1."]
    if any(freeze):
        for k, v in model.named_parameters():
            if any(x in k for x in freeze):
                print(f"freezing {k}")
                v.requires_grad = False

    pg0, pg1, pg2 = [], [], []
    for k, v in model.named_parameters():
        v.requires_grad = True
        if ".bias" in k:
            pg2.append(v)
        elif ".weight" in k and ".bn" not in k:
            pg1.append(v)
        else:
            pg0.append(v)

    optimizer = torch.optim.SGD(pg0, lr=hyp["lr0"], momentum=hyp["momentum"], nesterov=True)
    optimizer.add_param_group({"params": pg1, "weight_decay": hyp["weight_decay"]})
    optimizer.add_param_group({"params": pg2})

    before = model.model[0].conv.weight.detach().clone()
    for epoch in range(6):
        mloss = 0.0
        for idx in torch.randperm(len(data)).split(32):
            pred = model(data[idx])
            loss = F.cross_entropy(pred, labels[idx])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            mloss += loss.item()
        print(f"epoch {epoch}: loss {mloss / (len(data) / 32):.4f}")
    change = (model.model[0].conv.weight - before).abs().max().item()
    print(f"largest change of the first convolution: {change:.5f}")


colours = torch.randn(6, 3)
labels = torch.randint(0, 6, (384,))
data = colours[labels][:, :, None, None] * 0.6 + torch.randn(384, 3, 12, 12)
train({"lr0": 0.02, "momentum": 0.9, "weight_decay": 5e-4}, data, labels)
