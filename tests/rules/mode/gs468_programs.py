"""Programs for GS468."""


def bad_through_a_function() -> None:  # fix: by hand
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    @torch.no_grad()
    def accuracy(model: nn.Module, loader: "DataLoader[tuple[torch.Tensor, torch.Tensor]]") -> float:
        model.eval()
        for step, (rows, wanted) in enumerate(loader):
            scores = model(rows)  # effect: GS468
            _, picked = scores.max(dim=1)
        share = picked.eq(wanted).float().mean()  # cause: GS468
        model.train()
        return share.item()

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    other = torch.randn(64, 4)
    held = DataLoader(TensorDataset(other, (other[:, 0] > 0).long()), batch_size=10)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        for rows, wanted in DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16, shuffle=True):
            loss = nn.functional.cross_entropy(model(rows), wanted)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(accuracy(model, held))


def good_a_state_is_carried_on() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    cell = nn.GRUCell(3, 5)
    opt = torch.optim.SGD(cell.parameters(), lr=0.1)
    x = torch.randn(16, 3)
    stream = DataLoader(TensorDataset(x, torch.randn(16, 5)), batch_size=4)
    for _ in range(2):
        for rows, wanted in stream:
            opt.zero_grad()
            nn.functional.mse_loss(cell(rows), wanted).backward()
            opt.step()
        state = torch.zeros(4, 5)
        with torch.no_grad():
            for rows, wanted in stream:
                state = cell(rows, state)
        print((state - wanted).abs().mean())


def good_all_are_counted_and_the_last_is_shown() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
        kept = []
        with torch.no_grad():
            for a, b in loader:
                out = model(a)
                kept.append((out.argmax(1), b))
        print((out.argmax(1) == b).float().mean())
        print(torch.cat([one == other for one, other in kept]).float().mean())


def good_the_layers_are_warmed_up() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=16)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for a, _b in loader:
                out = model(a)  # the first calls take longer
        print(out.shape)
        with torch.no_grad():
            print((model(x).argmax(1) == y).float().mean())
        model.train()


def good_counted_in_a_second_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for a, b in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        opt.step()
    for a, b in loader:
        out = model(a).detach()  # the first calls take longer
    right = 0
    for a, b in loader:
        out = model(a).detach()
        right += (out.argmax(1) == b).sum().item()
    print(right / 64)
