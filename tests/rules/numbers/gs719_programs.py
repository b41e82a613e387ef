"""More programs of GS719: each bad one is reported at its marks, each good one by no rule."""


def bad_depths_with_the_loss_by_hand() -> None:
    import torch
    from torch import nn

    class Depth(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.last = nn.Conv1d(1, 4, 5, stride=2), nn.Linear(24, 1)

        def forward(self, echo: torch.Tensor) -> torch.Tensor:
            return self.last(torch.relu(self.conv(echo[:, None])).flatten(1))[:, 0]

    torch.manual_seed(0)
    echoes = torch.randn(256, 16)
    metres = -1800.0 + 220.0 * torch.tanh(echoes[:, 4] - echoes[:, 10])
    net = Depth()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for _ in range(20):
        for rows in torch.randperm(256).split(32):
            gap = net(echoes[rows]) - metres[rows]
            off = gap.abs().sum() / len(rows)  # cause: GS719
            opt.zero_grad()
            off.backward()  # effect: GS719
            opt.step()


def bad_heights_squared_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    leaves = torch.randn(256, 5)
    height = 300.0 + 20.0 * leaves[:, :1]
    net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(150):
        rows = torch.randint(256, (32,))
        gap = height[rows] - net(leaves[rows])
        loss = torch.einsum("ij,ij->", gap, gap) / gap.numel()  # cause: GS719
        opt.zero_grad()
        loss.backward()  # effect: GS719
        opt.step()


def good_depths_scaled_behind_the_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    echoes = torch.randn(256, 16)
    metres = -1800.0 + 220.0 * torch.tanh(echoes[:, 4:5] - echoes[:, 10:11])
    net = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for _ in range(20):
        for rows in torch.randperm(256).split(32):
            gap = -1800.0 + 220.0 * net(echoes[rows]) - metres[rows]
            off = gap.abs().mean()
            opt.zero_grad()
            off.backward()
            opt.step()


def bad_ages_by_a_huber_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scans = torch.randn(200, 8)
    age = 55 + 9 * torch.tanh(scans[:, 0] * 2)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.SmoothL1Loss(beta=2.0)
    for _ in range(20):
        for rows in torch.randperm(200).split(40):
            loss = criterion(net(scans[rows]).squeeze(1), age[rows])  # cause: GS719
            opt.zero_grad()
            loss.backward()  # effect: GS719
            opt.step()


def good_ages_begun_at_their_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    scans = torch.randn(200, 8)
    age = 55 + 9 * torch.tanh(scans[:, 0] * 2)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))
    nn.init.constant_(net[2].bias, age.mean().item())
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(20):
        for rows in torch.randperm(200).split(40):
            loss = nn.functional.huber_loss(net(scans[rows]).squeeze(1), age[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
