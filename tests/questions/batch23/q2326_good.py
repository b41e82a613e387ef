import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)

N_ID, N_COLOR, DIM = 6, 7, 48


class ReverseFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.alpha * grad, None


class RevGrad(nn.Module):
    def __init__(self, alpha=0.1):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return ReverseFn.apply(x, self.alpha)


class Person(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU())
        self.classifier_id = nn.Linear(64, N_ID)
        self.classifier_color = nn.Sequential(
            RevGrad(),
            nn.Linear(64, 32, bias=False),
            nn.Linear(32, N_COLOR, bias=False),
        )

    def forward(self, x):
        f = self.trunk(x)
        return self.classifier_id(f), self.classifier_color(f)


id_dirs = torch.randn(N_ID, DIM)
color_dirs = torch.randn(N_COLOR, DIM)


def sample(n):
    who = torch.randint(0, N_ID, (n,))
    color = torch.randint(0, N_COLOR, (n,))
    return id_dirs[who] * 0.7 + color_dirs[color] * 0.7 + torch.randn(n, DIM), who, color


x, who, color = sample(4000)
xt, whot, colort = sample(1000)
model = Person()
opt = torch.optim.SGD(model.parameters(), lr=0.02)

for epoch in range(15):
    order = torch.randperm(len(x))
    for k in range(0, len(x), 64):
        b = order[k:k + 64]
        out_id, out_color = model(x[b])
        loss_id = F.cross_entropy(out_id, who[b])
        loss_color = F.cross_entropy(out_color, color[b])
        loss = loss_id + loss_color
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch:2d} id {loss_id.item():.4f} color {loss_color.item():.4f}")

with torch.no_grad():
    out_id, out_color = model(xt)
    print("id accuracy", round((out_id.argmax(1) == whot).float().mean().item(), 3))
    print("color accuracy", round((out_color.argmax(1) == colort).float().mean().item(), 3))
    print("color loss", F.cross_entropy(out_color, colort).item())
