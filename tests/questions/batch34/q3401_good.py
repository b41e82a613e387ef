import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AutomaticWeightedLoss(nn.Module):
    def __init__(self, num=2):
        super().__init__()
        self.params = nn.Parameter(torch.ones(num))

    def forward(self, *losses):
        total = 0
        for i, loss in enumerate(losses):
            total = total + 0.5 / (self.params[i] ** 2) * loss + torch.log(1 + self.params[i] ** 2)
        return total


class TwoHeads(nn.Module):
    def __init__(self, size=24, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.points = nn.Linear(hidden, 2)
        self.mask = nn.Linear(hidden, 16)

    def forward(self, x):
        h = self.body(x)
        return self.points(h), self.mask(h)


def make_data(count=512, size=24):
    x = torch.randn(count, size)
    points = 6 * torch.tanh(x @ torch.randn(size, 2)) + 3 * torch.randn(count, 2)
    mask = (x @ torch.randn(size, 16) > 0).float()
    return x, points, mask


def dice(logits, target):
    prob = torch.sigmoid(logits)
    return 1 - (2 * (prob * target).sum() + 1) / (prob.sum() + target.sum() + 1)


def main():
    x, points, mask = make_data()
    model = TwoHeads()
    awl = AutomaticWeightedLoss(2)
    optimizer = torch.optim.Adam([{"params": model.parameters()}, {"params": awl.parameters(), "weight_decay": 0}], lr=2e-3)
    for epoch in range(25):
        for start in range(0, len(x), 64):
            batch = slice(start, start + 64)
            out_points, out_mask = model(x[batch])
            point_loss = F.mse_loss(out_points, points[batch])
            seg_loss = dice(out_mask, mask[batch])
            loss = awl(point_loss, seg_loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 8 == 0:
            print(epoch, round(point_loss.item(), 3), round(seg_loss.item(), 3))
    print("weights", [round(p, 3) for p in awl.params.tolist()])


main()
