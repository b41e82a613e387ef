import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
num_classes, size = 3, 24
grid_y, grid_x = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")


def load_batch(n, noise=0.9):
    label = torch.zeros(n, size, size, dtype=torch.long)
    for part in (1, 2):
        cx, cy, r = torch.rand(n, 1, 1) * size, torch.rand(n, 1, 1) * size, 3 + 3 * torch.rand(n, 1, 1)
        label[(grid_x - cx) ** 2 + (grid_y - cy) ** 2 < r**2] = part
    image = (label.float() - 1).unsqueeze(1) + noise * torch.randn(n, 1, size, size)
    return image, label


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()
        )
        self.bottom = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(32, num_classes, 1)

    def forward(self, x):
        skip = self.down(x)
        deep = F.interpolate(self.bottom(F.avg_pool2d(skip, 2)), scale_factor=2, mode="bilinear")
        return self.out(torch.cat([skip, deep], dim=1))


def accuracy(logits, label):
    return (logits.argmax(1) == label).float().mean().item()


labeled_image, labeled_target = load_batch(4)
test_image, test_label = load_batch(64)
model = UNet()
ema_model = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(240):
    unlabeled_image, unlabeled_truth = load_batch(8)
    supervised_loss = F.cross_entropy(model(labeled_image), labeled_target)
    with torch.no_grad():
        logits_cons_tea = ema_model(unlabeled_image + 0.1 * torch.randn_like(unlabeled_image))
        pseudo_label = logits_cons_tea.argmax(dim=1)
        loss_w = torch.max(F.softmax(logits_cons_tea, dim=1), dim=1).values
    logits_cons_stu = model(unlabeled_image)
    unsupervised_loss = (loss_w * F.cross_entropy(logits_cons_stu, pseudo_label, reduction="none")).mean()
    loss = supervised_loss + min(1.0, step / 80) * unsupervised_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for ema_param, param in zip(ema_model.parameters(), model.parameters()):
            ema_param.mul_(0.97).add_(param, alpha=0.03)
    if (step + 1) % 80 == 0:
        weight = loss_w.expand(pseudo_label.shape)
        hit = pseudo_label == unlabeled_truth
        print(
            f"step {step + 1}: loss {loss.item():.4f}  weight of right pseudo labels {weight[hit].mean().item():.3f}, "
            f"of wrong ones {weight[~hit].mean().item():.3f}  test accuracy {accuracy(model(test_image), test_label):.3f}"
        )
