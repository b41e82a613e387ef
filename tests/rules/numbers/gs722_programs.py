"""More programs of GS722: each bad one is reported at its marks, each good one by no rule."""


def bad_probabilities_of_a_class() -> None:
    import torch
    from torch import nn

    class Objective:
        def __init__(self) -> None:
            self.loss = nn.BCELoss()

        def __call__(self, predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return self.loss(target, predicted)  # cause: GS722

    torch.manual_seed(0)
    model, objective = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid()), Objective()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, wanted = torch.randn(8, 3), torch.randint(0, 2, (8, 4)).float()
        opt.zero_grad()
        objective(model(x), wanted).backward()  # effect: GS722
        opt.step()


def good_a_teacher_that_learns_beside() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, other = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        opt.zero_grad()
        a, b = one(x), other(x)
        loss = nn.functional.binary_cross_entropy_with_logits(a, b.sigmoid())
        loss = loss + nn.functional.binary_cross_entropy_with_logits(b, a.sigmoid())
        loss.backward()
        opt.step()


def good_a_frozen_judge_of_what_is_made() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    judge, made = nn.Linear(3, 1).requires_grad_(False), nn.Linear(2, 3)
    opt = torch.optim.SGD(made.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        told = judge(made(torch.randn(8, 2)))
        nn.functional.binary_cross_entropy_with_logits(told, torch.ones(8, 1)).backward()
        opt.step()
