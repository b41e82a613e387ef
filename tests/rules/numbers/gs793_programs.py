"""More programs of GS793: each bad one is reported at its marks, each good one by no rule."""


def bad_true_everywhere() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, score, head = nn.Embedding(9, 6), nn.Linear(6, 1), nn.Linear(6, 2)
    opt = torch.optim.Adam([*embed.parameters(), *score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 5)) * (torch.arange(5) < torch.randint(1, 5, (8, 1)))
        padded = tokens >= 0
        x = embed(tokens)
        scores = score(x).squeeze(-1).masked_fill(padded, -1e9)  # cause: GS793
        pooled = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)  # effect: GS793
        loss = nn.functional.cross_entropy(head(pooled), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_of_the_attention() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, query, keys, head = nn.Embedding(9, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 2)
    opt = torch.optim.Adam([p for m in (embed, query, keys, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 5)) * (torch.arange(5) < torch.randint(1, 5, (8, 1)))
        mask = (1 - (tokens < 0).float()[:, None]) * -10000.0
        x = embed(tokens)
        mixed = nn.functional.scaled_dot_product_attention(  # cause: GS793  # effect: GS793
            query(x), keys(x), x, attn_mask=mask
        )
        loss = nn.functional.cross_entropy(head(mixed.mean(1)), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_all_padding_in_one_sentence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, score, head = nn.Embedding(9, 6), nn.Linear(6, 1), nn.Linear(6, 2)
    opt = torch.optim.Adam([*embed.parameters(), *score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 5)) * (torch.arange(5) < torch.randint(1, 5, (8, 1)))
        tokens[0] = 0
        x = embed(tokens)
        scores = score(x).squeeze(-1) + (tokens == 0).float() * -10000.0
        pooled = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)
        loss = nn.functional.cross_entropy(head(pooled), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_nothing_to_mask() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, score, head = nn.Embedding(9, 6), nn.Linear(6, 1), nn.Linear(6, 2)
    opt = torch.optim.Adam([*embed.parameters(), *score.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 5))
        x = embed(tokens)
        scores = score(x).squeeze(-1) + (1 - torch.ones_like(tokens)) * -10000.0
        pooled = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)
        loss = nn.functional.cross_entropy(head(pooled), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_memory_empty_at_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, keys, head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(12, 2)
    opt = torch.optim.Adam([p for m in (query, keys, head) for p in m.parameters()], lr=0.01)
    slots, filled = torch.zeros(5, 6), torch.zeros(5)
    for step in range(6):
        x = torch.randn(8, 6)
        scores = query(x) @ keys(slots).t() + (1 - filled) * -10000.0
        read = torch.softmax(scores, dim=1) @ slots
        loss = nn.functional.cross_entropy(head(torch.cat([x, read], 1)), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        slots[step % 5], filled[step % 5] = x.mean(0), 1


def good_large_numbers_without_a_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    ground = torch.full((3,), -2000.0)
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(x) + ground, x[:, :3] - 2000)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_where_nothing_is_kept() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Route(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Parameter(torch.randn(2, 8))
            self.key, self.value, self.head = nn.Linear(3, 8), nn.Linear(3, 8), nn.Linear(16, 1)

        def forward(self, stops: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
            match = torch.einsum("hd,bsd->bhs", self.query, self.key(stops)) / 8**0.5
            match = torch.where(present[:, None, :], match, torch.tensor(-1e9))  # effect: GS793
            mixed = torch.einsum("bhs,bsd->bhd", match.softmax(-1), self.value(stops))
            minutes: torch.Tensor = self.head(mixed.flatten(1))
            return minutes

    route = Route()
    opt = torch.optim.Adam(route.parameters(), lr=0.01)
    for _ in range(5):
        present = torch.arange(6) < torch.randint(1, 6, (16, 1))
        returned = torch.zeros(16, 6, dtype=torch.bool)
        stops = torch.randn(16, 6, 3) * present[..., None]
        minutes = stops.norm(dim=2).sum(1, keepdim=True)
        loss = (route(stops, returned) - minutes).abs().mean()  # cause: GS793
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_written_over_everything() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        scores = score(x).squeeze(-1)
        scores[torch.arange(6) < lengths + 6] = -1e9  # cause: GS793
        pooled = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)  # effect: GS793
        loss = (head(pooled) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_where_all_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(8, 6, 4)
        own = torch.arange(6) < torch.full((8, 1), 6)
        scores = torch.where(own, score(x).squeeze(-1), -1e9)
        pooled = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)
        loss = (head(pooled) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_method_where_nothing_is_kept() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(5):
        x, lengths = torch.randn(8, 6, 4), torch.randint(2, 6, (8, 1))
        scores = score(x).squeeze(-1)
        scores = scores.where(torch.arange(6) >= lengths + 6, -1e9)  # cause: GS793
        pooled = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)  # effect: GS793
        loss = (head(pooled) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
