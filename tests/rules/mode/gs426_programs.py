def bad_one_more() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(40, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        losses = []
        for a, b in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(a), b)
            loss.backward()
            opt.step()
            losses.append(loss.item())  # effect: GS426
        print(sum(losses) / (len(loader) + 1))  # cause: GS426


def good_one_name_for_both() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def loaders() -> Any:
        x = torch.randn(40, 4)
        held = torch.randn(16, 4)
        return (
            DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8),
            DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=8),
        )

    torch.manual_seed(0)
    train_loader, val_loader = loaders()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        total = 0.0
        for a, b in train_loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(a), b)
            loss.backward()
            opt.step()
            total += loss.item()
        print(total / len(train_loader))
        total = 0.0
        with torch.no_grad():
            for a, b in val_loader:
                total += nn.functional.mse_loss(model(a), b).item()
        print(total / len(val_loader))


def good_over_both_loaders() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def loaders() -> Any:
        x = torch.randn(40, 4)
        held = torch.randn(16, 4)
        return (
            DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8),
            DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=8),
        )

    torch.manual_seed(0)
    train_loader, val_loader = loaders()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for loader in (train_loader, val_loader):
        for a, b in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(a), b)
            loss.backward()
            opt.step()
            total += loss.item()
    print(total / (len(train_loader) + len(val_loader)))


def good_stops_early() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def loaders() -> Any:
        x = torch.randn(40, 4)
        held = torch.randn(16, 4)
        return (
            DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8),
            DataLoader(TensorDataset(held, held.sum(1, keepdim=True)), batch_size=8),
        )

    torch.manual_seed(0)
    train_loader, val_loader = loaders()
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for step, (a, b) in enumerate(train_loader):
        if step == len(val_loader):
            break
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        opt.step()
        total += loss.item()
    print(total / len(val_loader))


def bad_loaders_of_a_dict() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Session:
        def __init__(self, net: nn.Module, loaders: dict[str, DataLoader]) -> None:
            self.net, self.loaders = net, loaders
            self.opt = torch.optim.Adam(net.parameters(), lr=0.01)

        def fit(self) -> None:
            for x, y in self.loaders["fit"]:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.net(x), y).backward()
                self.opt.step()

        @torch.no_grad()
        def check(self) -> float:
            running = torch.zeros(())
            for x, y in self.loaders["check"]:
                running += (self.net(x).argmax(-1) == y).float().mean()  # effect: GS426
            return torch.div(running, len(self.loaders["fit"])).item()  # cause: GS426

    def loader(n: int) -> DataLoader:
        x = torch.randn(n, 5)
        return DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=10)

    torch.manual_seed(0)
    session = Session(nn.Linear(5, 2), {"fit": loader(120), "check": loader(40)})
    for _ in range(2):
        session.fit()
        print(session.check())


def good_loaders_of_a_dict() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Session:
        def __init__(self, net: nn.Module, loaders: dict[str, DataLoader]) -> None:
            self.net, self.loaders = net, loaders
            self.opt = torch.optim.Adam(net.parameters(), lr=0.01)

        def fit(self) -> None:
            for x, y in self.loaders["fit"]:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.net(x), y).backward()
                self.opt.step()

        @torch.no_grad()
        def check(self) -> float:
            running = torch.zeros(())
            for x, y in self.loaders["check"]:
                running += (self.net(x).argmax(-1) == y).float().mean()
            return torch.div(running, len(self.loaders["check"])).item()

    def loader(n: int) -> DataLoader:
        x = torch.randn(n, 5)
        return DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=10)

    torch.manual_seed(0)
    session = Session(nn.Linear(5, 2), {"fit": loader(120), "check": loader(40)})
    for _ in range(2):
        session.fit()
        print(session.check())
