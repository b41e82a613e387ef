import torch
import torch.nn as nn
import torch.nn.functional as F


class PoseNet(nn.Module):
    def __init__(self, joints=6):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU()
        )
        self.out = nn.Linear(64, joints)

    def forward(self, x):
        return self.out(self.net(x))


def make_network():
    net = PoseNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

    def func(phase, imgs, joints=None):
        if phase == "inference":
            net.eval()
            with torch.no_grad():
                return net(imgs)
        net.train(phase == "train")
        if phase == "train":
            loss = F.mse_loss(net(imgs), joints)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        else:
            with torch.no_grad():
                loss = F.mse_loss(net(imgs), joints)
        return loss.item()

    return net, func


def people(n, light=0.0):
    torso = torch.randn(n, 8)
    imgs = torch.cat([torso, torch.tanh(torso) ** 2, torso.roll(1, 1) * torso, torch.zeros(n, 8)], 1)
    joints = imgs[:, :18].view(n, 6, 3).sum(2)
    return imgs + light + 0.1 * torch.randn(n, 32), joints


def main():
    torch.manual_seed(0)
    train, valid, test = people(600), people(300, light=1.5), people(300)
    net, func = make_network()
    for epoch in range(6):
        loss = sum(func("train", train[0][r], train[1][r]) for r in torch.randperm(600).split(30)) / 20
        before = func("inference", test[0])
        check = sum(func("valid", valid[0][r], valid[1][r]) for r in torch.arange(300).split(30)) / 10
        after = func("inference", test[0])
        seen = net.net[1].num_batches_tracked.item()
        print(
            f"epoch {epoch}: train {loss:.3f}  valid {check:.3f}  batches seen by the norms {seen}  "
            f"test before validation {F.mse_loss(before, test[1]):.3f}  after it {F.mse_loss(after, test[1]):.3f}"
        )


if __name__ == "__main__":
    main()
