"""More programs of GS243: each bad one is reported at its marks, each good one by no rule."""


def bad_break() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        for x in torch.randn(4, 8, 3):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()  # effect: GS243
            break  # cause: GS243


def good_under_a_condition() -> None:
    import torch
    from torch import nn

    def epoch(model: nn.Module, opt: torch.optim.Optimizer, batches: list[torch.Tensor], most: int) -> int:
        for i, x in enumerate(batches):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
            if i + 1 >= most:
                return i
        return len(batches)

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        epoch(model, opt, list(torch.randn(4, 8, 3)), 1)


def good_method_that_makes_one_step() -> None:
    import torch
    from torch import nn

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.Linear(3, 1)
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def step(self, x: torch.Tensor) -> float:
            self.opt.zero_grad()
            loss = self.model(x).pow(2).mean()
            loss.backward()
            self.opt.step()
            return loss.item()

    trainer = Trainer()
    for x in torch.randn(4, 8, 3):
        trainer.step(x)
