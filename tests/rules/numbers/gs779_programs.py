"""More programs of GS779: each bad one is reported at its marks, each good one by no rule."""


def bad_split_by_a_product_and_merged_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qkv, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*qkv.parameters(), *head.parameters()], lr=0.1)
    heads = 2
    for _ in range(3):
        q, k, v = qkv(torch.randn(6, 4, 8)).chunk(3, -1)
        n = len(q)
        q, k, v = (t.reshape(n * heads, -1, 4) for t in (q, k, v))  # cause: GS779
        weights = (q @ k.transpose(-1, -2) / 2).softmax(-1)  # effect: GS779
        mixed = (weights @ v).view(n, -1, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed).mean(1), torch.randint(0, 2, (6,))).backward()
        opt.step()


def bad_in_four_dimensions() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    q, k, v, head = (nn.Linear(8, n) for n in (8, 8, 8, 2))
    opt = torch.optim.SGD([p for m in (q, k, v, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(6, 5, 8)
        parts = [m(x).view(6, 2, 5, 4) for m in (q, k, v)]  # cause: GS779
        mixed = nn.functional.scaled_dot_product_attention(*parts)  # effect: GS779
        scores = head(mixed.transpose(1, 2).reshape(6, 5, 8)).mean(1)
        opt.zero_grad()
        nn.functional.cross_entropy(scores, torch.randint(0, 2, (6,))).backward()
        opt.step()


def good_moved_before_the_view() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qkv, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*qkv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x = qkv(torch.randn(6, 5, 8)).view(6, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        q, k, v = x.reshape(3, 12, 5, 4)
        weights = (torch.bmm(q, k.transpose(1, 2)) / 2).softmax(-1)
        mixed = torch.bmm(weights, v).view(6, 2, 5, 4).transpose(1, 2).reshape(6, 5, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed).mean(1), torch.randint(0, 2, (6,))).backward()
        opt.step()


def good_places_before_the_batch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qkv, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*qkv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = qkv(torch.randn(5, 6, 8)).chunk(3, -1)
        q, k, v = (t.reshape(5, 6 * 2, 4).transpose(0, 1) for t in (q, k, v))
        weights = (q @ k.transpose(1, 2) / 2).softmax(-1)
        mixed = (weights @ v).transpose(0, 1).reshape(5, 6, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed).mean(0), torch.randint(0, 2, (6,))).backward()
        opt.step()


def good_attention_within_stretches() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    qkv, head = nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.SGD([*qkv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = (t.reshape(12, 3, 8) for t in qkv(torch.randn(6, 6, 8)).chunk(3, -1))
        weights = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1)
        mixed = (weights @ v).view(6, 6, 8)
        opt.zero_grad()
        nn.functional.cross_entropy(head(mixed).mean(1), torch.randint(0, 2, (6,))).backward()
        opt.step()
