import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
torch.set_num_threads(1)


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(),
                                   nn.Conv2d(12, 12, 3, padding=1), nn.ReLU())
        self.sal = nn.Conv2d(12, 1, 1)
        self.depth = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.sal(h), self.depth(h)


def make_set(n):
    rgb = torch.rand(n, 3, 20, 20)
    cx = torch.randint(4, 16, (n,))
    label = torch.zeros(n, 1, 20, 20)
    depth = torch.zeros(n, 20, 20)
    for i in range(n):
        label[i, 0, 6:14, cx[i] - 3:cx[i] + 3] = 1
        depth[i] = 0.2 + 0.7 * label[i, 0] * torch.rand(1)
    rgb = rgb * 0.4
    rgb[:, 0:1] += 0.6 * label
    rgb[:, 1] += depth
    return TensorDataset(rgb, label, depth)


train_loader = DataLoader(make_set(128), batch_size=2, shuffle=True)
test_rgb, test_label, test_depth = make_set(40).tensors

model = DepthNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    total_sal, total_depth = 0.0, 0.0
    for rgb, label, depth in train_loader:
        optimizer.zero_grad()
        pred_sal, pred_depth = model(rgb)
        loss_sal = F.binary_cross_entropy_with_logits(pred_sal, label, reduction='sum')
        loss_depth = F.smooth_l1_loss(pred_depth, depth, reduction='sum')
        loss = loss_sal + loss_depth
        loss.backward()
        optimizer.step()
        total_sal += loss_sal.item()
        total_depth += loss_depth.item()
    with torch.no_grad():
        s, d = model(test_rgb)
        mae = (d[:, 0] - test_depth).abs().mean().item()
        acc = ((s > 0).float() == test_label).float().mean().item()
    print(f"epoch {epoch}  sal {total_sal / len(train_loader):.2f}  depth {total_depth / len(train_loader):.2f}  "
          f"test depth MAE {mae:.4f}  test sal acc {acc:.3f}")
