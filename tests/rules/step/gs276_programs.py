"""More programs of GS276: each bad one is reported at its marks, each good one by no rule."""


def bad_several_milestones_in_a_function() -> None:
    import copy

    import torch
    from torch import nn

    def train(model: nn.Module, data: torch.Tensor, until: int, checkpoint: dict | None = None) -> dict:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        begin = 0
        if checkpoint is not None:
            optimizer.load_state_dict(checkpoint["optimizer"])
            begin = checkpoint["epoch"]
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 3], gamma=0.3)
        for _ in range(begin):
            scheduler.step()  # cause: GS276
        for _ in range(begin, until):
            for x in data:
                loss = (model(x) - x[:, :1]).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()  # effect: GS276
            scheduler.step()
        return copy.deepcopy({"optimizer": optimizer.state_dict(), "epoch": until})

    torch.manual_seed(0)
    net, batches = nn.Linear(3, 1), torch.randn(4, 8, 3)
    train(net, batches, 6, train(net, batches, 4))


def good_wound_forward_before_the_load() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(4, 8, 3)
    model = nn.Linear(3, 1)
    saved = None
    for epochs in ((0, 4), (4, 6)):
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
        for _ in range(epochs[0]):
            schedule.step()
        if saved is not None:
            opt.load_state_dict(saved)
        for _ in range(*epochs):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        saved = copy.deepcopy(opt.state_dict())


def good_each_rate_is_worked_out_from_the_first() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(4, 8, 3)
    model = nn.Linear(3, 1)
    saved = None
    for epochs in ((0, 4), (4, 6)):
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        if saved is not None:
            opt.load_state_dict(saved)
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5**epoch)
        for _ in range(epochs[0]):
            schedule.step()
        for _ in range(*epochs):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
        saved = copy.deepcopy(opt.state_dict())


def good_a_new_optimizer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(4, 8, 3)
    model = nn.Linear(3, 1)
    for epochs in ((0, 4), (4, 6)):
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
        for _ in range(epochs[0]):
            schedule.step()
        for _ in range(*epochs):
            for x in data:
                opt.zero_grad()
                model(x).sub(1).pow(2).mean().backward()
                opt.step()
            schedule.step()
