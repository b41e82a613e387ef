"""More programs of GS708: each bad one is reported at its marks, each good one by no rule."""


def bad_relu_before_targets_around_zero() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.body(x)).squeeze(1)  # cause: GS708

    torch.manual_seed(0)
    net, criterion = Net(), nn.SmoothL1Loss()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        loss = criterion(net(torch.randn(16, 4)), torch.randn(16))  # effect: GS708
        loss.backward()
        opt.step()


def bad_pixels_up_to_255() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 6))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    images = torch.randint(0, 256, (16, 6)).float()
    for _ in range(4):
        opt.zero_grad()
        shown = torch.sigmoid(model(images / 255))  # cause: GS708
        nn.functional.mse_loss(shown, images).backward()  # effect: GS708
        opt.step()


def good_sigmoid_that_is_stretched() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = torch.sigmoid(model(torch.randn(8, 4))) * 2 - 1
        nn.functional.mse_loss(out, torch.rand(8, 4) * 2 - 1).backward()
        opt.step()


def good_probabilities_with_rounding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        target = torch.eye(4)[torch.randint(0, 4, (8,))] + 1e-6
        nn.functional.mse_loss(torch.sigmoid(model(torch.randn(8, 4))), target).backward()
        opt.step()


def good_a_few_outliers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        target = torch.rand(64, 1)
        target[0] = 1.5
        nn.functional.mse_loss(torch.sigmoid(model(torch.randn(64, 4))), target).backward()
        opt.step()


def good_two_losses_on_one_line() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Softplus())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        depth = nn.functional.softplus(x * 2)
        out = model(x)
        losses = [nn.functional.l1_loss(out, depth), nn.functional.mse_loss(out.log(), depth.log())]
        opt.zero_grad()
        torch.stack(losses).sum().backward()
        opt.step()


def good_two_losses_called_at_one_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Softplus())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        depth = nn.functional.softplus(x * 2)
        out = model(x)
        pairs = [(nn.functional.mse_loss, out.log(), depth.log()), (nn.functional.l1_loss, out, depth)]
        opt.zero_grad()
        sum(loss(given, wanted) for loss, given, wanted in pairs).backward()
        opt.step()


def bad_labels_of_minus_one_and_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(3):
        x = torch.randn(16, 4)
        y = torch.sign(x[:, :1])
        loss = criterion(model(x), y)  # cause: GS708
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_three_classes_as_one_number() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 5)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        x = torch.randn(32, 4)
        y = torch.randint(-1, 2, (32, 5)).float()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)  # cause: GS708
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_of_zero_and_one_and_soft_ones() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(3):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        loss = criterion(model(x), y) + criterion(model(x), 0.9 * y + 0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_noise_on_the_labels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float() + 0.2 * torch.rand(16, 1)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_difference_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    coder = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 6), nn.ReLU())
    opt = torch.optim.Adam(coder.parameters(), lr=0.01)
    for _ in range(3):
        rows = torch.randn(16, 6)
        out = coder(rows)  # cause: GS708
        loss = (rows - out).pow(2).sum(1).mean()  # effect: GS708
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_states_of_an_lstm() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    walk = nn.LSTM(3, 3, batch_first=True)  # cause: GS708
    opt = torch.optim.Adam(walk.parameters(), lr=0.01)
    for _ in range(3):
        path = torch.randn(8, 6, 3)
        states, _ = walk(path)
        opt.zero_grad()
        nn.functional.mse_loss(states, 2 * path).backward()  # effect: GS708
        opt.step()


def good_cell_of_an_lstm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pace = nn.LSTM(3, 3, batch_first=True)
    opt = torch.optim.Adam(pace.parameters(), lr=0.01)
    for _ in range(3):
        path = torch.randn(8, 6, 3)
        _, (_, cell) = pace(path)
        opt.zero_grad()
        nn.functional.mse_loss(cell[0], 2 * path.sum(1)).backward()
        opt.step()


def bad_clamped_at_zero_and_squared_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Anomaly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(7, 16)
            self.readout = nn.Linear(16, 1)

        def forward(self, stations: torch.Tensor) -> torch.Tensor:
            h = nn.functional.silu(self.hidden(stations))
            return self.readout(h).squeeze(-1).clamp(min=0)  # cause: GS708

    torch.manual_seed(0)
    net = Anomaly()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        stations = torch.randn(32, 7)
        deviation = net(stations) - (1.5 * stations[:, 0] - stations[:, 2])  # effect: GS708
        loss = torch.mean(deviation * deviation)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rain_clamped_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 16), nn.SiLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        stations = torch.randn(32, 7)
        rain = (1.5 * stations[:, :1] - stations[:, 2:3]).clamp(min=0)
        deviation = torch.clamp(net(stations) + 1, min=0) - rain
        loss = torch.mean(deviation * deviation)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_degrees_from_a_sigmoid_squared_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        sky = torch.randn(64, 6)
        degrees = 15 + 8 * sky[:, :1]
        given = torch.sigmoid(net(sky))  # cause: GS708
        loss = ((given - degrees) ** 2).mean()  # effect: GS708
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_residual_that_is_to_be_small() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        t = 3 * torch.randn(64, 1)
        gap = (torch.tanh(net(t)) - t).square().mean()
        value = (net(torch.zeros(1, 1)) - 1).square().sum()
        opt.zero_grad()
        (0.1 * gap + value).backward()
        opt.step()
