"""More programs of GS104: each bad one is reported at its marks, each good one by no rule."""


def bad_in_forward() -> None:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.sigmoid(self.fc(x))
            h += x  # cause: GS104
            return h.sum()

    loss = Residual()(torch.ones(2, 3))
    loss.backward()  # effect: GS104


def good_clone() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.detach().clone().zero_()
    loss.backward()
