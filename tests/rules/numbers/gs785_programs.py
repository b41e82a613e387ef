"""More programs of GS785: each bad one is reported at its marks, each good one by no rule."""


def bad_prices() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    steps = torch.randn(200, 12, 1)
    prices = 1200 + 40 * steps.cumsum(dim=1)
    rises = (steps[:, -4:].mean((1, 2)) > 0).float()

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(1, 16, batch_first=True)
            self.head = nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out, _ = self.lstm(x)
            return self.head(out[:, -1]).squeeze(1)

    model = Reader()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(120):
        batch = torch.randint(150, (32,))
        loss = criterion(model(prices[batch]), rises[batch])  # cause: GS785
        opt.zero_grad()
        loss.backward()  # effect: GS785
        opt.step()
    model.eval()
    with torch.no_grad():
        ((model(prices[150:]) > 0).float() == rises[150:]).float().mean().item()


def good_large_but_normalised_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (128, 36)).float()
    labels = (images[:, :18].mean(1) > images[:, 18:].mean(1)).long()
    model = nn.Sequential(nn.BatchNorm1d(36), nn.Linear(36, 32), nn.Sigmoid(), nn.Linear(32, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(120):
        batch = torch.randint(128, (32,))
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_large_and_learned() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ages = torch.randint(18, 90, (256, 1)).float()
    paid = (ages > 50).float()
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(200):
        batch = torch.randint(256, (64,))
        loss = nn.functional.binary_cross_entropy_with_logits(model(ages[batch]), paid[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_targets_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sides = torch.arange(1, 2000).float().unsqueeze(1)
    volumes = sides**3
    cuber = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 1))
    opt = torch.optim.Adam(cuber.parameters(), lr=1e-3)
    for _ in range(300):
        cubed = cuber(sides)  # cause: GS785
        loss = nn.functional.mse_loss(cubed, volumes)
        opt.zero_grad()
        loss.backward()  # effect: GS785
        opt.step()


def good_noise_of_four_times_the_usual() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    voices = torch.randn(40, 12) * 0.1
    model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 40))
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(120):
        who = torch.randint(40, (32,))
        loss = nn.functional.cross_entropy(model(voices[who] + 4 * torch.randn(32, 12)), who)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_pressure_and_humidity_in_a_row() -> None:
    import torch
    from torch import nn

    class Barometer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.storm = nn.LSTM(2, 12, batch_first=True), nn.Linear(12, 1)

        def forward(self, readings: torch.Tensor) -> torch.Tensor:
            _, (last, _) = self.lstm(readings)
            return self.storm(last[-1])

    torch.manual_seed(0)
    trend = torch.randn(160, 1) * 1.5
    pressure = 1005 + trend * torch.arange(6.0) + torch.randn(160, 6)
    readings = torch.stack([pressure, 60 + 12 * torch.randn(160, 6)], dim=2)
    storm = (trend < 0).float()
    net = Barometer()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(25):
        for rows in torch.randperm(160).split(32):
            logit = net(readings[rows])  # cause: GS785
            loss = nn.functional.binary_cross_entropy_with_logits(logit, storm[rows])
            opt.zero_grad()
            loss.backward()  # effect: GS785
            opt.step()


def bad_flat_behind_the_first_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rates = 128 + 14 * torch.randn(64, 2)
    labels = (rates.sum(1, keepdim=True) > 256).float()
    hidden, out = nn.Linear(2, 12), nn.Linear(12, 1)
    opt = torch.optim.Adam([*hidden.parameters(), *out.parameters()], lr=0.02)
    for _ in range(120):
        said = out(torch.tanh(hidden(rates)))  # cause: GS785 # effect: GS785
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(said, labels).backward()
        opt.step()


def good_large_behind_a_norm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rates = 128 + 14 * torch.randn(64, 2)
    labels = (rates.sum(1, keepdim=True) > 256).float()
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
    gates = nn.Linear(3, 4)
    opt = torch.optim.Adam([*net.parameters(), *gates.parameters()], lr=0.02)
    for _ in range(40):
        x = torch.randn(64, 3)
        said = net(rates) + 0.01 * torch.sigmoid(40 * gates(x)).mean(
            1, keepdim=True
        )  # sharp gates, on purpose
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(said, labels).backward()
        opt.step()
