"""More programs of GS804: each bad one is reported at its marks, each good one by no rule."""


def bad_generator_in_the_data_set() -> None:  # fix: by hand
    import random

    import torch
    from torch.utils.data import DataLoader, Dataset

    class Noisy(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.rng = random.Random(0)

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.tensor([index + self.rng.random()])  # effect: GS804

    loader = DataLoader(Noisy(), batch_size=2, num_workers=2)  # cause: GS804
    for _ in loader:
        pass


def bad_generator_of_torch() -> None:  # fix: by hand
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Jitter:
        def __init__(self) -> None:
            self.source = torch.Generator().manual_seed(0)

        def __call__(self, x: float) -> torch.Tensor:
            return x + torch.randn(1, generator=self.source)  # effect: GS804

    class Data(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.jitter = Jitter()

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return self.jitter(float(index))

    for _ in DataLoader(Data(), batch_size=2, num_workers=2):  # cause: GS804
        pass


def good_generator_made_in_the_worker() -> None:
    import random
    from typing import cast

    import torch
    from torch.utils.data import DataLoader, Dataset, get_worker_info

    class Noisy(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.rng = random.Random(0)

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.tensor([index + self.rng.random()])

    def seed(worker: int) -> None:
        info = get_worker_info()
        assert info is not None
        data = cast(Noisy, info.dataset)
        data.rng = random.Random(info.seed)

    for _ in DataLoader(Noisy(), 2, num_workers=2, worker_init_fn=seed):
        pass


def good_generator_not_drawn_from() -> None:
    import random

    import torch
    from torch.utils.data import DataLoader, Dataset

    class Ordered(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.order = list(range(8))
            self.rng = random.Random(0)
            self.rng.shuffle(self.order)

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.tensor([self.order[index]])

    for _ in DataLoader(Ordered(), batch_size=2, num_workers=2):
        pass


def good_seeded_anew_for_each_sample() -> None:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Jittered(Dataset[torch.Tensor]):
        def __init__(self) -> None:
            self.source = torch.Generator()

        def __len__(self) -> int:
            return 16

        def __getitem__(self, index: int) -> torch.Tensor:
            self.source.manual_seed(index)
            return torch.randn(3, generator=self.source)

    for _ in DataLoader(Jittered(), batch_size=2, num_workers=2):
        pass


def bad_seeded_by_its_number_in_each_epoch() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Shaken(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 16

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.full((3,), float(index)) + torch.from_numpy(np.random.randn(3)).float()

    def begin(worker: int) -> None:
        np.random.seed(worker)  # effect: GS804

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = DataLoader(Shaken(), batch_size=4, num_workers=2, worker_init_fn=begin)  # cause: GS804
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()


def good_the_same_noise_in_each_evaluation() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Shaken(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 16

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.full((3,), float(index)) + torch.from_numpy(np.random.randn(3)).float()

    def begin(worker: int) -> None:
        np.random.seed(worker)

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    train = DataLoader(Shaken(), batch_size=4, num_workers=2)
    held = DataLoader(Shaken(), batch_size=8, num_workers=2, worker_init_fn=begin)
    for _ in range(3):
        for x in train:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(sum(model(x).pow(2).mean().item() for x in held))
        model.train()
