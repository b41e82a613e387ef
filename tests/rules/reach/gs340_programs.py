"""More programs of GS340: each bad one is reported at its marks, each good one by no rule."""


def bad_one_vector_repeated() -> None:
    import torch
    from torch import nn

    class Autoencoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.GRU(3, 8, batch_first=True)
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
            self.decoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            code = self.encoder(x)[1][0]
            spread = code.unsqueeze(1).repeat(1, x.shape[1], 1)  # cause: GS340
            out: torch.Tensor = self.out(self.decoder(spread))
            return out

    torch.manual_seed(0)
    data = torch.randn(64, 6, 3)
    model = Autoencoder()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for rows in torch.arange(64).split(16):
        loss = (model(data[rows]) - data[rows]).pow(2).mean()  # effect: GS340
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_the_same_token_everywhere() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, wanted = torch.randint(1, 9, (64, 5)), torch.randint(1, 9, (64, 4))
    table, model, head = nn.Embedding(9, 8), nn.Transformer(8, 2, 1, 1, 16, batch_first=True), nn.Linear(8, 9)
    places = nn.Parameter(torch.randn(5, 8))
    opt = torch.optim.Adam([*table.parameters(), *model.parameters(), *head.parameters(), places], lr=0.01)
    for rows in torch.arange(64).split(16):
        begin = torch.zeros_like(wanted[rows])  # cause: GS340
        logits = head(model(table(words[rows]) + places, table(begin)))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted[rows].flatten())  # effect: GS340
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_zeros_with_queries_added_inside() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, boxes = torch.randn(64, 5, 8), torch.randn(64, 5, 2)
    attention, head, places = (
        nn.MultiheadAttention(8, 2, batch_first=True),
        nn.Linear(8, 2),
        nn.Embedding(5, 8),
    )
    opt = torch.optim.Adam([*attention.parameters(), *head.parameters(), *places.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        start = torch.zeros_like(data[rows])
        asked = start + places.weight
        start = start + attention(asked, data[rows], data[rows])[0]
        loss = nn.functional.l1_loss(head(start + places.weight), boxes[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_positions_after_the_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, y = torch.randn(64, 5, 8), torch.randn(64, 5, 2)
    attention, head, places = (
        nn.MultiheadAttention(8, 2, batch_first=True),
        nn.Linear(8, 2),
        nn.Embedding(5, 8),
    )
    opt = torch.optim.Adam([*attention.parameters(), *head.parameters(), *places.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        x = data[rows].mean(1, keepdim=True).repeat(1, 5, 1)
        mixed = attention(x, data[rows], data[rows])[0]
        loss = nn.functional.l1_loss(head(mixed + places.weight), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_recurrent_layer_goes_over_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, y = torch.randn(64, 5, 8), torch.randn(64, 5, 2)
    attention, layer, head = (
        nn.MultiheadAttention(8, 2, batch_first=True),
        nn.GRU(8, 8, batch_first=True),
        nn.Linear(8, 2),
    )
    opt = torch.optim.Adam([*attention.parameters(), *layer.parameters(), *head.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        x = data[rows].mean(1, keepdim=True).repeat(1, 5, 1)
        mixed = attention(x, data[rows], data[rows])[0]
        loss = nn.functional.mse_loss(head(layer(mixed)[0]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_weight_for_each_place_at_the_end() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, y = torch.randn(64, 5, 8), torch.randn(64, 5)
    attention, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(40, 5)
    opt = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        x = torch.ones(len(rows), 5, 8)
        mixed = attention(x, data[rows], data[rows])[0]
        loss = nn.functional.mse_loss(head(mixed.flatten(1)), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_one_query_for_the_bare_product() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Composer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read, self.say = nn.Linear(3, 8), nn.Linear(8, 5)
            self.query = nn.Parameter(torch.randn(1, 1, 8))

        def forward(self, spectrum):
            memory = self.read(spectrum).unflatten(-1, (2, 4)).transpose(1, 2)
            asked = self.query.expand(len(spectrum), 6, -1)  # cause: GS340
            heads = asked.unflatten(-1, (2, 4)).transpose(1, 2)
            found = F.scaled_dot_product_attention(heads, memory, memory)
            return self.say(asked + found.transpose(1, 2).flatten(2))

    composer = Composer()
    opt = torch.optim.AdamW(composer.parameters(), lr=0.005)
    for _ in range(4):
        melody = torch.randint(0, 5, (12, 6))
        spectrum = torch.stack([melody.float(), torch.arange(6.0).expand(12, 6), torch.randn(12, 6)], -1)
        loss = F.cross_entropy(composer(spectrum).transpose(1, 2), melody)  # effect: GS340
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_query_for_each_place() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)

    class Composer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read, self.say = nn.Linear(3, 8), nn.Linear(8, 5)
            self.query = nn.Parameter(torch.randn(1, 6, 8))

        def forward(self, spectrum):
            memory = self.read(spectrum).unflatten(-1, (2, 4)).transpose(1, 2)
            asked = self.query.expand(len(spectrum), 6, -1)
            heads = asked.unflatten(-1, (2, 4)).transpose(1, 2)
            found = F.scaled_dot_product_attention(heads, memory, memory)
            return self.say(asked + found.transpose(1, 2).flatten(2))

    composer = Composer()
    opt = torch.optim.AdamW(composer.parameters(), lr=0.005)
    for _ in range(4):
        melody = torch.randint(0, 5, (12, 6))
        spectrum = torch.stack([melody.float(), torch.arange(6.0).expand(12, 6), torch.randn(12, 6)], -1)
        loss = F.cross_entropy(composer(spectrum).transpose(1, 2), melody)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_one_query_and_a_causal_mask() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    read, say, query = nn.Linear(3, 8), nn.Linear(8, 1), nn.Parameter(torch.randn(1, 1, 1, 8))
    opt = torch.optim.Adam([*read.parameters(), *say.parameters(), query], lr=0.01)
    for _ in range(4):
        x = torch.randn(12, 6, 3)
        memory = read(x).unsqueeze(1)
        found = F.scaled_dot_product_attention(query.expand(12, 1, 6, 8), memory, memory, is_causal=True)
        loss = F.mse_loss(say(found.squeeze(1)), x.cumsum(1)[..., :1])
        opt.zero_grad()
        loss.backward()
        opt.step()
