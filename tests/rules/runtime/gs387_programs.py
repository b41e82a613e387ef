"""More programs of GS387: each bad one is reported at its marks, each good one by no rule."""


def bad_generator_seeded_in_iter() -> None:  # fix: by hand
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Episodes(Sampler[int]):
        def __len__(self) -> int:
            return 24

        def __iter__(self) -> Iterator[int]:
            draw = torch.Generator()
            draw.manual_seed(3)  # cause: GS387
            yield from torch.randint(0, 80, (24,), generator=draw).tolist()

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=8, sampler=Episodes())
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for rows, labels in loader:  # effect: GS387
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


def bad_seeded_before_each_epoch() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0.5).long()
    weights = torch.where(y == 1, 3.0, 1.0).tolist()
    loader = DataLoader(TensorDataset(x, y), batch_size=8, sampler=WeightedRandomSampler(weights, 40))
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        torch.manual_seed(0)  # cause: GS387
        for rows, labels in loader:  # effect: GS387
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


def good_generator_of_the_sampler() -> None:
    import random
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Pairs(Sampler[list[int]]):
        def __init__(self, labels: list[int]):
            self.groups = [[i for i, label in enumerate(labels) if label == c] for c in (0, 1)]
            self.draw = random.Random(0)

        def __len__(self) -> int:
            return 4

        def __iter__(self) -> Iterator[list[int]]:
            for _ in range(4):
                yield [i for group in self.groups for i in self.draw.sample(group, 3)]

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_sampler=Pairs(y.tolist()))
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for rows, labels in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


def good_fixed_subset() -> None:
    """A tenth of the labels, chosen once by its seed."""
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Labelled(Sampler[int]):
        def __len__(self) -> int:
            return 16

        def __iter__(self) -> Iterator[int]:
            draw = torch.Generator().manual_seed(3)
            yield from torch.randperm(80, generator=draw)[:16].tolist()

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=8, sampler=Labelled())
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for rows, labels in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


def good_one_batch_overfitted() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Subset, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(Subset(TensorDataset(x, y), range(40, 48)), batch_size=8)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        for rows, labels in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()


def good_adapted_to_the_same_episodes() -> None:
    import copy
    import random
    from collections.abc import Iterator

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Sampler, TensorDataset

    class Episodes(Sampler[list[int]]):
        def __len__(self) -> int:
            return 4

        def __iter__(self) -> Iterator[list[int]]:
            draw = random.Random(3)
            for _ in range(4):
                yield draw.choices(range(80), k=8)

    torch.manual_seed(0)
    x = torch.randn(80, 4)
    y = (x[:, 0] > 0).long()
    samples = TensorDataset(x, y)
    training = DataLoader(samples, batch_size=8, shuffle=True)
    evaluation = DataLoader(samples, batch_sampler=Episodes())
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for rows, labels in training:
            opt.zero_grad()
            nn.functional.cross_entropy(model(rows), labels).backward()
            opt.step()
        adapted = copy.deepcopy(model)
        inner = torch.optim.SGD(adapted.parameters(), lr=0.1)
        for rows, labels in evaluation:
            inner.zero_grad()
            nn.functional.cross_entropy(adapted(rows), labels).backward()
            inner.step()
            with torch.no_grad():
                print((adapted(rows).argmax(1) == labels).float().mean())
