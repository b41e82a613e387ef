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


def bad_jaccard_of_a_dot_product() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(9)
    net = nn.Conv1d(1, 4, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        signal = torch.randn(8, 1, 60)
        labels = (signal[:, 0] > 2).long() + 2 * (signal[:, 0] < -2).long()
        chance = net(signal).softmax(1)
        target = torch.eye(4)[labels].transpose(1, 2)
        chance, target = chance.flatten(), target.flatten()
        shared = torch.dot(chance, target)  # effect: GS352
        union = chance.sum() + target.sum() - shared
        loss = 1 - shared / (union + 1e-6)  # cause: GS352
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_jaccard_of_each_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(9)
    net = nn.Conv1d(1, 4, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        signal = torch.randn(8, 1, 60)
        labels = (signal[:, 0] > 2).long() + 2 * (signal[:, 0] < -2).long()
        chance = net(signal).softmax(1)
        target = torch.eye(4)[labels].transpose(1, 2)
        shared = torch.einsum("bcl,bcl->c", chance, target)
        union = chance.sum((0, 2)) + target.sum((0, 2)) - shared
        loss = 1 - (shared / (union + 1e-6)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mean_chance_of_the_right_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(9)
    net = nn.Conv1d(1, 4, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(4):
        signal = torch.randn(8, 1, 60)
        labels = (signal[:, 0] > 2).long() + 2 * (signal[:, 0] < -2).long()
        chance = net(signal).softmax(1)
        target = torch.eye(4)[labels].transpose(1, 2)
        shared = torch.dot(chance.flatten(), target.flatten())
        loss = 1 - shared / target.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_tversky_of_scattered_labels() -> None:  # fix: by hand
    import torch
    from torch import nn

    def tversky(logits: torch.Tensor, rock: torch.Tensor) -> torch.Tensor:
        prob = torch.softmax(logits, dim=1)
        truth = torch.zeros_like(prob).scatter_(1, rock.unsqueeze(1), 1.0)
        hit = torch.einsum("bcl,bcl->", prob, truth)  # effect: GS352
        false_alarm = torch.einsum("bcl,bcl->", prob, 1 - truth)
        missed = torch.einsum("bcl,bcl->", 1 - prob, truth)
        return 1 - (hit + 1) / (hit + 0.5 * false_alarm + 0.5 * missed + 1)  # cause: GS352

    torch.manual_seed(41)
    net = nn.Conv1d(1, 4, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for turn in range(4):
        rock = torch.zeros(16, 48, dtype=torch.long)
        rock[:, 7 * turn : 7 * turn + 2] = torch.randint(1, 4, (16, 1))
        loss = tversky(net(rock[:, None].float() + 0.4 * torch.randn(16, 1, 48)), rock)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_tversky_of_each_rock() -> None:
    import torch
    from torch import nn

    def tversky(logits: torch.Tensor, rock: torch.Tensor) -> torch.Tensor:
        prob = torch.softmax(logits, dim=1)
        truth = torch.zeros_like(prob).scatter_(1, rock.unsqueeze(1), 1.0)
        hit = torch.einsum("bcl,bcl->c", prob, truth)
        false_alarm = torch.einsum("bcl,bcl->c", prob, 1 - truth)
        missed = torch.einsum("bcl,bcl->c", 1 - prob, truth)
        return 1 - ((hit + 1) / (hit + 0.5 * false_alarm + 0.5 * missed + 1)).mean()

    torch.manual_seed(41)
    net = nn.Conv1d(1, 4, 5, padding=2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for turn in range(4):
        rock = torch.zeros(16, 48, dtype=torch.long)
        rock[:, 7 * turn : 7 * turn + 2] = torch.randint(1, 4, (16, 1))
        loss = tversky(net(rock[:, None].float() + 0.4 * torch.randn(16, 1, 48)), rock)
        opt.zero_grad()
        loss.backward()
        opt.step()
