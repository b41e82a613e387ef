def bad_by_hand() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, query, head = nn.Embedding(10, 8, padding_idx=0), nn.Linear(8, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*embed.parameters(), *query.parameters(), *head.parameters()], lr=0.1)
    tokens = torch.randint(1, 10, (16, 6))
    tokens[::2, 4:] = 0
    for _ in range(3):
        padding = tokens == 0
        x = embed(tokens)
        scores = query(x) @ x.transpose(1, 2) / math.sqrt(8)
        weights = scores.masked_fill(padding.unsqueeze(1), -1e9).softmax(-1)  # effect: GS464
        y = weights @ x
        pooled = (y * padding.unsqueeze(-1)).sum(1)  # cause: GS464
        loss = nn.functional.cross_entropy(head(pooled), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_an_entry_of_its_own_for_padding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(10, 8), nn.Linear(8, 2)
    nothing = nn.Parameter(torch.randn(8))
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    own = [*embed.parameters(), *head.parameters(), *attention.parameters(), nothing]
    opt = torch.optim.SGD(own, lr=0.1)
    tokens = torch.randint(1, 10, (16, 6))
    tokens[::2, 4:] = 0
    for _ in range(3):
        padding = tokens == 0
        x = embed(tokens) * (~padding).unsqueeze(-1) + nothing * padding.unsqueeze(-1)
        y, _ = attention(x, x, x, key_padding_mask=padding)
        loss = nn.functional.cross_entropy(head(y.mean(1)), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_of_two_for_each_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, other, head = nn.Embedding(10, 8), nn.Linear(8, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    own = [*embed.parameters(), *head.parameters(), *attention.parameters(), *other.parameters()]
    opt = torch.optim.SGD(own, lr=0.1)
    tokens = torch.randint(1, 10, (16, 6))
    tokens[::2, 4:] = 0
    for _ in range(3):
        padding = tokens == 0
        first = embed(tokens)
        x = first * ~padding.unsqueeze(-1) + other(first) * padding.unsqueeze(-1)
        y, _ = attention(x, x, x, key_padding_mask=padding)
        loss = nn.functional.cross_entropy(head(y[:, 0]), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_part_taken_away() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, head = nn.Embedding(10, 8, padding_idx=0), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.SGD([*embed.parameters(), *head.parameters(), *attention.parameters()], lr=0.1)
    tokens = torch.randint(1, 10, (16, 6))
    tokens[::2, 4:] = 0
    for _ in range(3):
        padding = tokens == 0
        x = embed(tokens)
        y, _ = attention(x, x, x, key_padding_mask=padding)
        y = y - y * padding.unsqueeze(-1)
        loss = nn.functional.cross_entropy(head(y.sum(1)), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
