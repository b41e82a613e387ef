"""More programs of GS113: each bad one is reported at its marks, each good one by no rule."""


def bad_normalised_in_two_lines() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.pictures = [torch.rand(1, 4, 4) for _ in range(16)]
            self.labels = [int(p.mean() > 0.5) for p in self.pictures]

        def __len__(self) -> int:
            return len(self.pictures)

        def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
            picture = self.pictures[i]
            picture.sub_(0.5).div_(0.5)  # cause: GS113
            return picture, self.labels[i]

    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Pictures(), batch_size=4, shuffle=True)
    for _ in range(3):
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()


def good_changes_what_it_made() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Noised(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.x = torch.rand(16, 4)

        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: int) -> torch.Tensor:
            x = self.x[i].clone()
            x -= 0.5
            return x.mul_(2)

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Noised(), batch_size=8)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_once_for_each_sample() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Spectra(Dataset):
        def __init__(self) -> None:
            self.rows = torch.rand(16, 4) + 3
            self.ready = [False] * 16

        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i]
            if not self.ready[i]:
                row -= row.mean()
                self.ready[i] = True
            return row

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Spectra(), batch_size=8)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def bad_under_a_setting() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Spectra(Dataset):
        def __init__(self, centred: bool) -> None:
            self.rows, self.centred = torch.rand(16, 4) + 3, centred

        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i]
            if self.centred:
                row -= 0.5 * row.mean()  # cause: GS113
            return row

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Spectra(True), batch_size=8)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def bad_array_in_numpy() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i]
            row -= 0.5  # cause: GS113
            row /= 0.3
            return torch.from_numpy(row)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def bad_array_by_a_tensor_of_it() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            x = torch.from_numpy(self.rows[i])
            return x.sub_(0.5).div_(0.2)  # cause: GS113

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def bad_array_given_as_out() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    def standard(row: np.ndarray, mean: float) -> np.ndarray:  # type: ignore[type-arg]
        return np.subtract(row, mean, out=row)  # cause: GS113

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            return torch.from_numpy(standard(self.rows[i], 0.5))

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_array_that_is_copied() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i].copy()
            row -= 0.5
            row /= 0.3
            return torch.from_numpy(row)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_array_that_is_filled_once() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.zeros((32, 6), dtype=np.float32)
            self.ready = [False] * 32

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i]
            if not self.ready[i]:
                row[:] = np.arange(6) * 0.1 + i
                self.ready[i] = True
            return torch.from_numpy(row)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_array_of_unit_length() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i]
            row /= np.linalg.norm(row)
            np.clip(row, 0, 1, out=row)
            return torch.from_numpy(row)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_array_that_is_drawn_anew() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)
            self.rng = np.random.default_rng(1)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            row = self.rows[i]
            row[:] = self.rng.standard_normal(6) + i / 8
            return torch.from_numpy(row)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_visits_that_are_counted() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)
            self.visits = np.zeros((32, 4))

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            self.visits[i] += 1
            return torch.from_numpy(self.rows[i] * 0.5)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_tensor_of_a_copied_array() -> None:
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = np.random.default_rng(0).random((32, 6)).astype(np.float32)

        def __len__(self) -> int:
            return 32

        def __getitem__(self, i: int) -> torch.Tensor:
            x = torch.from_numpy(self.rows[i].copy())
            return x.sub_(0.5).div_(0.2)

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.001)
    loader = DataLoader(Rows(), batch_size=8, shuffle=True)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()


def good_tensor_of_unit_length() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    class Descriptors(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.x = torch.rand(16, 4)

        def __len__(self) -> int:
            return 16

        def __getitem__(self, i: int) -> torch.Tensor:
            x = self.x[i]
            x /= x.norm()
            return x

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Descriptors(), batch_size=8)
    for _ in range(3):
        for x in loader:
            opt.zero_grad()
            (model(x) - x[:, :1]).pow(2).mean().backward()
            opt.step()
