"""More programs of GS717: each bad one is reported at its marks, each good one by no rule."""


def bad_a_product_by_the_number_of_the_others() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    speech = nn.GRU(3, 4, batch_first=True)
    to_mel = nn.Linear(4, 1)
    adam = torch.optim.Adam([*speech.parameters(), *to_mel.parameters()], lr=0.1)
    for _ in range(3):
        heard = (torch.arange(12) < torch.randint(2, 11, (8, 1))).float()
        off = (to_mel(speech(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).abs()
        total = (off * heard).sum()  # effect: GS717
        missed = (1 - heard).sum()  # cause: GS717
        cost = total / missed
        adam.zero_grad()
        cost.backward()
        adam.step()


def good_negatives_by_the_number_of_positives() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    detector = nn.Linear(6, 8)
    adam = torch.optim.Adam(detector.parameters(), lr=0.1)
    for _ in range(3):
        hit = (torch.rand(16, 8) < 0.3).float()
        each = nn.functional.binary_cross_entropy_with_logits(
            detector(torch.randn(16, 6)), hit, reduction="none"
        )
        positives, negatives = (each * hit).sum() / hit.sum(), (each * (1 - hit)).sum() / hit.sum()
        adam.zero_grad()
        (positives + 0.5 * negatives).backward()
        adam.step()


def good_a_product_by_its_own_number() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    speech = nn.GRU(3, 4, batch_first=True)
    to_mel = nn.Linear(4, 1)
    adam = torch.optim.Adam([*speech.parameters(), *to_mel.parameters()], lr=0.1)
    for _ in range(3):
        silent = torch.arange(12) >= torch.randint(2, 11, (8, 1))
        heard = (~silent).float()
        off = (to_mel(speech(torch.randn(8, 12, 3))[0]).squeeze(-1) - torch.randn(8, 12)).abs()
        cost = off.masked_fill(silent, 0.0).sum() / heard.sum()
        adam.zero_grad()
        cost.backward()
        adam.step()


def bad_chosen_by_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        x, seen = torch.randn(16, 6), torch.rand(16, 6) < 0.7
        error = (model(x * seen) - x) ** 2
        error = torch.where(seen, error, torch.zeros_like(error))  # effect: GS717
        loss = error.sum() / seen.logical_not().sum()  # cause: GS717
        opt.zero_grad()
        loss.backward()
        opt.step()
