"""More programs of GS254: each bad one is reported at its marks, each good one by no rule."""


def good_a_schedule_of_epochs_goes_on() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    pictures = torch.randn(6, 8, 3)
    net = nn.Linear(3, 1)
    first = torch.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(3):
        for picture in pictures:
            first.zero_grad()
            net(picture).pow(2).mean().backward()
            first.step()
    kept = copy.deepcopy(first.state_dict())

    second = torch.optim.Adam(net.parameters(), lr=0.05)
    second.load_state_dict(kept)
    for group in second.param_groups:
        group["initial_lr"] = 0.05
    decay = torch.optim.lr_scheduler.LinearLR(second, 1.0, 0.1, total_iters=10, last_epoch=2)
    for _ in range(7):
        for picture in pictures:
            second.zero_grad()
            net(picture).pow(2).mean().backward()
            second.step()
        decay.step()
