import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FusionNeck(nn.Module):
    def __init__(self, dim, epsilon=1e-4):
        super().__init__()
        self.epsilon = epsilon
        self.w1 = nn.Parameter(torch.ones(2), requires_grad=True)
        self.conv = nn.Linear(dim, dim)

    def forward(self, upper, lateral):
        w = F.relu(self.w1)
        w = w / (w.sum() + self.epsilon)
        upper = F.layer_norm(upper, upper.shape[1:])
        lateral = F.layer_norm(lateral, lateral.shape[1:])
        return self.conv(w[0] * upper + w[1] * lateral)


class Detector(nn.Module):
    def __init__(self, dim=12, classes=8):
        super().__init__()
        self.stem_a = nn.Linear(16, dim)
        self.stem_b = nn.Linear(16, dim)
        self.bn = nn.BatchNorm1d(dim)
        self.neck = FusionNeck(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, a, b):
        x = self.neck(self.stem_a(a), self.stem_b(b))
        return self.head(F.relu(self.bn(x)))


centers = torch.randn(8, 16)
y = torch.randint(0, 8, (1600,))
near = centers[y] + 1.5 * torch.randn(1600, 16)
far = 3.0 * torch.randn(1600, 16)

model = Detector()
pg0, pg1, pg2 = [], [], []
for name, m in model.named_modules():
    if hasattr(m, "bias") and isinstance(m.bias, nn.Parameter):
        pg2.append(m.bias)
    if isinstance(m, nn.BatchNorm1d):
        pg0.append(m.weight)
    elif hasattr(m, "weight") and isinstance(m.weight, nn.Parameter):
        pg1.append(m.weight)
optimizer = torch.optim.SGD(pg0, lr=0.05, momentum=0.9)
optimizer.add_param_group({"params": pg1, "weight_decay": 5e-4})
optimizer.add_param_group({"params": pg2})

for epoch in range(15):
    model.train()
    total = 0.0
    for i in range(0, 1200, 48):
        out = model(near[i:i + 48], far[i:i + 48])
        loss = F.cross_entropy(out, y[i:i + 48])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(near[1200:], far[1200:]).argmax(1) == y[1200:]).float().mean().item()
    print(f"epoch {epoch} loss {total / 25:.4f} val acc {acc:.3f}")
print("fusion weights", model.neck.w1.data.tolist())
