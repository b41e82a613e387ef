"""More programs of GS394: each bad one is reported at its marks, each good one by no rule."""


def bad_columns_by_copies() -> None:  # fix: by hand
    import torch
    from torch import nn

    def reorder(memory: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        for slot in range(memory.shape[1]):
            memory[:, slot].copy_(memory[:, order[slot]])  # cause: GS394
        return memory

    torch.manual_seed(0)
    cell = nn.GRU(3, 6)
    inputs, scores = torch.randn(4, 5, 3), torch.randn(4, 5)
    memory = torch.zeros(1, 5, 6)
    with torch.no_grad():
        for step in range(4):
            memory = cell(inputs[step : step + 1], memory)[1].clone()
            memory = reorder(memory, scores[step].argsort(descending=True))
    print(memory.norm())


def bad_places_from_a_tensor() -> None:
    import torch

    torch.manual_seed(0)
    scores = torch.randn(6, 3)
    order = torch.tensor([2, 0, 1, 5, 3, 4])
    for row in range(6):
        scores[order[row]] = scores[row]  # cause: GS394
    print(scores.argmax(1))


def good_columns_by_copies_from_a_copy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell = nn.GRU(3, 6)
    inputs, scores = torch.randn(4, 5, 3), torch.randn(4, 5)
    memory = torch.zeros(1, 5, 6)
    with torch.no_grad():
        for step in range(4):
            memory = cell(inputs[step : step + 1], memory)[1].clone()
            before, order = memory.clone(), scores[step].argsort(descending=True)
            for slot in range(5):
                memory[:, slot].copy_(before[:, order[slot]])
    print(memory.norm())


def good_columns_moved_up() -> None:
    """A window that goes on: each column takes the next one, the last one is new."""
    import torch

    torch.manual_seed(0)
    window = torch.zeros(2, 5)
    for _ in range(8):
        for place in range(4):
            window[:, place].copy_(window[:, place + 1])
        window[:, 4] = torch.randn(2)
    print(window)


def good_columns_filled_from_the_one_before() -> None:
    import torch

    torch.manual_seed(0)
    seen, series = torch.rand(6) < 0.5, torch.randn(3, 6)
    for place in range(1, 6):
        if not seen[place]:
            series[:, place] = series[:, place - 1]
    print(series)
