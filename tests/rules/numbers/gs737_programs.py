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
