import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -0.02 * grad


class MDDNet(nn.Module):
    def __init__(self, dim=20, width=64, n_class=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.classifier = nn.Linear(width, n_class)
        self.classifier_adv = nn.Linear(width, n_class)

    def forward(self, x):
        feat = self.backbone(x)
        return self.classifier(feat), self.classifier_adv(GradReverse.apply(feat))


def sample(n, centers, shift):
    y = torch.randint(0, len(centers), (n,))
    return centers[y] + shift + 3.0 * torch.randn(n, centers.size(1)), y


centers = 30.0 * torch.randn(4, 20)
xs, ys = sample(800, centers, 0.0)
xt, yt = sample(800, centers, 1.0)

net = MDDNet()
opt = torch.optim.SGD(net.parameters(), lr=0.0006, momentum=0.9)

for it in range(400):
    bs, bt = torch.randint(0, 800, (32,)), torch.randint(0, 800, (32,))
    inputs = torch.cat([xs[bs], xt[bt]])
    outputs, outputs_adv = net(inputs)
    cls_loss = F.cross_entropy(outputs[:32], ys[bs])

    pseudo = outputs.argmax(1).detach()
    adv_src = F.cross_entropy(outputs_adv[:32], pseudo[:32])
    logloss_tgt = torch.log(torch.clamp(1 - F.softmax(outputs_adv[32:], dim=1), min=1e-15))
    adv_tgt = F.nll_loss(logloss_tgt, pseudo[32:])

    total_loss = cls_loss + 2.0 * adv_src
    if it >= 150:
        total_loss = total_loss + adv_tgt
    opt.zero_grad()
    total_loss.backward()
    opt.step()
    if it % 50 == 0 or it == 399:
        with torch.no_grad():
            acc = (net(xt)[0].argmax(1) == yt).float().mean().item()
        print(f"iter {it} total loss {total_loss.item():.4f} target acc {acc:.3f}")
