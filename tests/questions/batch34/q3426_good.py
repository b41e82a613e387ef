import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MixedOp(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.ops = nn.ModuleList(
            [nn.Identity(), nn.Linear(size, size), nn.Sequential(nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size))]
        )

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class Network(nn.Module):
    def __init__(self, size=16, cells=3, classes=4):
        super().__init__()
        self.stem = nn.Linear(10, size)
        self.cells = nn.ModuleList([MixedOp(size) for _ in range(cells)])
        self.classifier = nn.Linear(size, classes)
        self.alpha_normal = nn.Parameter(1e-3 * torch.randn(cells, 3))

    def forward(self, x):
        h = self.stem(x)
        for cell, alpha in zip(self.cells, F.softmax(self.alpha_normal, dim=-1)):
            h = torch.tanh(cell(h, alpha))
        return self.classifier(h)

    def loss(self, x, y):
        return F.cross_entropy(self(x), y)

    def arch_parameters(self):
        return [self.alpha_normal]

    def weight_parameters(self):
        return [p for name, p in self.named_parameters() if "alpha" not in name]


class Arch:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.arch_parameters(), lr=3e-3, betas=(0.5, 0.999))

    def step(self, x_valid, y_valid):
        self.optimizer.zero_grad()
        loss = self.model.loss(x_valid, y_valid)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_set(count, mix):
    x = torch.randn(count, 10)
    y = (torch.sin(2 * x @ mix)).argmax(1)
    flip = torch.rand(count) < 0.25
    return x, torch.where(flip, torch.randint(0, 4, (count,)), y)


def main():
    mix = torch.randn(10, 4) / 2
    train, valid = make_set(200, mix), make_set(200, mix)
    model = Network()
    arch = Arch(model)
    optimizer = torch.optim.SGD(model.weight_parameters(), lr=0.1, momentum=0.9, weight_decay=3e-4)
    moved = 0.0
    for step in range(200):
        index, other = torch.randint(0, 200, (50,)), torch.randint(0, 200, (50,))
        valid_loss = arch.step(valid[0][other], valid[1][other])
        before = model.alpha_normal.detach().clone()
        loss = model.loss(train[0][index], train[1][index])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.weight_parameters(), 5)
        optimizer.step()
        moved += (model.alpha_normal.detach() - before).abs().sum().item()
        if step % 50 == 49:
            print(step, "train", round(loss.item(), 3), "valid", round(valid_loss, 3))
    print("alpha moved by the weight step:", round(moved, 3))
    print([[round(a, 2) for a in row] for row in F.softmax(model.alpha_normal, -1).tolist()])


main()
