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
