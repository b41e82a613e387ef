"""More programs of GS352: each bad one is reported at its marks, each good one by no rule."""


def bad_flattened() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    segmenter = nn.Conv2d(1, 4, 3, padding=1)
    opt = torch.optim.Adam(segmenter.parameters(), lr=0.01)
    for _ in range(3):
        image = torch.randn(4, 1, 8, 8)
        labels = (image[:, 0] > 1.6).long() + (image[:, 0] > 2.2).long()
        wanted = nn.functional.one_hot(labels, 4).permute(0, 3, 1, 2).float()
        given = segmenter(image).sigmoid()
        n = len(image)
        given, wanted = given.reshape(n, -1), wanted.reshape(n, -1)
        shared = (given * wanted).sum(1)  # effect: GS352
        union = given.sum(1) + wanted.sum(1)
        loss = 1 - ((2 * shared + 1) / (union + 1)).mean()  # cause: GS352
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_without_background() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    segmenter = nn.Conv2d(1, 4, 3, padding=1)
    opt = torch.optim.Adam(segmenter.parameters(), lr=0.01)
    for _ in range(3):
        image = torch.randn(4, 1, 8, 8)
        labels = (image[:, 0] > 1.6).long() + (image[:, 0] > 2.2).long()
        wanted = nn.functional.one_hot(labels, 4).permute(0, 3, 1, 2).float()[:, 1:]
        given = segmenter(image).sigmoid()[:, 1:]
        loss = 1 - (2 * (given * wanted).sum() + 1) / (given.sum() + wanted.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_are_spread() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    segmenter = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.Adam(segmenter.parameters(), lr=0.01)
    for _ in range(3):
        image = torch.randn(4, 1, 8, 8)
        labels = (image[:, 0] > 0.4).long() + (image[:, 0] > -0.4).long()
        wanted = nn.functional.one_hot(labels, 3).permute(0, 3, 1, 2).float()
        given = segmenter(image).softmax(1)
        loss = 1 - (2 * (given * wanted).sum() + 1) / (given.sum() + wanted.sum() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()
