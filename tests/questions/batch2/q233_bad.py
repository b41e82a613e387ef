import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer1 = nn.Conv2d(1, width, 3, padding=1)
        self.layer2 = nn.Conv2d(width, width, 3, padding=1)
        self.layer3 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        y = F.relu(self.layer2(x))
        return x, y, F.relu(self.layer3(y))


class Neck(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.adjust = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(3))

    def forward(self, features):
        return [adjust(f) for adjust, f in zip(self.adjust, features)]


class CARHead(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.cls = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        return self.cls(self.tower(x))


def xcorr_depthwise(x, kernel):
    b, c, h, w = kernel.shape
    out = F.conv2d(
        x.reshape(1, b * c, *x.shape[2:]), kernel.reshape(b * c, 1, h, w), groups=b * c, padding="same"
    )
    return out.view(b, c, *out.shape[2:]) / (h * w)


class ModelBuilder(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.backbone = Backbone(width)
        self.neck = Neck(width)
        self.car_head = CARHead(width)
        self.down = nn.ConvTranspose2d(width * 3, width, 1, 1)

    def forward(self, template, search, label):
        zf = self.neck(self.backbone(template))
        xf = self.neck(self.backbone(search))
        features = torch.cat([xcorr_depthwise(x, z) for x, z in zip(xf, zf)], dim=1)
        cls = self.car_head(self.down(features))
        return F.binary_cross_entropy_with_logits(cls, label, pos_weight=torch.tensor(10.0))


def build_opt(model, lr=0.05):
    trainable_params = [{"params": model.backbone.parameters(), "lr": 0.1 * lr}]
    trainable_params += [{"params": model.neck.parameters(), "lr": lr}]
    trainable_params += [{"params": model.car_head.parameters(), "lr": lr}]
    optimizer = torch.optim.SGD(trainable_params, momentum=0.9, weight_decay=1e-4)
    return optimizer


def batch(n=8):
    template = torch.randn(n, 1, 5, 5)
    search = 0.3 * torch.randn(n, 1, 15, 15)
    label = torch.zeros(n, 1, 15, 15)
    for i in range(n):
        r, c = torch.randint(0, 11, (2,)).tolist()
        search[i, :, r : r + 5, c : c + 5] += template[i]
        label[i, 0, r + 1 : r + 4, c + 1 : c + 4] = 1.0
    return template, search, label


torch.manual_seed(0)
model = ModelBuilder()
optimizer = build_opt(model)
start = model.down.weight.detach().clone()
for epoch in range(6):
    for _ in range(20):
        loss = model(*batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(
        f"epoch {epoch} loss {loss.item():.4f} down moved {(model.down.weight - start).abs().max().item():.4f}"
    )
