import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
torch.set_num_threads(1)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)))


class BiSeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.context_path = Backbone()
        self.head = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, classes, 1))

    def forward(self, x):
        return self.head(self.context_path(x))


def group_weight(params_list, module, lr):
    decay, no_decay = [], []
    for m in module.modules():
        if isinstance(m, nn.Conv2d):
            decay.append(m.weight)
            no_decay.append(m.bias)
        elif isinstance(m, nn.BatchNorm2d):
            no_decay += [m.weight, m.bias]
    params_list.append(dict(params=decay, lr=lr))
    params_list.append(dict(params=no_decay, weight_decay=0.0, lr=lr))
    return params_list


class PolyLR:
    def __init__(self, start_lr, lr_power, total_iters):
        self.start_lr, self.lr_power, self.total_iters = start_lr, lr_power, total_iters

    def get_lr(self, cur_iter):
        return self.start_lr * (1 - cur_iter / self.total_iters) ** self.lr_power


def make_set(n):
    x = torch.randn(n, 3, 12, 12)
    y = torch.zeros(n, 12, 12, dtype=torch.long)
    for i in range(n):
        k = torch.randint(1, 4, (1,)).item()
        r = torch.randint(0, 7, (1,)).item()
        y[i, r:r + 5, r:r + 5] = k
        x[i, k - 1][y[i] == k] += 1.2
    return TensorDataset(x, y)


base_lr, nepochs = 0.02, 8
train_loader = DataLoader(make_set(192), batch_size=16, shuffle=True)
test_x, test_y = make_set(64).tensors

model = BiSeNet()
params_list = group_weight([], model.context_path, base_lr)
params_list = group_weight(params_list, model.head, base_lr * 10)
optimizer = torch.optim.SGD(params_list, lr=base_lr, momentum=0.9, weight_decay=5e-4)
total_iteration = nepochs * len(train_loader)
lr_policy = PolyLR(base_lr, 0.9, total_iteration)

current_idx = 0
for epoch in range(nepochs):
    model.train()
    total = 0.0
    for imgs, gts in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(imgs), gts)
        loss.backward()
        optimizer.step()
        total += loss.item()
        current_idx += 1
        lr = lr_policy.get_lr(current_idx)
        for i in range(2):
            optimizer.param_groups[0]['lr'] = lr
        for i in range(2, len(optimizer.param_groups)):
            optimizer.param_groups[i]['lr'] = lr * 10
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}  lr {lr:.5f}  loss {total / len(train_loader):.4f}  pixel acc {acc:.4f}")
