"""More programs of GS448: each bad one is reported at its marks, each good one by no rule."""


def bad_dataset_of_windows() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Windows(Dataset[tuple[torch.Tensor, torch.Tensor]]):
        def __init__(self, series: torch.Tensor, length: int) -> None:
            self.series, self.length = series, length

        def __len__(self) -> int:
            return len(self.series) - self.length

        def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
            end = i + self.length
            return self.series[i:end].unsqueeze(0), self.series[end - 2]  # cause: GS448

    torch.manual_seed(0)
    series = torch.cumsum(torch.randn(200), 0) / 10
    loader = DataLoader(Windows(series, 16), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Conv1d(1, 4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(48, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for x, y in loader:
        loss = (model(x).squeeze(1) - y).pow(2).mean()  # effect: GS448
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_of_several_series() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table = torch.cumsum(torch.randn(150, 3), 0) / 10
    length = 12
    windows = torch.stack([table[i : i + length] for i in range(len(table) - length)])
    targets = torch.stack([table[i + length - 1, 0] for i in range(len(table) - length)])  # cause: GS448
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
    model = nn.ModuleDict({"rnn": rnn, "head": head})
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        rows = torch.randint(len(windows), (32,))
        x, y = windows[rows], targets[rows]
        answer = head(rnn(x)[0][:, -1]).squeeze(1)
        opt.zero_grad()
        nn.functional.l1_loss(answer, y).backward()  # effect: GS448
        opt.step()


def bad_all_of_several_series() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    table = torch.cumsum(torch.randn(150, 3), 0) / 10
    windows = torch.stack([table[i : i + 12] for i in range(138)])
    targets = table[11:149]  # cause: GS448
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        rows = torch.randint(len(windows), (32,))
        opt.zero_grad()
        nn.functional.mse_loss(model(windows[rows]), targets[rows]).backward()  # effect: GS448
        opt.step()


def good_all_of_several_series() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table = torch.cumsum(torch.randn(150, 3), 0) / 10
    windows = torch.stack([table[i : i + 12] for i in range(138)])
    targets = table[12:]
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        rows = torch.randint(len(windows), (32,))
        opt.zero_grad()
        nn.functional.mse_loss(model(windows[rows]), targets[rows]).backward()
        opt.step()


def good_all_but_the_last_are_given() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.cumsum(torch.randn(200), 0) / 10
    windows = torch.stack([series[i : i + 16] for i in range(184)])
    targets = torch.stack([series[i + 15] for i in range(184)])
    model = nn.Sequential(nn.Linear(15, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        rows = torch.randint(len(windows), (32,))
        opt.zero_grad()
        nn.functional.mse_loss(model(windows[rows][:, :-1]).squeeze(1), targets[rows]).backward()
        opt.step()


def good_the_next_of_every_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.cumsum(torch.randn(200), 0) / 10
    rnn, head = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        starts = torch.randint(180, (32,)).tolist()
        x = torch.stack([series[i : i + 16] for i in starts]).unsqueeze(2)
        y = torch.stack([series[i + 1 : i + 17] for i in starts]).unsqueeze(2)
        opt.zero_grad()
        nn.functional.mse_loss(head(rnn(x)[0]), y).backward()
        opt.step()


def good_window_is_its_own_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    series = torch.cumsum(torch.randn(200), 0) / 10
    model = nn.Sequential(nn.Linear(16, 3), nn.Tanh(), nn.Linear(3, 16))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        starts = torch.randint(180, (32,)).tolist()
        x = torch.stack([series[i : i + 16] for i in starts])
        y = torch.stack([series[i : i + 16] for i in starts])
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()


def good_recall_of_the_last_number() -> None:
    """A task for a memory: each sample is a row of its own, and what it ends with is asked for on purpose."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(32, 12, 1)
        y = x[:, -1].clone()
        opt.zero_grad()
        nn.functional.mse_loss(head(rnn(x)[0][:, -1]), y).backward()
        opt.step()


def good_smoothed_series_is_the_target() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    clean = torch.sin(torch.arange(200) / 6)
    noisy = clean + 0.3 * torch.randn(200)
    model = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        starts = torch.randint(180, (32,)).tolist()
        x = torch.stack([noisy[i : i + 16] for i in starts])
        y = torch.stack([clean[i + 15] for i in starts])
        opt.zero_grad()
        nn.functional.mse_loss(model(x).squeeze(1), y).backward()
        opt.step()
