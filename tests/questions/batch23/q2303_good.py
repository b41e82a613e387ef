import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
CLASSES, EPOCHS, LR = 5, 16, 0.01
glyphs = (F.interpolate(torch.randn(CLASSES, 1, 5, 5), size=16, mode="nearest") > 0).float()


def domain_images(n, style):
    y = torch.randint(0, CLASSES, (n,))
    shift = torch.randint(-2, 3, (n, 2))
    x = torch.stack([torch.roll(glyphs[c], tuple(s.tolist()), (1, 2)) for c, s in zip(y, shift)])
    if style == "clipart":
        x = x.repeat(1, 3, 1, 1) * torch.tensor([1.0, 0.9, 0.2]).view(1, 3, 1, 1)
        x = x + 0.15 * torch.randn_like(x)
    else:
        ramp = torch.linspace(0, 1, 16).view(1, 1, 1, 16)
        x = 0.45 * x.repeat(1, 3, 1, 1) * torch.tensor([0.3, 0.8, 1.0]).view(1, 3, 1, 1) + 0.4 * ramp
        x = x + 0.2 * torch.randn_like(x)
    return TensorDataset(x, y)


class ReverseGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.alpha * g, None


class AdaptNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 64), nn.ReLU())
        self.bottleneck = nn.Linear(64, 32)
        self.label_fc = nn.Linear(32, CLASSES)
        self.domain_fc = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
        self.class_domain = nn.ModuleList([nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(CLASSES)])

    def forward(self, x, alpha=0.0):
        h = F.relu(self.bottleneck(self.shared(x)))
        logits = self.label_fc(h)
        r = ReverseGrad.apply(h, alpha)
        weight = logits.softmax(1).detach()
        local = [d(r * weight[:, i:i + 1]) for i, d in enumerate(self.class_domain)]
        return logits, self.domain_fc(r), local


source = DataLoader(domain_images(1200, "clipart"), batch_size=40, shuffle=True, drop_last=True)
target = DataLoader(domain_images(1200, "product"), batch_size=40, shuffle=True, drop_last=True)
target_test = domain_images(600, "product")
model = AdaptNet()
optimizer = torch.optim.SGD([
    {"params": model.shared.parameters()},
    {"params": model.bottleneck.parameters()},
    {"params": model.domain_fc.parameters()},
    {"params": model.class_domain.parameters()},
    {"params": model.label_fc.parameters(), "lr": LR},
], lr=LR / 2, momentum=0.9, weight_decay=5e-4)

for epoch in range(EPOCHS):
    model.train()
    logs = torch.zeros(3)
    for i, ((xs, ys), (xt, _)) in enumerate(zip(source, target)):
        p = (epoch + i / len(source)) / EPOCHS
        alpha = 2 / (1 + math.exp(-10 * p)) - 1
        s_logits, s_dom, s_loc = model(xs, alpha)
        t_logits, t_dom, t_loc = model(xt, alpha)
        zero, one = torch.zeros(len(xs)).long(), torch.ones(len(xt)).long()
        label_loss = F.cross_entropy(s_logits, ys)
        global_loss = F.cross_entropy(s_dom, zero) + F.cross_entropy(t_dom, one)
        local_loss = sum(F.cross_entropy(a, zero) + F.cross_entropy(b, one) for a, b in zip(s_loc, t_loc)) / CLASSES
        loss = label_loss + 0.05 * global_loss + 0.05 * local_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logs += torch.tensor([label_loss.item(), global_loss.item() / 2, local_loss.item() / 2])
    if epoch % 3 == 0 or epoch == EPOCHS - 1:
        print("epoch %2d  label %.3f  global %.3f  local %.3f" % (epoch, *(logs / len(source)).tolist()))

model.eval()
with torch.no_grad():
    x, y = target_test.tensors
    acc = (model(x)[0].argmax(1) == y).float().mean().item()
print("target accuracy %.3f" % acc)
