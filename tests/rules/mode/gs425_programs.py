def good_the_trainings_score() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def rows(seed: int) -> Any:
        x = torch.randn(32, 4, generator=torch.Generator().manual_seed(seed))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def train_and_evaluate(trained: Any, evaluated: list[Any]) -> None:
        model = nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(trained, batch_size=8, shuffle=True):
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for dataset in evaluated:
                print(
                    [nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(dataset, batch_size=8)]
                )

    torch.manual_seed(0)
    data = rows(0)
    train_and_evaluate(data, [data])


def good_both_scores() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def rows(seed: int) -> Any:
        x = torch.randn(32, 4, generator=torch.Generator().manual_seed(seed))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def train_and_evaluate(trained: Any, evaluated: list[Any]) -> None:
        model = nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(trained, batch_size=8, shuffle=True):
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for dataset in evaluated:
                print(
                    [nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(dataset, batch_size=8)]
                )

    torch.manual_seed(0)
    train_and_evaluate(rows(0), [rows(0), rows(1)])


def bad_phases_of_one_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Turbines(Dataset):
        def __init__(self, table: torch.Tensor) -> None:
            self.table = table

        def __len__(self) -> int:
            return len(self.table)

        def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
            return self.table[i], self.table[i].abs().max()

    torch.manual_seed(0)
    tables = {"fit": torch.randn(48, 6), "dev": torch.randn(24, 6)}
    batches = {
        name: DataLoader(Turbines(tables["fit"]), batch_size=12, shuffle=name == "fit")  # cause: GS425
        for name in tables
    }
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        for phase in tables:
            total = 0.0
            for row, peak in batches[phase]:  # effect: GS425
                with torch.set_grad_enabled(phase == "fit"):
                    loss = nn.functional.mse_loss(net(row), peak)
                if phase == "fit":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                total += loss.item()
            print(phase, total / len(batches[phase]))


def good_phases_of_one_loop() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    tables = {"fit": torch.randn(48, 6), "dev": torch.randn(24, 6)}
    batches = {name: DataLoader(TensorDataset(table), batch_size=12) for name, table in tables.items()}
    again = DataLoader(TensorDataset(tables["fit"]), batch_size=24)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        for phase in tables:
            total = 0.0
            for (row,) in batches[phase]:
                with torch.set_grad_enabled(phase == "fit"):
                    loss = nn.functional.mse_loss(net(row), row.abs().amax(1))
                if phase == "fit":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                total += loss.item()
            print(phase, total / len(batches[phase]))
        with torch.no_grad():
            print(sum(nn.functional.mse_loss(net(row), row.abs().amax(1)).item() for (row,) in again))


def good_same_rows_trained_on_in_two_ways() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(32, 4)
    small = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
    large = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for loader in (small, large):
        for a, b in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()


def good_features_of_the_training_samples() -> None:
    """An encoder that was trained embeds the same samples for what comes on top of it: nothing is judged."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    samples = torch.randn(32, 4)
    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(2):
        for (x,) in DataLoader(TensorDataset(samples), batch_size=8, shuffle=True):
            opt.zero_grad()
            nn.functional.mse_loss(decoder(encoder(x)), x).backward()
            opt.step()

    def encode() -> list[torch.Tensor]:
        encoder.eval()
        found = []
        with torch.no_grad():
            for (x,) in DataLoader(TensorDataset(samples), batch_size=8):
                found.append(encoder(x))
        return found

    print(sum(len(part.numpy()) for part in encode()))


def bad_split_that_the_class_does_not_use() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Nights(Dataset):
        def __init__(self, split: str) -> None:
            g = torch.Generator().manual_seed(11)
            self.signal = torch.randn(60, 8, generator=g)
            self.stage = (self.signal.sum(1) > 0).long()
            self.items = list(range(48))
            self.split = split

        def __len__(self) -> int:
            return len(self.items)

        def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
            return {"eeg": self.signal[self.items[at]], "stage": self.stage[self.items[at]]}

    torch.manual_seed(0)
    fit = DataLoader(Nights("train"), batch_size=8, shuffle=True)
    held = DataLoader(Nights("val"), batch_size=16)  # cause: GS425
    net = nn.Linear(8, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        for batch in fit:
            opt.zero_grad()
            nn.functional.cross_entropy(net(batch["eeg"]), batch["stage"]).backward()
            opt.step()
        with torch.no_grad():
            for batch in held:  # effect: GS425
                print((net(batch["eeg"]).argmax(1) == batch["stage"]).sum().item())


def good_split_that_counts_where_samples_are_taken() -> None:
    """All is held by both, and the flag says which part of it is given; then one that gives all, more than was trained
    on."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Nights(Dataset):
        def __init__(self, split: str) -> None:
            g = torch.Generator().manual_seed(11)
            self.signal = torch.randn(60, 8, generator=g)
            self.split = split

        def __len__(self) -> int:
            return {"train": 40, "val": 20}.get(self.split, 60)

        def __getitem__(self, at: int) -> tuple[torch.Tensor, torch.Tensor]:
            row = self.signal[at + 40 if self.split == "val" else at]
            return row, (row.sum() > 0).long()

    torch.manual_seed(0)
    for split in ("val", "all"):
        fit, held = DataLoader(Nights("train"), batch_size=8), DataLoader(Nights(split), batch_size=20)
        net = nn.Linear(8, 2)
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        for x, y in fit:
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in held:
                print((net(x).argmax(1) == y).sum().item())


def good_answers_of_a_teacher() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def rows() -> TensorDataset:
        x = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
        return TensorDataset(x, x[:, :3].argmax(1))

    @torch.no_grad()
    def answers(model: nn.Module, data: TensorDataset) -> torch.Tensor:
        return torch.cat([model(x) for x, _ in DataLoader(data, batch_size=8)])

    @torch.no_grad()
    def accuracy(model: nn.Module, x: torch.Tensor) -> float:
        return (model(x).argmax(1) == x[:, :3].argmax(1)).float().mean().item()

    torch.manual_seed(0)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for x, y in DataLoader(rows(), batch_size=8, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(teacher(x), y).backward()
        opt.step()
    data = rows()
    kept = answers(teacher, data)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for begin in range(0, 32, 8):
        soft = kept[begin : begin + 8].softmax(1)
        loss = nn.functional.cross_entropy(student(data.tensors[0][begin : begin + 8]), soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(accuracy(student, torch.randn(16, 4)))
