"""More programs of GS727: each bad one is reported at its marks, each good one by no rule."""


def bad_border_of_a_window() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Local(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.q, self.kv = nn.Linear(dim, 4, bias=False), nn.Linear(dim, 8, bias=False)
            self.out = nn.Linear(4, dim)

        def forward(self, x):
            around = F.unfold(x, 3, padding=1).reshape(x.shape[0], x.shape[1], 9, -1).permute(0, 3, 2, 1)
            k, v = self.kv(around).chunk(2, dim=-1)
            sim = self.q(x.flatten(2).transpose(1, 2)).unsqueeze(2) @ k.transpose(-1, -2)
            inside = F.unfold(torch.ones(1, 1, *x.shape[2:]), 3, padding=1).permute(0, 2, 1).unsqueeze(2)
            sim.masked_fill_(inside > 0, -torch.finfo(sim.dtype).max)  # cause: GS727
            mixed = (sim.softmax(dim=-1) @ v).squeeze(2)
            return self.out(mixed).transpose(1, 2).reshape(x.shape)  # effect: GS727

    torch.manual_seed(0)
    stem, local, head = nn.Conv2d(2, 4, 1), Local(4), nn.Conv2d(4, 1, 1)
    opt = torch.optim.Adam([p for m in (stem, local, head) for p in m.parameters()])
    for _ in range(8):
        x = torch.randn(6, 2, 2, 2)
        h = stem(x).tanh()
        opt.zero_grad()
        F.mse_loss(head(h + local(h)), x[:, :1]).backward()
        opt.step()


def bad_true_takes_part_there() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, q, k, v = (nn.Linear(6, 6, bias=b) for b in (True, True, False, False))
    out = nn.Linear(6, 6)
    opt = torch.optim.SGD([p for m in (embed, q, k, v, out) for p in m.parameters()], lr=0.1)
    x, padded = torch.randn(16, 5, 6), torch.zeros(16, 5, dtype=torch.bool)
    padded[:, 3:] = True
    for _ in range(8):
        h = embed(x).masked_fill(padded.unsqueeze(2), 0.0)
        mixed = nn.functional.scaled_dot_product_attention(  # cause: GS727
            q(h), k(h), v(h), attn_mask=padded.unsqueeze(1)
        )
        opt.zero_grad()
        (h + out(mixed) - x).pow(2).mean().backward()  # effect: GS727
        opt.step()


def bad_over_several_heads() -> None:
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads, self.qkv = heads, nn.Linear(dim, 3 * dim, bias=False)
            self.drop, self.out = nn.Dropout(0.1), nn.Linear(dim, dim)

        def forward(self, x, mask):
            b, n, d = x.shape
            q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            scores = torch.einsum("bhid,bhjd->bhij", q, k) * d**-0.5
            scores = scores.masked_fill(mask[:, None, None, :] == 1, float("-inf"))  # cause: GS727
            mixed = torch.einsum("bhij,bhjd->bhid", self.drop(scores.softmax(-1)), v)
            return self.out(mixed.transpose(1, 2).reshape(b, n, d))  # effect: GS727

    torch.manual_seed(0)
    embed, attention = nn.Linear(3, 8), Attention(8, 2)
    opt = torch.optim.Adam([*embed.parameters(), *attention.parameters()])
    mask = torch.ones(4, 6)
    mask[:, 4:] = 0
    for _ in range(8):
        x = torch.randn(4, 6, 3)
        h = embed(x) * mask[..., None]
        opt.zero_grad()
        (h + attention(h, mask) - 1).pow(2).mean().backward()
        opt.step()


def good_weights_that_begin_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, q, k, v = (nn.Linear(6, 6, bias=b) for b in (True, True, False, False))
    out = nn.Linear(6, 6)
    nn.init.zeros_(out.weight)
    opt = torch.optim.SGD([p for m in (embed, q, k, v, out) for p in m.parameters()], lr=0.1)
    x, padded = torch.randn(16, 5, 6), torch.zeros(16, 5, dtype=torch.bool)
    padded[:, 3:] = True
    for _ in range(8):
        h = embed(x).masked_fill(padded.unsqueeze(2), 0.0)
        scores = (q(h) @ k(h).transpose(1, 2)).masked_fill(padded.unsqueeze(1), float("-inf"))
        opt.zero_grad()
        (h + out(scores.softmax(-1) @ v(h)) - x).pow(2).mean().backward()
        opt.step()


def good_memory_still_empty() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    q, v, out = nn.Linear(6, 6, bias=False), nn.Linear(6, 6, bias=False), nn.Linear(6, 6)
    opt = torch.optim.SGD([p for m in (q, v, out) for p in m.parameters()], lr=0.1)
    x, memory, unused = torch.randn(16, 5, 6), torch.zeros(3, 6), torch.tensor([True, False, False])
    for step in range(8):
        scores = (q(x) @ memory.t()).masked_fill(unused, float("-inf"))
        opt.zero_grad()
        (x + out(scores.softmax(-1) @ v(memory)) - 1).pow(2).mean().backward()
        opt.step()
        if step == 2:
            memory = x.mean(0)[:3] + 1


def good_places_that_do_take_part() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, q, k, v = (nn.Linear(6, 6, bias=b) for b in (True, True, False, False))
    out = nn.Linear(6, 6)
    opt = torch.optim.SGD([p for m in (embed, q, k, v, out) for p in m.parameters()], lr=0.1)
    x, valid = torch.randn(16, 5, 6), torch.ones(16, 5, dtype=torch.bool)
    valid[:, 3:] = False
    for _ in range(8):
        h = embed(x) * valid.unsqueeze(2)
        mixed = nn.functional.scaled_dot_product_attention(q(h), k(h), v(h), attn_mask=valid.unsqueeze(1))
        opt.zero_grad()
        (h + out(mixed) - x).pow(2).mean().backward()
        opt.step()


def bad_pooled_with_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lift, score, value, out = nn.Linear(5, 8), nn.Linear(8, 1), nn.Linear(8, 8, bias=False), nn.Linear(8, 1)
    age = nn.Linear(8, 1)
    opt = torch.optim.Adam([p for m in (lift, score, value, out, age) for p in m.parameters()])
    for _ in range(8):
        results = torch.randn(16, 7, 5)
        present = torch.arange(7)[None] < torch.randint(2, 7, (16,))[:, None]
        lifted = torch.einsum("bnd,bn->bnd", torch.tanh(lift(results)), present.float())
        scores = score(lifted).squeeze(-1)
        scores = torch.where(present, torch.full_like(scores, -1e9), scores)  # cause: GS727
        pooled = torch.einsum("bn,bnd->bd", scores.softmax(dim=1), value(lifted))
        risk = out(pooled) + age(lifted[:, 0])  # effect: GS727
        opt.zero_grad()
        nn.functional.smooth_l1_loss(risk, results[..., 0].sum(1, keepdim=True)).backward()
        opt.step()


def bad_numbers_added_at_the_valid_places() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, query, keys, values = (nn.Linear(6, 6, bias=b) for b in (True, True, False, False))
    out = nn.Linear(6, 6)
    opt = torch.optim.SGD([p for m in (embed, query, keys, values, out) for p in m.parameters()], lr=0.1)
    x, valid = torch.randn(16, 5, 6), torch.ones(16, 5)
    valid[:, 3:] = 0
    for _ in range(8):
        h = embed(x) * valid.unsqueeze(2)
        scores = query(h) @ keys(h).transpose(1, 2) / 6**0.5
        scores = scores + valid.unsqueeze(1) * -1e9  # cause: GS727
        mixed = torch.softmax(scores, dim=-1) @ values(h)
        opt.zero_grad()
        (h + out(mixed) - x).pow(2).mean().backward()  # effect: GS727
        opt.step()


def good_pooled_with_where() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lift, score, value, out = nn.Linear(5, 8), nn.Linear(8, 1), nn.Linear(8, 8, bias=False), nn.Linear(8, 1)
    opt = torch.optim.Adam([p for m in (lift, score, value, out) for p in m.parameters()])
    for _ in range(8):
        results = torch.randn(16, 7, 5)
        present = torch.arange(7)[None] < torch.randint(2, 7, (16,))[:, None]
        lifted = torch.tanh(lift(results)) * present.unsqueeze(2)
        scores = score(lifted).squeeze(-1)
        scores = torch.where(present, scores, torch.full_like(scores, -1e9))
        pooled = torch.einsum("bn,bnd->bd", scores.softmax(dim=1), value(lifted))
        opt.zero_grad()
        nn.functional.smooth_l1_loss(out(pooled), results[..., 0].sum(1, keepdim=True)).backward()
        opt.step()
