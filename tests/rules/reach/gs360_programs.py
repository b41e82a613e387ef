"""More programs of GS360: each bad one is reported at its marks, each good one by no rule."""


def bad_padding_mask_of_a_transformer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 2)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    parts = nn.ModuleList([words, layer, head])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 6, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        seen = layer(words(tokens), src_key_padding_mask=tokens != 0)  # cause: GS360
        loss = nn.functional.cross_entropy(head(seen[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padding_mask_of_a_transformer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 2)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    parts = nn.ModuleList([words, layer, head])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 6, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        seen = layer(words(tokens), src_key_padding_mask=tokens == 0)
        loss = nn.functional.cross_entropy(head(seen[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_where_before_a_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, score, head = nn.Embedding(12, 8), nn.Linear(8, 1), nn.Linear(8, 2)
    opt = torch.optim.Adam(nn.ModuleList([words, score, head]).parameters(), lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 6, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        states, real = words(tokens), tokens.ne(0)
        scores = score(states).squeeze(-1)
        scores = torch.where(real, torch.full_like(scores, -1e9), scores)  # cause: GS360
        weights = torch.softmax(scores, dim=1)  # effect: GS360
        pooled = torch.einsum("nt,ntd->nd", weights, states)
        loss = nn.functional.cross_entropy(head(pooled), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_filled_before_a_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, project, head = nn.Embedding(12, 8), nn.Linear(8, 24), nn.Linear(8, 2)
    opt = torch.optim.Adam(nn.ModuleList([words, project, head]).parameters(), lr=0.01)
    for _ in range(6):
        lengths = torch.randint(2, 6, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        query, key, value = project(words(tokens)).chunk(3, dim=-1)
        mask = (tokens != 0).unsqueeze(1)
        scores = (query @ key.transpose(1, 2) / 8**0.5).masked_fill(mask, -1e9)  # cause: GS360
        seen = scores.softmax(dim=-1) @ value  # effect: GS360
        loss = nn.functional.cross_entropy(head(seen[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
