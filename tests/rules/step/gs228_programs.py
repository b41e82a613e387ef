"""More programs of GS228: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_names_that_are_not_found() -> None:
    import copy

    import torch
    from torch import nn

    class Shadow:
        def __init__(self, model: nn.Module):
            self.weights = {name: p.detach().clone() for name, p in model.named_parameters()}

        def follow(self, model: nn.Module) -> None:
            with torch.no_grad():
                for name, p in model.named_parameters():
                    if name in self.weights:
                        self.weights[name].mul_(0.9).add_(p, alpha=0.1)

        def as_model(self, model: nn.Module) -> nn.Module:
            twin = copy.deepcopy(model)
            twin.load_state_dict(self.weights)  # cause: GS228
            return twin

    class Wrapper(nn.Module):
        def __init__(self, module: nn.Module):
            super().__init__()
            self.module = module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = self.module(x)
            return result

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    shadow = Shadow(model)
    fast = Wrapper(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for _ in range(3):
            opt.zero_grad()
            fast(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
            shadow.follow(fast)
        twin = shadow.as_model(model)
        with torch.no_grad():
            print(twin(torch.ones(1, 3)).item())  # effect: GS228


def bad_state_of_the_start_loaded_back() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    best = copy.deepcopy(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
        model.load_state_dict(best)  # cause: GS228
        with torch.no_grad():
            print(model(torch.ones(1, 3)).item())  # effect: GS228


def good_begun_anew_for_each_fold() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    start = copy.deepcopy(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        model.load_state_dict(start)
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
        with torch.no_grad():
            print(model(torch.ones(1, 3)).item())


def good_compared_with_where_it_began() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    reference = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(16, 3)
        with torch.no_grad():
            before = reference(x)
        opt.zero_grad()
        out = model(x)
        (out.pow(2).mean() + 0.1 * (out - before).pow(2).mean()).backward()
        opt.step()


def good_adapted_to_each_sample_and_put_back() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    source = copy.deepcopy(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(16, 3)
        model.load_state_dict(source)
        opt.zero_grad()
        model(x).var().backward()
        opt.step()
        with torch.no_grad():
            print(model(x).mean().item())


def good_average_that_follows() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for name, value in model.state_dict().items():
                    kept[name].lerp_(value, 0.1)
        twin = copy.deepcopy(model)
        twin.load_state_dict(kept)
        with torch.no_grad():
            print(twin(torch.ones(1, 3)).item())


def good_first_rows_that_never_move() -> None:
    """The padding's row of the embedding, which is called by itself, gets no gradient."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(12, 32), nn.Linear(32, 12)
    opt = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        for _ in range(3):
            words = torch.randint(1, 12, (16,))
            opt.zero_grad()
            nn.functional.cross_entropy(head(embed(words)), (words + 1) % 12).backward()
            opt.step()
        with torch.no_grad():
            print(head(embed(torch.arange(1, 12))).argmax(1).tolist())


def bad_an_average_that_never_begins() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    mean_net = AveragedModel(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    swa_start = 50
    for epoch in range(6):
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
        if epoch >= swa_start:
            mean_net.update_parameters(net)
        with torch.no_grad():
            print(mean_net(torch.ones(1, 3)).item())  # cause: GS228


def good_an_average_that_begins_late() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    mean_net = AveragedModel(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(6):
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
        if epoch >= 4:
            mean_net.update_parameters(net)
        with torch.no_grad():
            print(mean_net(torch.ones(1, 3)).item())
