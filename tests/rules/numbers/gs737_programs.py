"""More programs of GS737: each bad one is reported at its marks, each good one by no rule."""


def bad_given_in_place_in_a_module() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 3)
            self.register_buffer("mask", torch.triu(torch.ones(10, 10), diagonal=1) > 0)

        def forward(self, x):
            q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4)
            seen = self.mask[: x.shape[1], : x.shape[1]]
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, seen)  # cause: GS737
            return self.out(mixed.transpose(1, 2).flatten(2))

    torch.manual_seed(0)
    net = Attention()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        scores = net(torch.randn(4, 6, 8))
        opt.zero_grad()
        nn.functional.cross_entropy(scores.flatten(0, 1), torch.randint(0, 3, (24,))).backward()
        opt.step()


def good_lower_triangle() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    for _ in range(3):
        x = layer(torch.randn(8, 6, 4))
        out = nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


def good_backwards_in_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    mask = torch.ones(6, 6, dtype=torch.bool).triu()
    for _ in range(3):
        x = layer(torch.randn(8, 6, 4))
        out = nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


def good_the_other_meaning() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    mask = torch.ones(6, 6).triu(1).bool()
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        out, _ = layer(x, x, x, attn_mask=mask, need_weights=False)
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


def bad_written_out_with_where() -> None:
    import torch
    from torch import nn

    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

        def split(self, x: torch.Tensor) -> torch.Tensor:
            return x.unflatten(-1, (2, -1)).transpose(1, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            place = torch.arange(x.shape[1])
            seen = place[None, :] > place[:, None]
            q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
            score = q @ k.mT / q.shape[-1] ** 0.5
            score = torch.where(seen, score, -1e9)  # cause: GS737
            return x + (score.softmax(dim=-1) @ v).transpose(1, 2).flatten(2)

    torch.manual_seed(0)
    note, attend, head = nn.Embedding(12, 8), Causal(), nn.Linear(8, 12)
    opt = torch.optim.SGD([*note.parameters(), *attend.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        notes = (torch.randint(12, (8, 1)) + torch.arange(7)) % 12
        scores = head(attend(note(notes[:, :-1])))
        opt.zero_grad()
        nn.functional.cross_entropy(scores.flatten(0, 1), notes[:, 1:].flatten()).backward()
        opt.step()


def bad_numbers_added_to_the_scores() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 12), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    bias = torch.full((6, 6), -1e4).tril()
    for _ in range(3):
        q, k, v = layer(torch.randn(8, 6, 4)).chunk(3, dim=-1)
        scores = torch.einsum("bid,bjd->bij", q, k) + bias  # cause: GS737
        out = torch.einsum("bij,bjd->bid", torch.softmax(scores, dim=-1), v)
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


def bad_heads_with_the_lower_triangle_filled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 12), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    causal = torch.ones(6, 6).tril() == 1
    for _ in range(3):
        q, k, v = layer(torch.randn(8, 6, 4)).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2)).masked_fill(causal, -1e9)  # cause: GS737
        opt.zero_grad()
        out = head(torch.softmax(scores, dim=-1) @ v)
        nn.functional.cross_entropy(out.flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


def good_pairs_of_a_start_and_a_later_end() -> None:
    """Scores of pairs, not weights of values: an end lies behind its start."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    start, end = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*start.parameters(), *end.parameters()], lr=0.1)
    later = torch.ones(6, 6).triu(1).bool()
    for _ in range(3):
        x = torch.randn(8, 6, 4)
        pairs = torch.where(later, start(x) @ end(x).transpose(1, 2), -1e9)
        opt.zero_grad()
        nn.functional.cross_entropy(pairs.flatten(1), torch.randint(0, 5, (8,)) + 1).backward()
        opt.step()


def good_written_out_with_the_earlier_places() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 12), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    place = torch.arange(6)
    for _ in range(3):
        q, k, v = layer(torch.randn(8, 6, 4)).chunk(3, dim=-1)
        scores = torch.where(place[None] <= place[:, None], q @ k.transpose(1, 2), -1e9)
        opt.zero_grad()
        out = head(torch.softmax(scores, dim=-1) @ v)
        nn.functional.cross_entropy(out.flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()
