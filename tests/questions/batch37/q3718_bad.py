import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


class MattingNet(nn.Module):
    def __init__(self, freeze_bn=False):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.decoder = nn.Conv2d(16, 1, 1)
        if freeze_bn:
            self.freeze_bn()

    def freeze_bn(self):
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()

    def forward(self, x):
        return torch.sigmoid(self.decoder(self.encoder(x)))


def images(n, level):
    alpha = F.interpolate(torch.rand(n, 1, 4, 4), size=16, mode="bilinear")
    fg, bg = torch.rand(n, 3, 1, 1) * 0.5 + 0.5, torch.rand(n, 3, 1, 1) * 0.5
    return level * (alpha * fg + (1 - alpha) * bg), alpha


def train(net, steps, batch_size, lr, levels):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    net.train()
    for step in range(steps):
        x, alpha = images(batch_size, levels[step % len(levels)])
        loss = F.l1_loss(net(x), alpha)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("train loss", round(loss.item(), 4))


def validate(net, level):
    net.eval()
    with torch.no_grad():
        x, alpha = images(200, level)
        return F.l1_loss(net(x), alpha).item()


pretrained = MattingNet()
train(pretrained, 250, 16, 3e-3, [1.0])
print("before", round(validate(pretrained, 1.0), 4))

net = MattingNet(freeze_bn=True)
net.load_state_dict(pretrained.state_dict())
mean = net.encoder[1].running_mean.clone()
train(net, 120, 1, 1e-4, [1.0, 1.0, 3.0])
print("drift of running_mean", round((net.encoder[1].running_mean - mean).abs().max().item(), 4))
print("after", round(validate(net, 1.0), 4))
