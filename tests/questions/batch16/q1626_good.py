import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ArcMarginHeader(nn.Module):
    def __init__(self, in_features, out_features, s=16.0, m=0.2):
        super().__init__()
        self.s, self.m = s, m
        self.linear = nn.Linear(in_features, out_features, bias=False)

    def forward(self, embedding, target):
        embedding = F.normalize(embedding, dim=1)
        weight = F.normalize(self.linear.weight, dim=1)
        cosine = F.linear(embedding, weight).clamp(-1 + 1e-6, 1 - 1e-6)
        theta = torch.acos(cosine)
        hot = F.one_hot(target, cosine.shape[1]).bool()
        return self.s * torch.where(hot, torch.cos((theta + self.m).clamp_max(math.pi)), cosine)


class Backbone(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, 96),
            nn.BatchNorm1d(96),
            nn.PReLU(),
            nn.Linear(96, 48),
            nn.PReLU(),
            nn.Linear(48, dim),
        )

    def forward(self, x):
        return self.layers(x)


def make_data(n, prototypes):
    y = torch.randint(len(prototypes), (n,))
    return prototypes[y] + 1.0 * torch.randn(n, prototypes.shape[1]), y


def verification(backbone, x, y):
    backbone.eval()
    with torch.no_grad():
        e = F.normalize(backbone(x), dim=1)
    backbone.train()
    cosine = e @ e.t() - 2 * torch.eye(len(e))
    return (y[cosine.argmax(dim=1)] == y).float().mean().item()


def main():
    torch.manual_seed(5)
    prototypes = torch.randn(12, 40)
    x_train, y_train = make_data(2400, prototypes)
    x_test, y_test = make_data(800, prototypes)
    backbone, header = Backbone(40, 2), ArcMarginHeader(2, 12)
    first = F.normalize(header.linear.weight.detach().clone(), dim=1)
    optimizer = torch.optim.SGD(
        [{"params": backbone.parameters()}, {"params": header.parameters()}], lr=0.02, momentum=0.9
    )
    for epoch in range(1, 25):
        for rows in torch.randperm(len(x_train)).split(60):
            logits = header(backbone(x_train[rows]), y_train[rows])
            loss = F.cross_entropy(logits, y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            centers = F.normalize(header.linear.weight.detach(), dim=1)
            apart = (centers @ centers.t() - 2 * torch.eye(12)).max().item()
            print(
                f"epoch {epoch:2d}: loss {loss.item():.3f}  centers turned by {(centers - first).norm():.3f}  "
                f"closest two centers: cosine {apart:.3f}  test accuracy {verification(backbone, x_test, y_test):.3f}"
            )


if __name__ == "__main__":
    main()
