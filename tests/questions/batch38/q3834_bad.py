import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)


class ResBlock(nn.Module):
    def __init__(self, n_chans):
        super().__init__()
        self.conv = nn.Conv2d(n_chans, n_chans, kernel_size=3, padding=1, bias=False)
        self.batch_norm = nn.BatchNorm2d(num_features=n_chans)
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        nn.init.constant_(self.batch_norm.weight, 0.5)
        nn.init.zeros_(self.batch_norm.bias)

    def forward(self, x):
        out = self.conv(x)
        out = self.batch_norm(out)
        return F.relu(out) + x


class NetResDeep(nn.Module):
    def __init__(self, n_chans1=8, n_blocks=6):
        super().__init__()
        self.conv1 = nn.Conv2d(1, n_chans1, kernel_size=3, padding=1)
        self.resblocks = nn.Sequential(*(n_blocks * [ResBlock(n_chans=n_chans1)]))
        self.fc = nn.Linear(n_chans1 * 16, 4)

    def forward(self, x):
        out = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        out = self.resblocks(out)
        return self.fc(out.flatten(1))


def make(n):
    label = torch.randint(0, 4, (n,))
    x = 1.1 * torch.randn(n, 1, 8, 8)
    for i in range(n):
        k = int(torch.randint(1, 7, (1,)))
        if label[i] == 0:
            x[i, 0, k] += 2
        elif label[i] == 1:
            x[i, 0, :, k] += 2
        elif label[i] == 2:
            x[i, 0].diagonal().add_(2)
        else:
            x[i, 0].flip(0).diagonal().add_(1)
    return x, label


train_x, train_y = make(800)
val_x, val_y = make(300)
model = NetResDeep()
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(1, 9):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(train_x)).split(40):
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(val_x).argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch}  train loss {total / 20:.4f}  val accuracy {acc:.3f}")
