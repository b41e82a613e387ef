"""More programs of GS310: each bad one is reported at its marks, each good one by no rule."""


def bad_written() -> None:
    import torch

    with torch.inference_mode():
        average = torch.zeros(3)  # cause: GS310
    average.add_(1.0)  # effect: GS310


def good_clone() -> None:
    import torch
    from torch import nn

    encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
    encoder.eval()
    with torch.inference_mode():
        features = encoder(torch.randn(8, 4))
    head(features.clone()).mean().backward()


def good_only_looked_at() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3).eval()
    with torch.inference_mode():
        shown = model(torch.randn(2, 4))
    assert float(shown.sum()) == float(shown.sum())


def bad_view_of_what_was_kept() -> None:
    import torch
    from torch import nn

    encoder, query = nn.Linear(4, 3), nn.Linear(4, 3)
    with torch.inference_mode():
        bank = encoder(torch.randn(8, 4))  # cause: GS310
    for _ in range(2):
        scores = query(torch.randn(2, 4)) @ bank.t()  # effect: GS310
        nn.functional.cross_entropy(scores, torch.zeros(2, dtype=torch.long)).backward()
