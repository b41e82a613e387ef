"""More programs of GS384: each bad one is reported at its marks, each good one by no rule."""


def bad_samplers_of_subsets() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    parts = torch.randperm(24).chunk(3)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))  # cause: GS384
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.no_grad()
    def evaluate(loader: DataLoader) -> float:
        net.eval()
        total = 0.0
        for x, y in loader:  # effect: GS384
            total += nn.functional.cross_entropy(net(x), y).item()
        net.train()
        return total

    for fold in range(3):
        rows = torch.cat([part for i, part in enumerate(parts) if i != fold])
        loader = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(rows))
        held_out = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(parts[fold]))
        for _ in range(2):
            for x, y in loader:
                opt.zero_grad()
                nn.functional.cross_entropy(net(x), y).backward()
                opt.step()
            print(evaluate(held_out))


def good_weights_drawn_anew() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    parts = torch.randperm(24).chunk(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    for fold in range(3):
        for layer in model:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()
        rows = torch.cat([part for i, part in enumerate(parts) if i != fold])
        loader = DataLoader(Subset(data, rows.tolist()), batch_size=8, shuffle=True)
        held_out = DataLoader(Subset(data, parts[fold].tolist()), batch_size=8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                print(nn.functional.cross_entropy(model(x), y).item())


def good_weights_of_the_start_loaded() -> None:
    import copy

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    parts = torch.randperm(24).chunk(3)
    model = nn.Linear(4, 2)
    start = copy.deepcopy(model.state_dict())
    for fold in range(3):
        model.load_state_dict(start)
        rows = torch.cat([part for i, part in enumerate(parts) if i != fold])
        loader = DataLoader(Subset(data, rows.tolist()), batch_size=8, shuffle=True)
        held_out = DataLoader(Subset(data, parts[fold].tolist()), batch_size=8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                print(nn.functional.cross_entropy(model(x), y).item())


def good_weights_of_the_start_by_data() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    parts = torch.randperm(24).chunk(3)
    model = nn.Linear(4, 2)
    start = [p.detach().clone() for p in model.parameters()]
    for fold in range(3):
        with torch.no_grad():
            for p, first in zip(model.parameters(), start, strict=True):
                p.copy_(first)
        rows = torch.cat([part for i, part in enumerate(parts) if i != fold])
        loader = DataLoader(Subset(data, rows.tolist()), batch_size=8, shuffle=True)
        held_out = DataLoader(Subset(data, parts[fold].tolist()), batch_size=8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                print(nn.functional.cross_entropy(model(x), y).item())


def good_one_split() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, random_split

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.randint(2, (24,)))
    some, others = random_split(data, [16, 8])
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for x, y in DataLoader(some, batch_size=8, shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for x, y in DataLoader(others, batch_size=8):
                print(nn.functional.cross_entropy(model(x), y).item())
