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
