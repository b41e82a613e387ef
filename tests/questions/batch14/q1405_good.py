import torch
import torch.nn as nn


class NetG(nn.Module):
    """Two pictures in, a map of what changed between them out."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 16, 5, padding=2),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 16, 5, padding=2),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 1, 3, padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x)


class NetD(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(32 * 9, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x).view(-1)


def make_pairs(n, size=12):
    gt = torch.zeros(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 8, (2,)).tolist()
        h, w = torch.randint(4, 9, (2,)).tolist()
        gt[i, 0, r : r + h, c : c + w] = 1.0
    first = torch.randn(n, 1, size, size)
    second = first + 2.0 * gt + 1.0 * torch.randn(n, 1, size, size)
    return torch.cat([first, second], 1), gt


def main():
    torch.manual_seed(0)
    x, gt = make_pairs(384)
    netg, netd = NetG(), NetD()
    l_con, l_bce = nn.L1Loss(), nn.BCELoss()
    optimizer_g = torch.optim.Adam(netg.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(netd.parameters(), lr=1e-3, betas=(0.5, 0.999))
    real_label, fake_label = torch.ones(32), torch.zeros(32)
    for epoch in range(10):
        totals = torch.zeros(4)
        for rows in torch.randperm(len(x)).split(32):
            fake = netg(x[rows])
            pred_real = netd(gt[rows])
            pred_fake = netd(fake)
            err_g_adv = l_bce(pred_fake, real_label)
            err_g_con = l_con(fake, gt[rows])
            err_g = 3 * err_g_con + 0.3 * err_g_adv

            pred_fake_ = netd(fake.detach())
            err_d = 0.5 * (l_bce(pred_real, real_label) + l_bce(pred_fake_, fake_label))

            optimizer_g.zero_grad()
            err_g.backward()
            optimizer_g.step()
            optimizer_d.zero_grad()
            err_d.backward()
            optimizer_d.step()
            totals += torch.stack([err_g_adv, err_g_con, err_d, pred_fake.mean()]).detach()
        adv, con, d, fooled = (totals / (len(x) // 32)).tolist()
        if epoch % 3 == 0:
            print(
                f"epoch {epoch}: g adversarial {adv:.3f}  g content {con:.4f}  d {d:.4f}  D(fake) {fooled:.3f}"
            )


if __name__ == "__main__":
    main()
