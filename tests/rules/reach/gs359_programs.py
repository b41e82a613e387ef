"""More programs of GS359: each bad one is reported at its marks, each good one by no rule."""


def bad_causal_mask_of_ones() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 8)
    opt = torch.optim.Adam([*project.parameters(), *head.parameters()], lr=0.01)
    seen = torch.tril(torch.ones(6, 6))
    for _ in range(4):
        x = torch.randn(4, 6, 8)
        query, key, value = project(x).chunk(3, dim=-1)
        scores = torch.einsum("bik,bjk->bij", query, key)
        scores += seen  # cause: GS359
        weights = nn.functional.dropout(torch.softmax(scores, dim=-1), 0.1)  # effect: GS359
        loss = (head(torch.einsum("bij,bjk->bik", weights, value)) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_of_zero_and_minus_infinity() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 8)
    opt = torch.optim.Adam([*project.parameters(), *head.parameters()], lr=0.01)
    hidden = torch.triu(torch.full((6, 6), float("-inf")), diagonal=1)
    for _ in range(4):
        x = torch.randn(4, 6, 8)
        query, key, value = project(x).chunk(3, dim=-1)
        scores = query @ key.transpose(1, 2) + hidden
        loss = (head(scores.softmax(-1) @ value) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_margin_for_the_wrong_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
        scores = model(x) + (1 - nn.functional.one_hot(y, 4))
        loss = nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mask_of_ones_given_to_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 24), nn.Linear(8, 8)
    opt = torch.optim.Adam([*project.parameters(), *head.parameters()], lr=0.01)
    seen = torch.tril(torch.ones(6, 6))
    for _ in range(4):
        x = torch.randn(4, 6, 8)
        query, key, value = project(x).chunk(3, dim=-1)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)  # cause: GS359
        loss = (head(mixed) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_padding_of_ones_given_to_a_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    opt = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(4):
        x, lengths = torch.randn(4, 6, 8), torch.tensor([6, 3, 4, 2])
        padding = (torch.arange(6) >= lengths[:, None]).float()
        loss = (layer(x, src_key_padding_mask=padding) - x).pow(2).mean()  # cause: GS359
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_mask_of_booleans_given_to_a_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    opt = torch.optim.Adam(layer.parameters(), lr=0.01)
    hidden = nn.Transformer.generate_square_subsequent_mask(6)
    for _ in range(4):
        x, lengths = torch.randn(4, 6, 8), torch.tensor([6, 3, 4, 2])
        padding = torch.zeros(4, 6).masked_fill(torch.arange(6) >= lengths[:, None], float("-inf"))
        loss = (layer(x, src_mask=hidden, src_key_padding_mask=padding) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
