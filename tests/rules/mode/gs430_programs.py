"""Programs for GS430."""

from __future__ import annotations


def bad_soft_labels() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data, labels = torch.randn(60, 4), torch.randint(3, (60,))
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    earlier = torch.zeros(60, 3)
    loader = DataLoader(TensorDataset(data, labels), shuffle=True, batch_size=20)  # cause: GS430
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    with torch.no_grad():
        earlier = earlier + model(data).softmax(1)
    for _ in range(2):
        start = 0
        for x, y in loader:
            scores = model(x)
            before = earlier.narrow(0, start, len(x))  # related: GS430
            apart = (scores.softmax(1) - before).pow(2).mean()  # effect: GS430
            loss = nn.functional.cross_entropy(scores, y) + apart
            opt.zero_grad()
            loss.backward()
            opt.step()
            start += len(x)


def good_places_of_the_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = torch.randn(60, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
    places, real = torch.arange(128), torch.ones(128, 1)
    head = nn.Linear(8, 1)
    loader = DataLoader(TensorDataset(data), batch_size=16, shuffle=True)
    opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for _ in range(2):
        for (x,) in loader:
            one, two = model(x + 0.1 * torch.randn_like(x)), model(x + 0.1 * torch.randn_like(x))
            near = nn.functional.cross_entropy(one @ two.t(), places[: len(x)])
            loss = near + nn.functional.binary_cross_entropy_with_logits(head(one), real[: len(x)])
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_in_order() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = torch.randn(64, 4)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    with torch.no_grad():
        kept = teacher(data)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        for step, (x,) in enumerate(DataLoader(TensorDataset(data), batch_size=16)):
            loss = nn.functional.mse_loss(student(x), kept[step * 16 : step * 16 + 16])
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_past_of_the_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(60, 9).cumsum(1)), batch_size=20, shuffle=True)
    model = nn.Linear(8, 8)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        for (x,) in loader:
            half = len(x) // 2
            loss = (model(x[:, :-1]) - x[:, 1:]).pow(2).mean() + (
                model(x[:half, 1:]) - x[:half, :-1]
            ).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_moments_and_sorted_samples_of_two_sets() -> None:
    """Nothing pairs a sample with a sample: means over the batch, and the sorted numbers of each side."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    source = DataLoader(TensorDataset(torch.randn(64, 2)), 16, shuffle=True)
    bank = torch.randn(64, 2) * torch.tensor([2.0, 0.5]) + 1
    net = nn.Linear(2, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.03)
    for _ in range(3):
        for i, (s,) in enumerate(source):
            fake, real = net(s), bank[i * 16 : (i + 1) * 16]
            means = (fake.mean(0) - real.mean(0)).pow(2).sum()
            ordered = (fake.sort(0).values - real.sort(0).values).pow(2).mean()
            opt.zero_grad()
            (means + ordered).backward()
            opt.step()
