import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ArcMarginProduct(nn.Module):
    def __init__(self, in_feature, out_feature, s=16.0, m=0.5):
        super().__init__()
        self.s = s
        self.weight = nn.Parameter(torch.empty(in_feature, out_feature))
        nn.init.xavier_uniform_(self.weight)
        self.cos_m, self.sin_m = math.cos(m), math.sin(m)
        self.th = math.cos(math.pi - m)
        self.mm = math.sin(math.pi - m) * m

    def forward(self, x, label):
        cosine = F.normalize(x).mm(F.normalize(self.weight, dim=0)).clamp(-0.9999, 0.9999)
        sine = torch.sqrt(1.0 - torch.pow(cosine, 2))
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = torch.where(cosine - self.th > 0, phi, cosine - self.mm)
        one_hot = torch.zeros_like(cosine)
        one_hot.scatter_(1, label.view(-1, 1), 1)
        output = one_hot * phi + (1.0 - one_hot) * cosine
        output = output * self.s
        loss = F.cross_entropy(cosine, label)
        return loss, output


class Backbone(nn.Module):
    def __init__(self, width, feature=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 64), nn.PReLU(), nn.Linear(64, feature))

    def forward(self, x):
        return self.net(x)


def make_data(n, centers, noise=0.5):
    labels = torch.randint(len(centers), (n,))
    return centers[labels] + noise * torch.randn(n, centers.shape[1]), labels


def angles(features, labels):
    f = F.normalize(features)
    cos = f @ f.t()
    same = labels[:, None] == labels[None, :]
    off = ~torch.eye(len(f), dtype=torch.bool)
    deg = torch.rad2deg(torch.acos(cos.clamp(-1, 1)))
    return deg[same & off].mean().item(), deg[~same].mean().item()


def main():
    torch.manual_seed(0)
    centers = torch.randn(10, 16)
    x, y = make_data(2000, centers)
    xt, yt = make_data(600, centers)
    net, margin = Backbone(16), ArcMarginProduct(2, 10)
    optimizer = torch.optim.Adam(list(net.parameters()) + list(margin.parameters()), lr=3e-3)
    for epoch in range(12):
        total = 0.0
        for rows in torch.randperm(len(x)).split(100):
            loss, output = margin(net(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch}: loss {total / 20:.3f}")
    with torch.no_grad():
        features = net(xt)
        within, between = angles(features, yt)
        cosine = F.normalize(features) @ F.normalize(margin.weight, dim=0)
        print(f"test: angle within a class {within:.1f}  between classes {between:.1f}")
        print(f"test accuracy {(cosine.argmax(1) == yt).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
