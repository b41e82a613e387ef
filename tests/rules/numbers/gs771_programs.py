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


def bad_sizes_in_a_dict() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    parts: Any = {
        "train": DataLoader(data, 10, sampler=SubsetRandomSampler(range(20, 60))),  # effect: GS771
        "held": DataLoader(data, 10, sampler=SubsetRandomSampler(range(20))),
    }
    sizes = {name: len(part.dataset) for name, part in parts.items()}
    model = nn.Linear(3, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for name, part in parts.items():
            hits = torch.tensor(0)
            for a, b in part:
                with torch.set_grad_enabled(name == "train"):
                    scores = model(a)
                if name == "train":
                    opt.zero_grad()
                    nn.functional.cross_entropy(scores, b).backward()
                    opt.step()
                hits += (scores.argmax(1) == b).sum()
            print(hits.double() / sizes[name])  # cause: GS771


def bad_length_of_the_dataset_by_name() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    rows = TensorDataset(x, x.sum(1, keepdim=True))
    held_in_all = len(rows)
    drawn_from = DataLoader(rows, 10, sampler=SubsetRandomSampler(range(20, 60)))  # effect: GS771
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in drawn_from:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        print(total / held_in_all)  # cause: GS771


def good_share_of_the_dataset() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 3)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    train: Any = DataLoader(data, 10, sampler=SubsetRandomSampler(range(20, 60)))
    drawn, count = len(train.sampler), len(data)
    print("trained on", drawn / count)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in train:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(a)
        print(total / drawn)
