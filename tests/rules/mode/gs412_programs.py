"""More programs of GS412: each bad one is reported at its marks, each good one by no rule."""


def bad_a_name_for_it() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def loader(data: Any, kind: str) -> Any:
        if kind == "test":
            mixed, last = False, True  # cause: GS412
        else:
            mixed, last = True, True
        return DataLoader(data, batch_size=16, shuffle=mixed, drop_last=last)

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader(data, "train"):
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for a, b in loader(data, "test"):
            total += (model(a) - b).pow(2).sum().item()  # effect: GS412
    print(total)


def bad_one_line_makes_both() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loaders: Any = [
        DataLoader(data, batch_size=16, shuffle=mixed, drop_last=True)  # cause: GS412
        for mixed in (True, False)
    ]
    for a, b in loaders[0]:
        opt.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for a, b in loaders[1]:
            print((model(a) - b).pow(2).sum().item())  # effect: GS412


def good_training_drops_the_last() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in DataLoader(data, batch_size=16, drop_last=True):
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()


def good_batches_that_divide_the_samples() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(48, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for a, b in DataLoader(data, batch_size=16, shuffle=True):
        opt.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for a, b in DataLoader(data, batch_size=16, drop_last=True):
            print((model(a) - b).pow(2).sum().item())


def good_a_few_batches_to_look_at() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for a, b in DataLoader(data, batch_size=16, shuffle=True):
        opt.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for number, (a, b) in enumerate(DataLoader(data, batch_size=16, drop_last=True)):
            if number == 2:
                break
            print((model(a) - b).pow(2).sum().item())


def good_statistics_taken_anew() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    data: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for a, b in DataLoader(data, batch_size=16, shuffle=True, drop_last=True):
        opt.zero_grad()
        nn.functional.mse_loss(model(a), b).backward()
        opt.step()
    with torch.no_grad():
        for a, _ in DataLoader(data, batch_size=16, drop_last=True):
            model(a)
    model.eval()
    with torch.no_grad():
        print((model(x) - x.sum(1, keepdim=True)).pow(2).mean().item())


def bad_one_array_of_whole_batches() -> None:  # fix: by hand
    """With a smaller last batch `np.array(given)` would be an error."""
    from typing import Any

    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    held: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        a = torch.randn(16, 3)
        nn.functional.mse_loss(model(a), a.sum(1, keepdim=True)).backward()
        opt.step()
    given: Any = []
    wanted: Any = []
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=16, drop_last=True):  # cause: GS412
            out = model(a)  # effect: GS412
            given.append(out.cpu().numpy())
            wanted.append(b.cpu().numpy())
    given, wanted = np.array(given), np.array(wanted)
    print(np.square(given - wanted).mean())


def bad_one_array_of_a_number_for_each_batch() -> None:
    from typing import Any

    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(50, 3)
    held: Any = TensorDataset(x, x.sum(1, keepdim=True))
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        a = torch.randn(16, 3)
        nn.functional.mse_loss(model(a), a.sum(1, keepdim=True)).backward()
        opt.step()
    errors: Any = []
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=16, drop_last=True):  # cause: GS412
            errors.append((model(a) - b).pow(2).sum().item())  # effect: GS412
    print(np.array(errors).sum())
