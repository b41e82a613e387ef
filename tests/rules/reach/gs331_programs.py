"""More programs of GS331: each bad one is reported at its marks, each good one by no rule."""


def bad_in_a_function() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def train(model: nn.Module, loader: DataLoader, opt: torch.optim.Optimizer) -> float:
        model.train()
        total = 0.0
        criterion = nn.CrossEntropyLoss()
        for x, y in loader:
            scores = model(x)
            loss = criterion(scores, y)  # effect: GS331
            total += loss.item()
        opt.zero_grad()
        loss.backward()  # cause: GS331
        opt.step()
        return total

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8, shuffle=True)
    model = nn.Linear(5, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        train(model, loader, opt)


def good_summed_over_the_loop() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 5).split(8)
    model = nn.Linear(5, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        total = torch.zeros(())
        for x in data:
            total = total + (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        total.backward()
        opt.step()


def good_best_of_several() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        best = None
        for _ in range(5):
            loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
            if best is None or loss.item() < best.item():
                best = loss
        assert best is not None
        opt.zero_grad()
        best.backward()
        opt.step()


def good_fixed_point() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 4)
    opt = torch.optim.SGD(layer.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(8, 4)
        z = torch.zeros(8, 4)
        for _ in range(6):
            z = torch.tanh(layer(z) + x)
        opt.zero_grad()
        loss = (z - x).pow(2).mean()
        loss.backward()
        opt.step()


def bad_steps_of_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, out = nn.GRUCell(3, 5), nn.Linear(5, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    for _ in range(4):
        series, hidden = torch.randn(7, 8, 3), torch.zeros(8, 5)
        for now in series:
            hidden = cell(now, hidden)
            miss = nn.functional.mse_loss(out(hidden), now[:, :1])  # effect: GS331
        opt.zero_grad()
        miss.backward()  # cause: GS331
        opt.step()


def bad_kept_in_a_list() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    unit, last = nn.GRUCell(3, 5), nn.Linear(5, 1)
    opt = torch.optim.SGD([*unit.parameters(), *last.parameters()], lr=0.1)
    for _ in range(4):
        series, state = torch.randn(7, 8, 3), torch.zeros(8, 5)
        misses = []
        for now in series:
            state = unit(now, state)
            misses.append(nn.functional.mse_loss(last(state), now[:, :1]))  # effect: GS331
        for one in misses:
            pass
        opt.zero_grad()
        one.backward()  # cause: GS331
        opt.step()
