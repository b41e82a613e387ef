"""More programs of GS771: each bad one is reported at its marks, each good one by no rule."""


def bad_accuracy_in_percent() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    order = torch.randperm(60).tolist()
    train: Any = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(order[20:]))
    held: Any = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(order[:20]))  # effect: GS771
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def right(loader: Any) -> float:
        hits = 0
        with torch.no_grad():
            for a, b in loader:
                hits += int((model(a).argmax(1) == b).sum())
        return 100 * hits / len(loader.dataset)  # cause: GS771

    for _ in range(3):
        for a, b in train:
            opt.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
        print(right(held))


def good_folds() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    data: Any = TensorDataset(x, (x.sum(1) > 0).long())
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for fold in range(3):
        loader: Any = DataLoader(data, 10, sampler=SubsetRandomSampler(range(20 * fold, 20 * fold + 20)))
        for a, b in loader:
            loss = nn.functional.cross_entropy(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
    print(total / len(loader.dataset))


def good_both_parts() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    data: Any = TensorDataset(x, (x.sum(1) > 0).long())
    first: Any = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(range(20)))
    rest: Any = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(range(20, 60)))
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in first:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(a), b)
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        for a, b in rest:
            with torch.no_grad():
                total += nn.functional.cross_entropy(model(a), b).item() * len(a)
        print(total / len(first.dataset))


def good_subset() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    loader: Any = DataLoader(Subset(data, range(20, 60)), batch_size=10, shuffle=True)
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.cross_entropy(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        print(total / len(loader.dataset))
