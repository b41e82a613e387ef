"""More programs of GS396: each bad one is reported at its marks, each good one by no rule."""


def bad_average_in_place() -> None:
    import copy

    import torch
    from torch import nn

    class Average:
        def __init__(self, model: nn.Module):
            self.kept = [p.data.clone() for p in model.parameters()]  # cause: GS396

        def update(self, model: nn.Module) -> None:
            for kept, p in zip(self.kept, model.parameters(), strict=True):
                kept.mul_(0.98).add_(p.data, alpha=0.02)

        def put_into(self, model: nn.Module) -> None:
            with torch.no_grad():
                for kept, p in zip(self.kept, model.parameters(), strict=True):
                    p.copy_(kept)

    def train(saved: dict[str, torch.Tensor] | None) -> dict[str, torch.Tensor]:
        model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 8))
        opt = torch.optim.Adam(model.parameters(), lr=0.02)
        average = Average(model)
        if saved is not None:
            model.load_state_dict(saved)
        for _ in range(60):
            x = torch.randn(32, 16)
            opt.zero_grad()
            (model(x) - x[:, :8]).square().mean().backward()
            opt.step()
            average.update(model)
        trained = copy.deepcopy(model.state_dict())
        average.put_into(model)
        model.eval()
        with torch.no_grad():
            x = torch.randn(32, 16)
            print((model(x) - x[:, :8]).square().mean())  # effect: GS396
        return trained

    torch.manual_seed(0)
    train(train(None))


def bad_network_of_its_own() -> None:
    import copy

    import torch
    from torch import nn

    def train(saved: dict[str, torch.Tensor] | None) -> dict[str, torch.Tensor]:
        model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 8))
        opt = torch.optim.Adam(model.parameters(), lr=0.02)
        average = copy.deepcopy(model).requires_grad_(False)
        if saved is not None:
            model.load_state_dict(saved)  # cause: GS396
        for _ in range(60):
            x = torch.randn(32, 16)
            opt.zero_grad()
            (model(x) - x[:, :8]).square().mean().backward()
            opt.step()
            with torch.no_grad():
                for kept, p in zip(average.parameters(), model.parameters(), strict=True):
                    kept.lerp_(p, 0.02)
        average.eval()
        with torch.no_grad():
            x = torch.randn(32, 16)
            print((average(x) - x[:, :8]).square().mean())  # effect: GS396
        return copy.deepcopy(model.state_dict())

    torch.manual_seed(0)
    train(train(None))


def good_average_loaded_too() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    saved: dict[str, torch.Tensor] = {}
    averaged: dict[str, torch.Tensor] = {}
    for run in range(2):
        model = nn.Linear(16, 8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        average = {name: p.detach().clone() for name, p in model.named_parameters()}
        if run:
            model.load_state_dict(saved)
            for name, kept in average.items():
                kept.copy_(averaged[name])
        for _ in range(30):
            x = torch.randn(32, 16)
            opt.zero_grad()
            (model(x) - x[:, :8] * 2).square().mean().backward()
            opt.step()
            for name, p in model.named_parameters():
                average[name] = 0.9 * average[name] + 0.1 * p.detach()
        saved = copy.deepcopy(model.state_dict())
        averaged = {name: kept.clone() for name, kept in average.items()}
        for name, p in model.named_parameters():
            p.data = average[name]
        with torch.no_grad():
            x = torch.randn(32, 16)
            print((model(x) - x[:, :8] * 2).square().mean())


def good_back_from_the_best() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(16, 8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best = copy.deepcopy(model.state_dict())
    for epoch in range(3):
        for _ in range(10):
            x = torch.randn(32, 16)
            opt.zero_grad()
            (model(x) - x[:, :8] * 2).square().mean().backward()
            opt.step()
        kept = [p.detach().clone() for p in model.parameters()]
        model.load_state_dict(best)
        with torch.no_grad():
            x = torch.randn(32, 16)
            print((model(x) - x[:, :8] * 2).square().mean())
        for p, own in zip(model.parameters(), kept, strict=True):
            p.data = own
        if epoch == 1:
            best = copy.deepcopy(model.state_dict())


def good_target_network_that_began_by_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(1)
    online, slow = (nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 4)) for _ in range(2))
    slow.load_state_dict(online.state_dict())
    opt = torch.optim.RMSprop(online.parameters(), lr=0.003)
    for _ in range(160):
        state, after = torch.randn(16, 3), torch.randn(16, 3)
        action, reward = torch.randint(4, (16,)), -state.abs().sum(1)
        with torch.no_grad():
            best = online(after).argmax(1)
            wanted = reward + 0.95 * slow(after)[torch.arange(16), best]
        loss = nn.functional.smooth_l1_loss(online(state)[torch.arange(16), action], wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), online.parameters(), strict=True):
                old.lerp_(new, 0.01)
