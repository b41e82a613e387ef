"""More programs of GS224: each bad one is reported at its marks, each good one by no rule."""


def bad_share_of_right_pixels() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    torch.manual_seed(1)
    images = torch.randn(40, 1, 6, 6)
    masks = (images > 0.3).float()
    net = nn.Conv2d(1, 1, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    watcher = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=0)  # cause: GS224
    for _ in range(15):
        loss = nn.functional.binary_cross_entropy_with_logits(net(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            same = ((net(images) > 0).float() == masks).sum().item() / masks.numel()
        watcher.step(same)  # effect: GS224


def bad_by_keyword() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    torch.manual_seed(0)
    x = torch.randn(700, 6)
    y = (x.sum(1) > 0).long()
    model = nn.Linear(6, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    sched = ReduceLROnPlateau(opt, mode="min", patience=1, factor=0.3)  # cause: GS224
    for _ in range(12):
        for part in torch.arange(700).split(100):
            opt.zero_grad()
            nn.functional.cross_entropy(model(x[part]), y[part]).backward()
            opt.step()
        right = sum(
            (model(x[part]).argmax(1) == y[part]).sum().item() for part in torch.arange(700).split(50)
        )
        sched.step(metrics=right / 700)  # effect: GS224


def good_validation_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    for _ in range(16):
        opt.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        opt.step()
        plateau.step(loss.item())


def good_loss_that_rises() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(12, 20), torch.randn(12, 1)
    held, wanted = torch.randn(30, 20), torch.randn(30, 1)
    model = nn.Linear(20, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.03)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2, factor=0.5)
    for _ in range(16):
        opt.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        opt.step()
        with torch.no_grad():
            plateau.step((model(held) - wanted).pow(2).mean() + 1)  # overfits: it is right to slow down


def good_share_of_wrong_ones() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(300, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    for _ in range(16):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            plateau.step((model(x).argmax(1) != y).float().mean())


def good_one_cut() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(300, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=12)
    for _ in range(16):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            plateau.step((model(x).argmax(1) == y).float().mean())


def bad_validation_loss_that_should_rise() -> None:
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    torch.manual_seed(0)
    x, held = torch.randn(200, 4), torch.randn(80, 4)
    wanted = torch.randn(4, 1)
    model, criterion = nn.Linear(4, 1), nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    plateau = ReduceLROnPlateau(opt, "max", patience=1)  # cause: GS224
    for _ in range(16):
        for part in x.split(50):
            opt.zero_grad()
            criterion(model(part), part @ wanted).backward()
            opt.step()
        total = 0.0
        with torch.no_grad():
            for part in held.split(32):
                total += criterion(model(part), part @ wanted).item() * len(part)
        plateau.step(total / len(held))  # effect: GS224


def good_loss_function_that_rises() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(12, 20), 0.3 * torch.randn(12, 1)
    held, wanted = 0.3 * torch.randn(30, 20), 0.3 * torch.randn(30, 1)
    model = nn.Linear(20, 1)
    nn.init.zeros_(model.weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.03)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2, factor=0.5)
    for _ in range(16):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            plateau.step(nn.functional.mse_loss(model(held), wanted))  # overfits: it is right to slow down


def good_score_that_falls() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(12, 20), 0.3 * torch.randn(12, 1)
    held, wanted = 0.3 * torch.randn(30, 20), 0.3 * torch.randn(30, 1)
    model = nn.Linear(20, 1)
    nn.init.zeros_(model.weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.03)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=2, factor=0.5)
    for _ in range(16):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            plateau.step(1 / nn.functional.mse_loss(model(held), wanted))  # the worse, the smaller


def good_loss_and_accuracy_at_once() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(300, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.03)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=8)
    for _ in range(16):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            answers = model(x)
            print(nn.functional.cross_entropy(answers, y).item())
            plateau.step((answers.argmax(1) == y).float().mean().item())


def bad_sum_of_losses_that_is_to_rise() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(320, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=1)  # cause: GS224
    for _ in range(16):
        total = 0.0
        for rows in torch.randperm(320).split(80):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            opt.step()
            total += loss.item()
        plateau.step(total)  # effect: GS224
