import torch
from torch import nn


class L2Norm(nn.Module):
    def __init__(self, n_channels, scale):
        super().__init__()
        self.eps = 1e-10
        self.weight = nn.Parameter(torch.full((n_channels,), float(scale)))

    def forward(self, x):
        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps
        x /= norm
        out = self.weight.view(1, -1, 1, 1) * x
        return out


class SSD(nn.Module):
    def __init__(self, classes=3, boxes=2):
        super().__init__()
        self.classes = classes
        self.vgg = nn.ModuleList(
            [
                nn.Conv2d(3, 16, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(16, 32, 3, padding=1),
                nn.LeakyReLU(0.1),
            ]
        )
        self.l2norm = L2Norm(32, 20)
        self.extra = nn.Conv2d(32, 32, 3, stride=2, padding=1)
        self.loc = nn.ModuleList([nn.Conv2d(32, boxes * 4, 3, padding=1) for _ in range(2)])
        self.conf = nn.ModuleList([nn.Conv2d(32, boxes * classes, 3, padding=1) for _ in range(2)])

    def forward(self, x):
        for layer in self.vgg:
            x = layer(x)
        sources = [self.l2norm(x)]
        sources.append(torch.relu(self.extra(x)))
        loc, conf = [], []
        for source, l, c in zip(sources, self.loc, self.conf):
            loc.append(l(source).permute(0, 2, 3, 1).flatten(1))
            conf.append(c(source).permute(0, 2, 3, 1).flatten(1))
        loc = torch.cat(loc, 1).view(x.size(0), -1, 4)
        conf = torch.cat(conf, 1).view(x.size(0), -1, self.classes)
        return loc, conf


class MultiBoxLoss(nn.Module):
    def forward(self, predictions, targets):
        loc, conf = predictions
        boxes, labels = targets
        loss_l = nn.functional.smooth_l1_loss(loc, boxes)
        loss_c = nn.functional.cross_entropy(conf.reshape(-1, conf.size(2)), labels.reshape(-1))
        return loss_l, loss_c


def train():
    torch.manual_seed(0)
    net = SSD()
    criterion = MultiBoxLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    images = torch.randn(8, 3, 16, 16)
    anchors = 2 * 8 * 8 + 2 * 4 * 4
    targets = (0.2 * torch.randn(8, anchors, 4), torch.randint(0, 3, (8, anchors)))
    for iteration in range(40):
        loss_l, loss_c = criterion(net(images), targets)
        loss = loss_l + loss_c
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 10 == 0:
            print(f"iter {iteration}: loc {loss_l.item():.4f} conf {loss_c.item():.4f}")
    print(f"last: {loss.item():.4f}")


train()
