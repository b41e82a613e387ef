"""DANN: features that shall not tell source from target, by a gradient reversal layer."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

GAMMA = -10


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.constant, None


class DANN(nn.Module):
    def __init__(self, in_dim=12, feat=32, n_classes=2):
        super().__init__()
        self.extractor = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, feat), nn.ReLU())
        self.class_clf = nn.Linear(feat, n_classes)
        self.domain_clf = nn.Sequential(nn.Linear(feat, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x, constant=0.0):
        f = self.extractor(x)
        return self.class_clf(f), self.domain_clf(GradReverse.apply(f, constant))


def make_domain(n, target):
    y = torch.randint(0, 2, (n,))
    sign = (2.0 * y - 1.0).unsqueeze(1)
    x = torch.randn(n, 12)
    x[:, :3] += 0.8 * sign
    x[:, 3:6] += 1.5 if target else 0.8 * sign
    return x, y


xs, ys = make_domain(2000, target=False)
xt, yt = make_domain(2000, target=True)
model = DANN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
epochs, batch = 12, 100
steps = epochs * (2000 // batch)
step = 0
for epoch in range(epochs):
    perm_s, perm_t = torch.randperm(2000), torch.randperm(2000)
    for i in range(0, 2000, batch):
        p = step / steps
        constant = 2.0 / (1.0 + math.exp(-GAMMA * p)) - 1.0
        s, t = perm_s[i : i + batch], perm_t[i : i + batch]
        class_s, domain_s = model(xs[s], constant)
        _, domain_t = model(xt[t], constant)
        domain = torch.cat([torch.zeros(batch), torch.ones(batch)]).long()
        domain_loss = F.cross_entropy(torch.cat([domain_s, domain_t]), domain)
        loss = F.cross_entropy(class_s, ys[s]) + domain_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    if epoch % 3 == 2:
        with torch.no_grad():
            acc = (model(xt)[0].argmax(1) == yt).float().mean().item()
        print(
            f"epoch {epoch}: domain loss {domain_loss.item():.4f} target acc {acc:.3f} lambda {constant:.2f}"
        )
