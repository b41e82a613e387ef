import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class Unit3D(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv3d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm3d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class I3D(nn.Module):
    def __init__(self, num_classes, dropout_keep_prob=1.0):
        super().__init__()
        self.unit1 = Unit3D(1, 8)
        self.pool = nn.MaxPool3d((1, 2, 2))
        self.unit2 = Unit3D(8, 16)
        self.avg_pool = nn.AdaptiveAvgPool3d(1)
        self.dropout = nn.Dropout(1 - dropout_keep_prob)
        self.logits = nn.Linear(16, num_classes)

    def forward(self, clip):
        out = self.unit2(self.pool(self.unit1(clip)))
        out = self.avg_pool(out).flatten(1)
        return self.logits(self.dropout(out))


def make_clips(n):
    label = torch.randint(0, 3, (n,))
    clip = 0.3 * torch.randn(n, 1, 6, 8, 8)
    for i in range(n):
        for t in range(6):
            if label[i] == 0:
                clip[i, 0, t, t, :] += 1
            elif label[i] == 1:
                clip[i, 0, t, :, t] += 1
            else:
                clip[i, 0, t, 3, :] += 1
    return clip, label


x_train, y_train = make_clips(240)
x_test, y_test = make_clips(120)
model = I3D(num_classes=3)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(24):
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {total / 10:.4f} test acc {acc:.3f}")
