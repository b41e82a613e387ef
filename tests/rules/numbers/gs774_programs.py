"""More programs of GS774: each bad one is reported at its marks, each good one by no rule."""


def bad_kept_by_a_function() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def answers(teacher: nn.Module, loader: "DataLoader[tuple[torch.Tensor, ...]]") -> list[torch.Tensor]:
        kept = []
        with torch.no_grad():
            for x, _ in loader:
                kept.append(teacher(x))  # cause: GS774
        return kept

    torch.manual_seed(0)
    teacher, student = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), nn.Linear(4, 3)
    data = TensorDataset(torch.randn(48, 4), torch.randint(3, (48,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    kept = answers(teacher, loader)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        for i, (x, _) in enumerate(loader):
            wanted = nn.functional.softmax(kept[i] / 2, dim=1)
            opt.zero_grad()
            scores = nn.functional.log_softmax(student(x) / 2, dim=1)
            loss = nn.functional.kl_div(scores, wanted, reduction="batchmean")  # effect: GS774
            loss.backward()
            opt.step()


def good_in_order() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    loader = DataLoader(TensorDataset(torch.randn(48, 4)), batch_size=8)
    with torch.no_grad():
        wanted = [teacher(x).softmax(1) for (x,) in loader]
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        for i, (x,) in enumerate(loader):
            opt.zero_grad()
            scores = student(x).log_softmax(1)
            nn.functional.kl_div(scores, wanted[i], reduction="batchmean").backward()
            opt.step()


def good_picked_by_number() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.arange(48)), batch_size=8, shuffle=True)
    wanted = torch.zeros(48, 3)
    with torch.no_grad():
        for x, numbers in loader:
            wanted[numbers] = teacher(x).softmax(1)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(3):
        for x, numbers in loader:
            opt.zero_grad()
            scores = student(x).log_softmax(1)
            nn.functional.kl_div(scores, wanted[numbers], reduction="batchmean").backward()
            opt.step()


def good_evaluated_before() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    data = TensorDataset(torch.randn(48, 4), torch.randint(3, (48,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        hits = 0
        with torch.no_grad():
            for x, y in loader:
                hits += int((model(x).argmax(1) == y).sum())
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()


def bad_joined_and_cut_again() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    expert, pupil = nn.Linear(5, 1), nn.Linear(5, 1)
    signals = torch.randn(48, 5)
    feed = DataLoader(TensorDataset(signals, signals.sum(1, keepdim=True)), batch_size=12, shuffle=True)
    notes = []
    with torch.no_grad():
        for signal, _ in feed:
            notes.append(expert(signal))  # cause: GS774
    hints = torch.cat(notes)
    opt = torch.optim.RMSprop(pupil.parameters(), lr=0.01)
    for _ in range(3):
        for (signal, age), hint in zip(feed, hints.split(12), strict=True):
            guess = pupil(signal)
            loss = (guess - age).square().mean() + (guess - hint).square().mean()  # effect: GS774
            opt.zero_grad()
            loss.backward()
            opt.step()


def good_kept_with_their_samples() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, TensorDataset

    def mixed(data: "Dataset[tuple[torch.Tensor, ...]]") -> "DataLoader[tuple[torch.Tensor, ...]]":
        return DataLoader(data, batch_size=12, shuffle=True)

    torch.manual_seed(0)
    expert, pupil = nn.Linear(5, 1), nn.Linear(5, 1)
    feed = mixed(TensorDataset(torch.randn(48, 5)))
    kept, notes = [], []
    with torch.no_grad():
        for (signal,) in feed:
            kept.append(signal)
            notes.append(expert(signal))
    opt = torch.optim.RMSprop(pupil.parameters(), lr=0.01)
    for _ in range(3):
        for signal, hint in mixed(TensorDataset(torch.cat(kept), torch.cat(notes))):
            opt.zero_grad()
            (pupil(signal) - hint).square().mean().backward()
            opt.step()
        for signal, hint in zip(torch.cat(kept).split(12), torch.cat(notes).split(12), strict=True):
            opt.zero_grad()
            (pupil(signal) - hint).square().mean().backward()
            opt.step()
