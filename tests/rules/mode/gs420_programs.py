"""More programs of GS420: each bad one is reported at its marks, each good one by no rule."""


def bad_shown_now_and_then() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for i in range(8):
            running = 0.0  # cause: GS420
            a, b = x[8 * i : 8 * i + 8], y[8 * i : 8 * i + 8]
            loss = nn.functional.mse_loss(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
            if i % 4 == 3:
                print(epoch, running / 4)  # effect: GS420


def bad_begun_twice() -> None:
    import torch
    from torch import nn

    def evaluate() -> float:
        total = 0
        for i in range(8):
            total = 0  # cause: GS420
            with torch.no_grad():
                hits = (model(x[8 * i : 8 * i + 8]).argmax(1) == y[8 * i : 8 * i + 8]).sum()
            total += int(hits)
        return total / len(x)  # effect: GS420

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(evaluate())


def good_used_in_each_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.zeros(())
    for i in range(8):
        loss = torch.zeros(())
        a, b = x[8 * i : 8 * i + 8], y[8 * i : 8 * i + 8]
        loss += nn.functional.mse_loss(model(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


def good_a_list_of_lists() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    curves = []
    for _ in range(3):
        losses = []
        for i in range(8):
            loss = nn.functional.mse_loss(model(x[8 * i : 8 * i + 8]), y[8 * i : 8 * i + 8])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        curves.append(losses)
    print(sum(losses) / len(losses), len(curves))


def good_sums_of_a_window() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    running = 0.0
    for i in range(16):
        if i % 4 == 0:
            running = 0.0
        loss = nn.functional.mse_loss(model(x[4 * i : 4 * i + 4]), y[4 * i : 4 * i + 4])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
        if i % 4 == 3:
            print(running / 4)


def bad_rows_that_are_joined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    batches = list(zip(x.split(8), x.sum(1, keepdim=True).split(8), strict=True))
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def evaluate() -> float:
        with torch.no_grad():
            for a, b in batches[4:]:
                misses = torch.zeros(0, 1)  # cause: GS420
                misses = torch.cat([misses, net(a) - b])
        return misses.square().mean().item()  # effect: GS420

    for _ in range(3):
        for a, b in batches[:4]:
            opt.zero_grad()
            nn.functional.mse_loss(net(a), b).backward()
            opt.step()
        print(evaluate())


def bad_list_that_is_extended() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    batches = list(zip(x.split(8), x.sum(1, keepdim=True).split(8), strict=True))
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in batches[:4]:
            opt.zero_grad()
            nn.functional.mse_loss(net(a), b).backward()
            opt.step()
        with torch.no_grad():
            for a, b in batches[4:]:
                misses = []  # cause: GS420
                misses.extend((net(a) - b).abs().flatten().tolist())
        print(sum(misses) / len(misses))  # effect: GS420


def good_parts_of_a_batch_that_are_joined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    batches = list(zip(x.split(8), x.sum(1, keepdim=True).split(8), strict=True))
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        misses = torch.zeros(0, 1)
        for a, b in batches:
            parts = []
            parts.extend([net(a[:4]) - b[:4], net(a[4:]) - b[4:]])
            opt.zero_grad()
            torch.cat(parts).square().mean().backward()
            opt.step()
            misses = torch.cat([misses, *(part.detach() for part in parts)])
        print(misses.square().mean().sqrt().item())


def good_a_counter_of_stale_epochs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x.sum(1, keepdim=True)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best, stale = float("inf"), 0
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(64).split(16):
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        total /= 64
        if total < best:
            best, stale = total, 0
        else:
            stale += 1
    print(best, stale)
