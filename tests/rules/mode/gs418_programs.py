"""More programs of GS418: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_block_about_the_held_out_ones() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, TensorDataset

    class Batches(DataLoader):
        def __init__(self, samples: Dataset) -> None:
            super().__init__(samples, batch_size=8)

    def fit(model: nn.Module, samples: Dataset, held: Dataset | None) -> None:
        batches = Batches(samples)
        rest = None
        if held is not None:
            rest = Batches(held)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            for x, y in batches:
                opt.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                opt.step()
            if rest is not None:  # effect: GS418
                total = 0.0
                with torch.no_grad():
                    for x, y in batches:  # cause: GS418
                        total += nn.functional.mse_loss(model(x), y).item()
                print(total / len(rest.dataset))

    torch.manual_seed(0)
    fit(
        nn.Linear(4, 1),
        TensorDataset(torch.randn(32, 4), torch.randn(32, 1)),
        TensorDataset(torch.randn(16, 4), torch.randn(16, 1)),
    )


def good_error_of_the_training_beside_a_loader_for_later() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    batches = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    held = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(2):
        for x, y in batches:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        if turn == 1:
            with torch.no_grad():
                print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in batches))
    if turn > 8:
        print(len(held))


def good_block_goes_through_the_held_out_ones() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    batches = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    held = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in batches:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        if held is not None:
            with torch.no_grad():
                for x, y in batches:
                    print(nn.functional.mse_loss(model(x), y).item())
                for x, y in held:
                    print(nn.functional.mse_loss(model(x), y).item())


def bad_held_out_ones_that_nothing_mentions_again() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def fit(model: nn.Module) -> None:
        batches = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
        rest = TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
        held = DataLoader(rest, batch_size=8)  # effect: GS418
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model.train()
            for x, y in batches:
                opt.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                total = 0.0
                for _, (x, y) in enumerate(batches):  # cause: GS418
                    total += nn.functional.mse_loss(model(x), y).item()
            print(total)

    torch.manual_seed(0)
    fit(nn.Linear(4, 1))


def good_error_of_the_training_beside_a_loader_that_is_given_on() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def fit(model: nn.Module) -> DataLoader:
        batches = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
        held = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            for x, y in batches:
                opt.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                opt.step()
            with torch.no_grad():
                for x, y in batches:
                    print(nn.functional.mse_loss(model(x), y).item())
        return held

    torch.manual_seed(0)
    fit(nn.Linear(4, 1))


def good_error_of_the_training_beside_another_evaluation() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    batches = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
    held = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
    spare = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in batches:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in batches:
                print(nn.functional.mse_loss(model(x), y).item())
            for x, y in held:
                print(nn.functional.mse_loss(model(x), y).item())


def bad_loaders_of_a_record() -> None:
    from typing import NamedTuple

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Data(NamedTuple):
        learn: DataLoader
        exam: DataLoader

    class Experiment:
        def __init__(self, data: Data) -> None:
            self.data, self.net = data, nn.Linear(4, 3)
            self.opt = torch.optim.Adam(self.net.parameters(), lr=0.01)

        def learn(self) -> None:
            for x, y in self.data.learn:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.net(x), y).backward()
                self.opt.step()

        @torch.no_grad()
        def score(self) -> float:
            right = torch.zeros(())
            for x, y in self.data.learn:  # cause: GS418
                right += (self.net(x).argmax(1) == y).sum()
            return right.item() / len(self.data.exam.dataset)  # effect: GS418

    torch.manual_seed(0)
    x = torch.randn(48, 4)
    y = x[:, :3].argmax(1)
    run = Experiment(
        Data(
            DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8),
            DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8),
        )
    )
    for _ in range(2):
        run.learn()
        print(run.score())


def good_score_of_the_training_beside_another_loader() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Experiment:
        def __init__(self, learn: DataLoader, check: DataLoader) -> None:
            self.learn, self.check, self.net = learn, check, nn.Linear(4, 3)
            self.opt = torch.optim.Adam(self.net.parameters(), lr=0.01)

        def fit(self) -> None:
            for x, y in self.learn:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.net(x), y).backward()
                self.opt.step()

        @torch.no_grad()
        def score(self, batches: DataLoader) -> float:
            right = torch.zeros(())
            for x, y in batches:
                right += (self.net(x).argmax(1) == y).sum()
            print("of", len(self.check.dataset))
            return right.item() / len(batches.dataset)

    torch.manual_seed(0)
    x = torch.randn(48, 4)
    y = x[:, :3].argmax(1)
    run = Experiment(
        DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8),
        DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8),
    )
    late = False
    for _ in range(2):
        run.fit()
        print(run.score(run.check if late else run.learn))


def bad_loaders_kept_under_their_own_names() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Experiment:
        def __init__(self, learn: DataLoader, kept_back: DataLoader) -> None:
            self.learn, self.kept_back, self.net = learn, kept_back, nn.Linear(4, 3)
            self.opt = torch.optim.Adam(self.net.parameters(), lr=0.01)

        def fit(self) -> None:
            for x, y in self.learn:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.net(x), y).backward()
                self.opt.step()

        @torch.no_grad()
        def score(self) -> float:
            right = torch.zeros(())
            for x, y in self.learn:  # cause: GS418
                right += (self.net(x).argmax(1) == y).sum()
            return right.item() / len(self.kept_back.dataset)  # effect: GS418

    torch.manual_seed(0)
    x = torch.randn(48, 4)
    y = x[:, :3].argmax(1)
    learn = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8)
    kept_back = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8)
    run = Experiment(learn, kept_back)
    for _ in range(2):
        run.fit()
        print(run.score())
