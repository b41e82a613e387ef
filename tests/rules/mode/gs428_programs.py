def bad_in_functions() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self, rows: torch.Tensor) -> None:
            self.rows = rows

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, i: int) -> torch.Tensor:
            return self.rows[i]

    def loaders(x: torch.Tensor, y: torch.Tensor) -> tuple[Any, Any]:
        a = DataLoader(Rows(x), batch_size=16, shuffle=True)  # cause: GS428
        b = DataLoader(Rows(y), batch_size=16, shuffle=True)
        return a, b

    def train(model: nn.Module, pair: tuple[Any, Any]) -> None:
        one, two = pair
        loss_fn = nn.CrossEntropyLoss()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            for x, y in zip(one, two, strict=True):
                opt.zero_grad()
                loss_fn(model(x), y).backward()  # effect: GS428
                opt.step()

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    train(nn.Linear(4, 3), loaders(x, x[:, :3].argmax(1)))


def bad_one_function_makes_both_loaders() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, RandomSampler, TensorDataset

    def batches(rows: torch.Tensor) -> Any:
        dataset = TensorDataset(rows)
        return DataLoader(dataset, batch_size=16, sampler=RandomSampler(dataset))  # cause: GS428

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    given, wanted = batches(x), batches(x.sum(1, keepdim=True))
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        feed = iter(wanted)
        for (a,) in given:
            answer = model(a)
            (aim,) = next(feed)
            loss = (answer - aim).abs().mean()  # effect: GS428
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_same_seed() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    one = DataLoader(
        TensorDataset(x), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(1)
    )
    two = DataLoader(
        TensorDataset(y), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(1)
    )
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for (a,), (b,) in zip(one, two, strict=True):
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()


def good_unpaired() -> None:
    """Two domains: each one's images go through a network of their own, and come back."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    one = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=16, shuffle=True)
    two = DataLoader(TensorDataset(torch.randn(64, 4) + 1), batch_size=16, shuffle=True)
    there, back = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*there.parameters(), *back.parameters()], lr=0.1)
    for _ in range(2):
        for (a,), (b,) in zip(one, two, strict=True):
            loss = nn.functional.l1_loss(back(there(a)), a) + nn.functional.l1_loss(there(back(b)), b)
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_unlabelled() -> None:
    """A second loader's samples have no labels."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    labelled = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
    plain = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=16, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for (a, b), (c,) in zip(labelled, plain, strict=True):
            loss = nn.functional.mse_loss(model(a), b)
            loss = loss + 0.1 * nn.functional.mse_loss(
                model(c + 0.01 * torch.randn_like(c)), model(c).detach()
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
