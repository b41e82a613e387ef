"""More programs of GS377: each bad one is reported at its marks, each good one by no rule."""


def bad_functions_over_pictures() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 4, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def overlap(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        both = torch.bitwise_and(one, other).sum((1, 2))  # cause: GS377
        return (both / (one + other).sum((1, 2)).clamp(min=1)).mean()  # effect: GS377

    for _ in range(4):
        x, y = torch.randn(4, 1, 8, 8), torch.randint(0, 4, (4, 8, 8))
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(overlap(out.argmax(1), y))


def good_masks_of_integers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x, y = torch.randn(4, 1, 8, 8), torch.randint(0, 2, (4, 1, 8, 8))
        out = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(out, y.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        guess = (out > 0).int()
        print((guess & y).sum() / (guess | y).sum().clamp(min=1))


def good_bits_that_are_looked_at_one_by_one() -> None:
    import torch

    codes, flags = torch.randint(0, 16, (64,)), torch.randint(0, 16, (64,))
    print(((codes & flags) != 0).sum() / 64)
