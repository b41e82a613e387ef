"""Cross entropies written out with one sign turned round, and right ones: more programs for GS435."""


def bad_halves_with_a_mean_each() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    net = nn.Linear(6, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        p = F.softmax(net(x), dim=1)
        t = F.one_hot(x[:, :3].argmax(1), 3).float()
        hits = (t * torch.log(p + 1e-8)).mean()
        misses = ((1 - t) * torch.log(1 - p + 1e-8)).mean()  # cause: GS435
        loss = -hits + misses
        opt.zero_grad()
        loss.backward()  # effect: GS435
        opt.step()


def good_halves_of_real_and_made() -> None:
    import torch
    from torch import nn

    judge, maker = nn.Linear(2, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*judge.parameters(), *maker.parameters()], lr=0.01)
    for _ in range(4):
        real, made = torch.sigmoid(judge(torch.randn(8, 2))), torch.sigmoid(judge(maker(torch.randn(8, 4))))
        ones = torch.ones(8, 1)
        loss = (-ones * real.log() + ones * torch.log(1 - made)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_with_a_minus_of_their_own() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        p = torch.sigmoid(net(x)).clamp(1e-6, 1 - 1e-6)
        loss = (-y * torch.log(p) - (1 - y) * torch.log(1 - p)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
