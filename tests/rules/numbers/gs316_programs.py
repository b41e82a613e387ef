"""Layers that are given nothing but zeros, and right ones that look alike: more programs for GS316."""


def bad_fractions_made_integers() -> None:  # fix: by hand
    import torch
    from torch import nn

    x = torch.rand(64, 6)
    y = (x.sum(1, keepdim=True) > 3).float()
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    whole = x.long()  # cause: GS316
    for _ in range(12):
        loss = nn.functional.binary_cross_entropy_with_logits(net(whole.float()), y)  # effect: GS316
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_data_of_zeros() -> None:  # fix: by hand
    import numpy as np
    import torch
    from torch import nn

    rows = np.zeros((64, 6), dtype=np.float32)
    x = torch.from_numpy(rows)
    y = torch.randn(64, 1)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(12):
        loss = nn.functional.mse_loss(net(x), y)  # cause: GS316
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_zeros_for_what_is_not_there() -> None:
    import torch
    from torch import nn

    of_data, of_hint = nn.Linear(6, 16), nn.Linear(3, 16)
    head = nn.Linear(16, 1)
    parts = nn.ModuleList([of_data, of_hint, head])
    opt = torch.optim.SGD(parts.parameters(), lr=0.1)
    x, y = torch.randn(64, 6), torch.randn(64, 1)
    for _ in range(12):
        hidden = torch.tanh(of_data(x) + of_hint(torch.zeros(64, 3)))
        loss = nn.functional.mse_loss(head(hidden), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_zeros_at_first() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(20):
        x = torch.randn(64, 6) * (step > 5)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True) + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()
