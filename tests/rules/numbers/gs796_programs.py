"""More programs of GS796: each bad one is reported at its marks, each good one by no rule."""


def bad_of_all_sequences() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pe = torch.cos(torch.arange(30.0)[:, None] * torch.rand(8)).unsqueeze(0)
    embed, layer, head = (
        nn.Embedding(9, 8),
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        nn.Linear(8, 9),
    )
    opt = torch.optim.Adam([p for m in (embed, layer, head) for p in m.parameters()], lr=0.01)

    def encode(tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.size(1)
        x = embed(tokens) + pe[:, length, :].to(tokens.device)  # cause: GS796
        encoded: torch.Tensor = layer(x)
        return encoded

    for length in (5, 7, 5, 6):
        tokens = torch.randint(0, 9, (4, length))
        loss = nn.functional.cross_entropy(head(encode(tokens)).flatten(0, 1), tokens.flip(1).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_places_first() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Places(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(0.1 * torch.randn(16, 1, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.table[len(x)]  # cause: GS796

    places, layer, head = Places(), nn.TransformerEncoderLayer(8, 2, 16), nn.Linear(8, 1)
    opt = torch.optim.Adam([p for m in (places, layer, head) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(5, 6, 8)
        loss = (head(layer(places(x))).squeeze(-1) - torch.arange(5.0)[:, None]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_vector_for_each_length() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths, layer, head = nn.Parameter(torch.randn(12, 8)), nn.Linear(8, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([lengths, *layer.parameters(), *head.parameters()], lr=0.01)
    for length in (5, 7, 4, 6):
        x = torch.randn(length, 8)
        loss = (head(torch.tanh(layer(x + lengths[len(x)]))).mean() - length / 7).pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_embedding_of_the_length() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    lengths, layer, head = nn.Embedding(12, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([p for m in (lengths, layer, head) for p in m.parameters()], lr=0.01)
    for length in (5, 7, 4, 6):
        x = torch.randn(3, length, 8)
        told = lengths(torch.tensor(x.shape[1]))
        loss = (head(torch.tanh(layer(x + told))).mean() - length / 7).pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_place_of_the_next_token() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pe = torch.sin(torch.arange(20.0)[:, None] * torch.rand(8))
    embed, mix, head = nn.Embedding(9, 8), nn.Linear(16, 8), nn.Linear(8, 9)
    opt = torch.optim.Adam([p for m in (embed, mix, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        tokens = torch.randint(0, 9, (6, 5))
        past, loss = embed(tokens[:, :1]) + pe[:1], torch.zeros(())
        for place in range(1, 5):
            now = embed(tokens[:, place]) + pe[past.shape[1]]
            loss = loss + nn.functional.cross_entropy(
                head(torch.tanh(mix(torch.cat([now, past.mean(1)], 1)))), tokens[:, (place + 1) % 5]
            )
            past = torch.cat([past, now[:, None]], dim=1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_row_of_a_table_that_is_sliced_too() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Places(nn.Module):
        pe: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("pe", torch.sin(torch.arange(20.0)[:, None] * torch.rand(8)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.pe[: x.shape[1]] - self.pe[x.shape[1]]  # from where the sequence ends

    places, layer, head = Places(), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(6, 5, 8)
        loss = (head(layer(places(x))).squeeze(-1) - torch.arange(5.0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_norm_of_so_many() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    factors = torch.arange(1.0, 21.0).rsqrt()
    layer = nn.Linear(8, 1)
    opt = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(4):
        x = torch.randn(6, 5, 8)
        loss = (layer(x * factors[x.shape[1]]).sum(1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
