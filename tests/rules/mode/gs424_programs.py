def bad_made_with_the_trainings() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, Subset

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor, transform: Any = None) -> None:
            self.x: torch.Tensor = x
            self.transform: Any = transform

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            x = self.x[i]
            return (self.transform(x) if self.transform else x), x.sum(0, keepdim=True)

    def noise(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn(4)

    def plain(x: torch.Tensor) -> torch.Tensor:
        return x - 0.0

    torch.manual_seed(0)
    data = Rows(torch.randn(40, 4), transform=noise)  # effect: GS424
    train_set, val_set = Subset(data, range(32)), Subset(data, range(32, 40))
    val_set.dataset.transform = plain  # type: ignore[attr-defined] # cause: GS424
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=8):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print([nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(val_set, batch_size=8)])


def bad_trainings_last() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor, transform: Any = None) -> None:
            self.x: torch.Tensor = x
            self.transform: Any = transform

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            x = self.x[i]
            return (self.transform(x) if self.transform else x), x.sum(0, keepdim=True)

    def noise(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn(4)

    def plain(x: torch.Tensor) -> torch.Tensor:
        return x - 0.0

    torch.manual_seed(0)
    train_set, val_set = random_split(Rows(torch.randn(40, 4)), [32, 8])
    val_set.dataset.transform = plain  # type: ignore[attr-defined] # effect: GS424
    train_set.dataset.transform = noise  # type: ignore[attr-defined] # cause: GS424
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=8):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print([nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(val_set, batch_size=8)])


def good_set_before_each() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor, transform: Any = None) -> None:
            self.x: torch.Tensor = x
            self.transform: Any = transform

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            x = self.x[i]
            return (self.transform(x) if self.transform else x), x.sum(0, keepdim=True)

    def noise(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn(4)

    def train(model: nn.Module, rows: Any) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(rows, batch_size=8):
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()

    def evaluate(model: nn.Module, rows: Any) -> None:
        with torch.no_grad():
            print([nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(rows, batch_size=8)])

    torch.manual_seed(0)
    train_set, val_set = random_split(Rows(torch.randn(40, 4)), [32, 8])
    model = nn.Linear(4, 1)
    for _ in range(2):
        train_set.dataset.transform = noise  # type: ignore[attr-defined]
        train(model, train_set)
        val_set.dataset.transform = None  # type: ignore[attr-defined]
        evaluate(model, val_set)


def good_the_same_for_both() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Rows(Dataset[Any]):
        def __init__(self, x: torch.Tensor, transform: Any = None) -> None:
            self.x: torch.Tensor = x
            self.transform: Any = transform

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> Any:
            x = self.x[i]
            return (self.transform(x) if self.transform else x), x.sum(0, keepdim=True)

    def plain(x: torch.Tensor) -> torch.Tensor:
        return x - 0.0

    def train(model: nn.Module, rows: Any) -> None:
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(rows, batch_size=8):
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()

    def evaluate(model: nn.Module, rows: Any) -> None:
        with torch.no_grad():
            print([nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(rows, batch_size=8)])

    torch.manual_seed(0)
    train_set, val_set = random_split(Rows(torch.randn(40, 4)), [32, 8])
    train_set.dataset.transform = plain  # type: ignore[attr-defined]
    val_set.dataset.transform = plain  # type: ignore[attr-defined]
    model = nn.Linear(4, 1)
    train(model, train_set)
    evaluate(model, val_set)


def bad_switch_of_both() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, Subset

    class Recordings(Dataset[Any]):
        def __init__(self, waves: torch.Tensor, crop: bool) -> None:
            self.waves: torch.Tensor = waves
            self.crop = crop

        def __len__(self) -> int:
            return len(self.waves)

        def __getitem__(self, k: int) -> Any:
            start = int(torch.randint(0, 9, ())) if self.crop else 4
            return self.waves[k, start : start + 24], self.waves[k].mean(0, keepdim=True)

    torch.manual_seed(0)
    whole = Recordings(torch.randn(48, 32), crop=True)  # effect: GS424
    fit, check = Subset(whole, range(36)), Subset(whole, range(36, 48))
    check.dataset.crop = False  # type: ignore[attr-defined] # cause: GS424
    net = nn.Linear(24, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for wave, mean in DataLoader(fit, batch_size=12):
        opt.zero_grad()
        nn.functional.mse_loss(net(wave), mean).backward()
        opt.step()
    with torch.no_grad():
        print(
            [
                nn.functional.mse_loss(net(wave), mean).item()
                for wave, mean in DataLoader(check, batch_size=12)
            ]
        )


def good_switch_of_a_copy() -> None:
    import copy
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, Subset

    class Recordings(Dataset[Any]):
        def __init__(self, waves: torch.Tensor, crop: bool) -> None:
            self.waves: torch.Tensor = waves
            self.crop = crop

        def __len__(self) -> int:
            return len(self.waves)

        def __getitem__(self, k: int) -> Any:
            start = int(torch.randint(0, 9, ())) if self.crop else 4
            return self.waves[k, start : start + 24], self.waves[k].mean(0, keepdim=True)

    torch.manual_seed(0)
    every = Recordings(torch.randn(48, 32), crop=True)
    fit, check = Subset(every, range(36)), Subset(copy.copy(every), range(36, 48))
    check.dataset.crop = False  # type: ignore[attr-defined]
    net = nn.Linear(24, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for wave, mean in DataLoader(fit, batch_size=12):
        opt.zero_grad()
        nn.functional.mse_loss(net(wave), mean).backward()
        opt.step()
    with torch.no_grad():
        print(
            [
                nn.functional.mse_loss(net(wave), mean).item()
                for wave, mean in DataLoader(check, batch_size=12)
            ]
        )
