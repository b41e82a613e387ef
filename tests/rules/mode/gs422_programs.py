"""More programs of GS422: each bad one is reported at its marks, each good one by no rule."""


def bad_an_accuracy_beyond_one() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = TensorDataset(x, (x[:, 0] > 0).long())
    loader = DataLoader(data, batch_size=8)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        right = 0.0
        for a, b in loader:
            out = model(a)
            loss = nn.functional.cross_entropy(out, b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            right += (out.argmax(1) == b).float().sum().item()  # effect: GS422
        print(f"accuracy {right / len(loader):.3f}")  # cause: GS422


def bad_samples_are_counted() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total, seen = 0.0, 0
        for i in range(8):
            a = x[8 * i : 8 * i + 8]
            loss = nn.functional.mse_loss(model(a), y[8 * i : 8 * i + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()  # effect: GS422
            seen += a.shape[0]
        print(total / seen)  # cause: GS422


def good_sums_over_samples() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b, reduction="sum")
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(total / len(data))


def good_one_sample_each() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(16, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=1)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(total / len(data))


def good_hits_by_samples_and_means_by_batches() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(60, 4)
    data = TensorDataset(x, (x[:, 0] > 0).long())
    loader = DataLoader(data, batch_size=8)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        right, share, total = 0, 0.0, 0.0
        for a, b in loader:
            out = model(a)
            loss = nn.functional.cross_entropy(out, b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits = (out.argmax(1) == b).sum()
            right += hits.item()
            share += hits.item() / len(b)
            total += loss.item()
        print(right / len(data), share / len(loader), total / len(loader))
