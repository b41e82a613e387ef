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


def bad_sums_kept_as_numbers() -> None:
    import torch
    from torch import nn

    class Meter:
        top, bottom = 0.0, 0.0

        def update(self, found: torch.Tensor, wanted: torch.Tensor) -> None:
            overlap = torch.bitwise_and(found, wanted)  # cause: GS377
            self.top += 2 * overlap.sum().item()  # effect: GS377
            self.bottom += found.sum().item() + wanted.sum().item()

    torch.manual_seed(0)
    net = nn.Conv2d(3, 5, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    meter = Meter()
    for _ in range(4):
        picture = torch.randn(4, 3, 8, 8)
        cover = (picture.mean(1) * 2).round().long().clamp(-2, 2) + 2
        opt.zero_grad()
        nn.functional.cross_entropy(net(picture), cover).backward()
        opt.step()
        with torch.inference_mode():
            meter.update(net(picture).argmax(dim=1), cover)
    print(meter.top / meter.bottom)


def good_bits_of_one_hot_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Conv2d(3, 5, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    top = bottom = 0.0
    for _ in range(4):
        picture = torch.randn(4, 3, 8, 8)
        cover = (picture.mean(1) * 2).round().long().clamp(-2, 2) + 2
        opt.zero_grad()
        nn.functional.cross_entropy(net(picture), cover).backward()
        opt.step()
        with torch.inference_mode():
            found = nn.functional.one_hot(net(picture).argmax(1), 5)
            wanted = nn.functional.one_hot(cover, 5)
            top += 2 * torch.bitwise_and(found, wanted).sum().item()
            bottom += found.sum().item() + wanted.sum().item()
    print(top / bottom)


def good_bits_of_flags_are_counted() -> None:
    """Numbers whose bits are flags of their own, as sets are kept: how many have some in common."""
    import torch

    torch.manual_seed(0)
    scores = torch.rand(64, 4)
    found = ((scores > 0.5).long() << torch.arange(4)).sum(1)
    wanted = torch.randint(0, 16, (64,))
    print(torch.count_nonzero(found & wanted).item() / 64)
