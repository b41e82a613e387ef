def good_made_up_rows() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Made(Dataset[Any]):
        """Rows that are made up when they are asked for."""

        def __len__(self) -> int:
            return 40

        def __getitem__(self, i: int) -> Any:
            x = torch.randn(4)
            return x, x.sum(0, keepdim=True)

    def train_and_evaluate(rows: Any) -> None:
        train_set, val_set = random_split(rows, [32, 8])
        model = nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            for x, y in DataLoader(train_set, batch_size=8, shuffle=True):
                opt.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                opt.step()
            with torch.no_grad():
                print(
                    [nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(val_set, batch_size=8)]
                )

    torch.manual_seed(0)
    train_and_evaluate(Made())


def good_the_same_rows() -> None:
    from typing import Any

    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, random_split

    class Rows(Dataset[Any]):
        def __init__(self) -> None:
            self.x: torch.Tensor = torch.randn(40, 4)

        def __len__(self) -> int:
            return 40

        def __getitem__(self, i: int) -> Any:
            return self.x[i], self.x[i].sum(0, keepdim=True)

    def train_and_evaluate(rows: Any) -> None:
        train_set, val_set = random_split(rows, [32, 8])
        model = nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            for x, y in DataLoader(train_set, batch_size=8, shuffle=True):
                opt.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                opt.step()
            with torch.no_grad():
                print(
                    [nn.functional.mse_loss(model(x), y).item() for x, y in DataLoader(val_set, batch_size=8)]
                )

    torch.manual_seed(0)
    train_and_evaluate(Rows())
