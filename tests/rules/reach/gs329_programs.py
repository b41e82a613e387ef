"""More programs of GS329: each bad one is reported at its marks, each good one by no rule."""


def bad_moving_average_that_never_moves() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    average = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        with torch.no_grad():
            target = 0.9 * average(x)
        opt.zero_grad()
        (model(x) - target - 1).pow(2).mean().backward()
        opt.step()
        for p, q in zip(model.parameters(), average.parameters()):
            q = 0.9 * q + 0.1 * p  # cause: GS329


def bad_lists_kept_by_an_object() -> None:
    import torch
    from torch import nn

    class Average:
        def __init__(self, model: nn.Module, other: nn.Module) -> None:
            self.mine = list(model.state_dict().values())
            self.others = list(other.state_dict().values())
            for mine, other_one in zip(self.mine, self.others):
                mine = other_one.detach()  # cause: GS329

        @torch.no_grad()
        def step(self) -> None:
            for mine, other_one in zip(self.mine, self.others):
                other_one.lerp_(mine, 0.1)

    model, other = nn.Linear(4, 2), nn.Linear(4, 2)
    average = Average(model, other)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
        average.step()


def bad_zeros_for_a_name() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            p = torch.zeros_like(p)  # cause: GS329
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


def bad_new_weights_for_a_name() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    for name, weights in net.named_parameters():
        if name.startswith("2."):
            weights = torch.randn(weights.shape) * 0.02  # cause: GS329
            weights.requires_grad = True
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()


def good_value_kept_in_a_dictionary() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
    kept = {}
    for name, p in model.named_parameters():
        p = p.detach().clone()
        kept[name] = p


def good_last_one_used_behind_the_loop() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
    for p in model.parameters():
        p = p.detach()
    print(p.shape)


def good_running_total_of_another_name() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
    largest = None
    for p in model.parameters():
        p = p.detach()
        largest = p if largest is None or p.abs().max() > largest.abs().max() else largest


def good_written_by_a_method_of_its_own() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.no_grad():
        for p in model.parameters():
            p = p.mul_(0.5)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()
