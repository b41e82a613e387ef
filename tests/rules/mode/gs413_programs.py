"""More programs of GS413: each bad one is reported at its marks, each good one by no rule."""


def bad_in_one_function() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    learned = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8, shuffle=True)
    held = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
    regressor = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(regressor.parameters(), lr=0.01)

    def main() -> None:
        for _ in range(2):
            for x, y in learned:
                opt.zero_grad()
                nn.functional.mse_loss(regressor(x), y).backward()
                opt.step()
        regressor.eval()  # effect: GS413
        total = 0.0
        for x, y in held:
            opt.zero_grad()
            error = nn.functional.mse_loss(regressor(x), y)
            error.backward()
            opt.step()  # cause: GS413
            total += float(error)

    main()


def good_training_goes_on() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    learned = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8, shuffle=True)
    other = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8, shuffle=True)
    held = torch.randn(8, 4)
    regressor = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(regressor.parameters(), lr=0.01)
    for x, y in learned:
        opt.zero_grad()
        nn.functional.mse_loss(regressor(x), y).backward()
        opt.step()
    regressor.eval()
    with torch.no_grad():
        regressor(held)
    regressor.train()
    for x, y in other:
        opt.zero_grad()
        nn.functional.mse_loss(regressor(x), y).backward()
        opt.step()


def bad_phases_of_one_loop() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = {"train": torch.randn(6, 8, 4), "val": torch.randn(3, 8, 4)}
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        for phase in ("train", "val"):
            if phase == "train":
                net.train()
            else:
                net.eval()  # effect: GS413
            total = 0.0
            for x in data[phase]:
                opt.zero_grad()
                loss = nn.functional.mse_loss(net(x), x[:, :1])
                loss.backward()
                opt.step()  # cause: GS413
                total += loss.item()
            print(phase, total / len(data[phase]))


def good_phases_that_step_in_training() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = {"train": torch.randn(6, 8, 4), "val": torch.randn(3, 8, 4)}
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        for phase in ("train", "val"):
            net.train(phase == "train")
            total = 0.0
            for x in data[phase]:
                opt.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = nn.functional.mse_loss(net(x), x[:, :1])
                if phase == "train":
                    loss.backward()
                    opt.step()
                total += loss.item()
            print(phase, total / len(data[phase]))


def bad_without_dropout() -> None:
    """No layer listens to the mode: `eval()` says what the loop is for, and changes no number."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(32, 4), torch.randint(2, (32,))
    x_val, y_val = torch.randn(16, 4), torch.randint(2, (16,))
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        net.train()
        for at in torch.randperm(32).split(8):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x[at]), y[at]).backward()
            opt.step()
        net.eval()  # effect: GS413
        hits = 0
        for at in torch.randperm(16).split(8):
            opt.zero_grad()
            scores = net(x_val[at])
            nn.functional.cross_entropy(scores, y_val[at]).backward()
            opt.step()  # cause: GS413
            hits += int((scores.argmax(1) == y_val[at]).sum())


def bad_without_dropout_by_a_helper() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def epoch(model: nn.Module, x: torch.Tensor, opt: torch.optim.Optimizer) -> float:
        total = 0.0
        for rows in x.split(8):
            loss = model(rows).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()  # cause: GS413
            total += loss.item()
        return total

    x, x_val = torch.randn(32, 4), torch.randn(16, 4)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net.train()
        epoch(net, x, opt)
        net.eval()  # effect: GS413
        epoch(net, x_val, opt)


def good_without_dropout_and_train_called_late() -> None:
    """The lines of the training run in either mode, and no layer listens: nothing is evaluated by them."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(32, 4)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(12):
        net.train(step % 3 != 0)
        rows = x[torch.randint(32, (8,))]
        opt.zero_grad()
        net(rows).pow(2).mean().backward()
        opt.step()
