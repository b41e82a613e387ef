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


def bad_teacher_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(8, 40), nn.Tanh(), nn.Linear(40, 5)).requires_grad_(False)
    pupil = nn.Linear(8, 5)
    opt = torch.optim.SGD(pupil.parameters(), lr=0.05)
    for _ in range(4):
        x = torch.randn(32, 8)
        with torch.no_grad():
            wanted = (teacher(x) / 2).softmax(-1)
        said = (pupil(x) / 2).log_softmax(-1)
        loss = nn.functional.kl_div(wanted, said, reduction="batchmean")  # cause: GS722
        opt.zero_grad()
        loss.backward()  # effect: GS722
        opt.step()


def bad_shares_of_classes_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        x = torch.randn(32, 8)
        wanted = nn.functional.one_hot(x[:, :5].argmax(1), 5).float()
        loss = nn.functional.cross_entropy(wanted, model(x))  # cause: GS722
        opt.zero_grad()
        loss.backward()  # effect: GS722
        opt.step()


def good_divergences_both_ways() -> None:
    """From a teacher to its pupil, and the other way round: logarithms come first, of whom they are."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(8, 40), nn.Tanh(), nn.Linear(40, 5)).requires_grad_(False)
    pupil = nn.Linear(8, 5)
    opt = torch.optim.SGD(pupil.parameters(), lr=0.05)
    for step in range(6):
        x = torch.randn(32, 8)
        with torch.no_grad():
            wanted = teacher(x).log_softmax(-1)
        scores = pupil(x)
        if step % 3 == 0:
            loss = nn.functional.kl_div(scores.log_softmax(-1), wanted.exp(), reduction="batchmean")
        elif step % 3 == 1:
            loss = nn.functional.kl_div(wanted, scores.softmax(-1), reduction="batchmean")
        else:
            said = scores.log_softmax(-1)
            loss = nn.functional.kl_div(wanted, said, reduction="batchmean", log_target=True)
        opt.zero_grad()
        loss.backward()
        opt.step()
