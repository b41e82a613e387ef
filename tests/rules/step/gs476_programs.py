"""Programs for GS476."""


def bad_below() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def weight_of(step: int) -> float:
        if step < 9:  # effect: GS476
            weight = 0.0
        elif step < 3:  # cause: GS476
            weight = 0.5
        else:
            weight = 1.0
        return weight

    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        out = model(torch.randn(8, 3))
        loss = out[:, 0].pow(2).mean() + weight_of(step) * out[:, 1].pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_bounds() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        if step < 3:
            rate = 0.01
        elif step < 9:
            rate = 0.1
        elif step >= 11:
            rate = 0.001
        else:
            rate = 0.05
        if step >= 2 and step % 2 == 0:
            rate *= 0.5
        elif step >= 4:
            rate *= 0.9
        for group in opt.param_groups:
            group["lr"] = rate
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
