import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def mlp(dim, out, hidden=64):
    return nn.Sequential(nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out))


class BYOL(nn.Module):
    def __init__(self, net, dim=32, moving_average_decay=0.97):
        super().__init__()
        self.online_encoder = nn.Sequential(net, mlp(dim, dim))
        self.target_encoder = copy.deepcopy(self.online_encoder).requires_grad_(False)
        self.online_predictor = mlp(dim, dim)
        self.decay = moving_average_decay

    @torch.no_grad()
    def update_moving_average(self):
        for old, new in zip(self.target_encoder.parameters(), self.online_encoder.parameters()):
            old.mul_(self.decay).add_(new, alpha=1 - self.decay)

    def forward(self, view_one, view_two):
        pred_one = self.online_predictor(self.online_encoder(view_one))
        pred_two = self.online_predictor(self.online_encoder(view_two))
        with torch.no_grad():
            target_one, target_two = self.target_encoder(view_one), self.target_encoder(view_two)
        loss_one = 2 - 2 * F.cosine_similarity(pred_one, target_two, dim=-1)
        loss_two = 2 - 2 * F.cosine_similarity(pred_two, target_one, dim=-1)
        return (loss_one + loss_two).mean()


class BYOLTrainer:
    def __init__(self, net, dataset, learning_rate=2e-3, num_train_steps=300, batch_size=128):
        self.byol = BYOL(net)
        params = [p for p in self.byol.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adam(params, lr=learning_rate)
        self.dataset, self.batch_size, self.num_train_steps = dataset, batch_size, num_train_steps

    def augment(self, x):
        return x * (torch.rand_like(x) > 0.3) + 0.3 * torch.randn_like(x)

    def __call__(self):
        for step in range(self.num_train_steps):
            images = self.dataset[torch.randint(0, len(self.dataset), (self.batch_size,))]
            loss = self.byol(self.augment(images), self.augment(images))
            loss.backward()

            self.optimizer.zero_grad()
            self.optimizer.step()
            self.byol.update_moving_average()
            if (step + 1) % 60 == 0:
                print(f"step {step + 1}: loss {loss.item():.3f}")


patterns = torch.randn(12, 40)
labels = torch.randint(0, 12, (2000,))
images = patterns[labels] + 0.8 * torch.randn(2000, 40)
net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 32))
before = copy.deepcopy(net)
BYOLTrainer(net, images)()

moved = sum((p - q).abs().sum().item() for p, q in zip(net.parameters(), before.parameters()))
print(f"total change of the encoder weights: {moved:.4f}")
