"""More programs of GS446: each bad one is reported at its marks, each good one by no rule."""


def good_losses_summed_over_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, total = torch.randn(16, 4), torch.zeros(())
        for _ in range(3):
            x = model(x)
            total = total + (x - 1).pow(2).mean()
        loss = total + 0.1 * x.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_skip_paths_of_a_critic() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.RMSprop([*one.parameters(), *two.parameters()], lr=0.001)
    for _ in range(3):
        h = one(torch.randn(16, 4))
        h = h + torch.relu(two(h))
        h = h + one(torch.randn(16, 4)).sigmoid()
        loss = (h.mean() - 1).pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()
