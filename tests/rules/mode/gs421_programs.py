"""More programs of GS421: each bad one is reported at its marks, each good one by no rule."""


def bad_the_sum_goes_on() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0  # cause: GS421
    for _ in range(3):
        for a, b in loader:
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(total / len(loader))  # effect: GS421


def bad_right_answers_go_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    right = 0  # cause: GS421
    for epoch in range(3):
        seen = 0
        for i in range(8):
            a, b = x[8 * i : 8 * i + 8], y[8 * i : 8 * i + 8]
            out = model(a)
            loss = nn.functional.cross_entropy(out, b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            right += (out.argmax(1) == b).sum().item()
            seen += b.size(0)
        print(f"{epoch}: {100 * right / seen:.1f} %")  # effect: GS421


def bad_shown_and_not_begun_anew() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        running = 0.0  # cause: GS421
        for i in range(8):
            loss = nn.functional.mse_loss(model(x[8 * i : 8 * i + 8]), y[8 * i : 8 * i + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
            if i % 4 == 3:
                print(epoch, i, running / 4)  # effect: GS421


def bad_a_step_for_the_writer() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = 0  # cause: GS421
    curve = {}
    for _ in range(3):
        total = 0.0
        for i in range(8):
            loss = nn.functional.mse_loss(model(x[8 * i : 8 * i + 8]), y[8 * i : 8 * i + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            steps += 1
            total += loss.item()
        curve[steps] = total / steps  # effect: GS421
    print(curve)


def good_a_mean_over_all_epochs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for _ in range(3):
        for i in range(8):
            loss = nn.functional.mse_loss(model(x[8 * i : 8 * i + 8]), y[8 * i : 8 * i + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            count += 1
        print(total / count)


def good_begun_anew_where_it_is_shown() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total, part = 0.0, 0.0
    for _ in range(3):
        for i, (a, b) in enumerate(loader):
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            part += loss.item()
            if i % 4 == 3:
                print(part / 4)
                part = 0.0
        print(total / len(loader))
        total = 0.0


def bad_sum_is_a_tensor() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
    loader, model = DataLoader(data, batch_size=8), nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    right = torch.zeros(())  # cause: GS421
    for _ in range(3):
        seen = 0
        for x, y in loader:
            scores = model(x)
            opt.zero_grad()
            nn.functional.cross_entropy(scores, y).backward()
            opt.step()
            right += scores.argmax(1).eq(y).sum()
            seen += len(y)
        print(right / seen)  # effect: GS421


def bad_count_in_a_table() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    train, valid = torch.randn(4, 8, 4), torch.randn(3, 8, 4)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    meter = {"loss": 0.0, "n": 0}  # cause: GS421
    for _ in range(3):
        for x in train:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), x[:, :1]).backward()
            opt.step()
        meter["loss"] = 0.0
        with torch.no_grad():
            for x in valid:
                meter["loss"] += nn.functional.mse_loss(model(x), x[:, :1]).item() * len(x)
                meter["n"] += len(x)
        print(meter["loss"] / meter["n"])  # effect: GS421


def bad_divided_by_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(60, 4)
    y = (x.sum(1) > 0).long()
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    hits, best = torch.tensor(0), 0.0  # cause: GS421
    epoch = 0
    while epoch < 3:
        seen = 0
        for rows in torch.randperm(60).split(20):
            scores = net(x[rows])
            opt.zero_grad()
            nn.functional.cross_entropy(scores, y[rows]).backward()
            opt.step()
            hits = hits + (scores.argmax(1) == y[rows]).sum()
            seen = seen + rows.numel()
        best = max(best, torch.div(hits, seen).item())  # effect: GS421
        epoch += 1
    print(best)


def good_divided_by_a_function() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(60, 4)
    y = (x.sum(1) > 0).long()
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    steps, since = 0, torch.zeros(())
    for _ in range(3):
        hits, seen = torch.tensor(0), 0
        for rows in torch.randperm(60).split(20):
            scores = net(x[rows])
            loss = nn.functional.cross_entropy(scores, y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits = hits + (scores.argmax(1) == y[rows]).sum()
            seen = seen + rows.numel()
            since, steps = since + loss.detach(), steps + 1
        print(torch.div(hits, seen).item(), since.div(steps).item())
