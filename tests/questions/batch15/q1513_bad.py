import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, POINTS = 4, 24


class PointNet(nn.Module):
    def __init__(self, feature=48):
        super().__init__()
        self.points = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 64), nn.ReLU())
        self.global_feature = nn.Sequential(nn.Linear(64, feature), nn.ReLU())
        self.C = nn.Sequential(nn.Linear(feature, 32), nn.ReLU(), nn.Linear(32, CLASSES))
        self.DomainCls = nn.Sequential(nn.Linear(feature, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x, alpha=0.0, activate_domain=False):
        feature = self.global_feature(self.points(x).max(dim=1)[0])
        logits = {"cls": self.C(feature)}
        if activate_domain:
            logits["domain_cls"] = self.DomainCls(feature)
        return logits


class ReverseLayerF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


def make_clouds(n, scanned):
    labels = torch.randint(CLASSES, (n,))
    angle = 6.283 * torch.rand(n, POINTS)
    wide = torch.tensor([1.0, 1.4, 0.8, 1.2])[labels][:, None] + 0.1 * torch.randn(n, 1)
    deep = torch.tensor([1.0, 0.8, 1.4, 1.3])[labels][:, None] + 0.1 * torch.randn(n, 1)
    height = 0.1 * torch.randn(n, POINTS) + 0.15 * torch.randn(n, 1)
    height = height + (1.2 + 0.3 * torch.randn(n, 1) if scanned else 0.5 * labels[:, None] - 0.75)
    return torch.stack([wide * torch.cos(angle), deep * torch.sin(angle), height], dim=2), labels


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x)["cls"].argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    src_x, src_y = make_clouds(1200, scanned=False)
    trgt_x, _ = make_clouds(1200, scanned=True)
    src_test, trgt_test = make_clouds(500, scanned=False), make_clouds(500, scanned=True)
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=5e-5)
    epochs = 20
    for epoch in range(epochs):
        domain_right = 0.0
        for rows in torch.randperm(len(src_x)).split(60):
            alpha = 2 / (1 + torch.exp(torch.tensor(-10.0 * epoch / epochs)).item()) - 1
            src = model(src_x[rows], alpha, activate_domain=True)
            trgt = model(trgt_x[rows], alpha, activate_domain=True)
            domain = torch.cat([src["domain_cls"], trgt["domain_cls"]])
            which = torch.cat([torch.zeros(len(rows)), torch.ones(len(rows))]).long()
            loss = F.cross_entropy(src["cls"], src_y[rows]) + F.cross_entropy(domain, which)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            domain_right += (domain.argmax(1) == which).float().mean().item() * len(rows) / len(src_x)
        if epoch % 4 == 3:
            print(
                f"epoch {epoch:2d}: source acc {accuracy(model, *src_test):.3f}  "
                f"target acc {accuracy(model, *trgt_test):.3f}  domain classifier acc {domain_right:.3f}"
            )


if __name__ == "__main__":
    main()
