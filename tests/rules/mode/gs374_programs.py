def bad_total_of_the_last_ones() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0
    for epoch in range(3):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.data  # cause: GS374
        print(epoch, total)  # effect: GS374


def bad_added_behind_the_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        total = 0.0
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item()  # cause: GS374
        print(total / len(loader))  # effect: GS374


def bad_evaluation_keeps_the_last() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
    with torch.no_grad():
        for a, b in loader:
            found = nn.functional.mse_loss(model(a), b)  # effect: GS374
    found /= len(loader)  # cause: GS374
    print(found)


def good_computed_once_more() -> None:
    """What is added behind the loop is a loss of all the data."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for epoch in range(3):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            loss = nn.functional.mse_loss(model(x), y)
        total += loss.item()
        print(total / (epoch + 1))


def good_summed_over_clients() -> None:
    """The last loss of each client, told once, as a mean over the clients."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    clients = [TensorDataset(x, x.sum(1, keepdim=True)) for x in torch.randn(3, 32, 4)]
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        total = 0.0
        for client in clients:
            for a, b in DataLoader(client, batch_size=8):
                loss = nn.functional.mse_loss(model(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item()
        print(total / len(clients))


def good_one_batch() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=64)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item() / len(loader))


def bad_added_behind_the_only_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.no_grad()
    def validate() -> float:
        total = 0.0
        for a, b in loader:
            miss = nn.functional.mse_loss(model(a), b)  # effect: GS374
        total += miss.item() * len(a)  # cause: GS374
        return total / len(loader.dataset)  # type: ignore[arg-type]

    for _ in range(3):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
        print(validate())


def good_added_in_the_only_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.no_grad()
    def validate() -> float:
        total, shown = 0.0, 0.0
        for a, b in loader:
            miss = nn.functional.mse_loss(model(a), b)
            total += miss.item() * len(a)
        shown += miss.item()
        print("last", shown)
        return total / len(loader.dataset)  # type: ignore[arg-type]

    for _ in range(3):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
        print(validate())
