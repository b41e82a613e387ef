"""More programs of GS115: each bad one is reported at its marks, each good one by no rule."""


def bad_exchanged_by_a_hook_before_the_save() -> None:
    import copy
    import io

    import torch
    from torch import nn

    class Average:
        def __init__(self, model: nn.Module) -> None:
            self.model = copy.deepcopy(model).requires_grad_(False)

        @torch.no_grad()
        def follow(self, model: nn.Module) -> None:
            for mean, p in zip(self.model.parameters(), model.parameters(), strict=True):
                mean.lerp_(p, 0.1)

        def exchange(self, model: nn.Module) -> None:
            for mean, p in zip(self.model.parameters(), model.parameters(), strict=True):
                mean.data, p.data = p.data, mean.data

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    average = Average(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        average.follow(model)
    weights = model.state_dict()  # cause: GS115
    average.exchange(model)
    torch.save(weights, io.BytesIO())  # effect: GS115
    average.exchange(model)


def good_both_are_saved_or_one_is_looked_at() -> None:
    import copy
    import io

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    average = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def exchange() -> None:
        for mean, p in zip(average.parameters(), model.parameters(), strict=True):
            mean.data, p.data = p.data, mean.data

    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for mean, p in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(p, 0.1)
    own = model.state_dict()
    exchange()
    torch.save({"own": own, "average": model.state_dict()}, io.BytesIO())
    exchange()
    own = model.state_dict()
    exchange()
    model.eval()
    with torch.no_grad():
        error = model(torch.randn(8, 3)).pow(2).mean()
    torch.save({"own": own, "error of the average": error}, io.BytesIO())
    exchange()
    own = model.state_dict()
    exchange()
    norm = sum(p.norm() for p in model.parameters())
    torch.save({"own": own, "norm": norm}, io.BytesIO())
    exchange()
    own = model.state_dict()
    exchange()
    torch.save(own, io.BytesIO())
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 3))
